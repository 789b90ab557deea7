/** Standard output past `console`. @module */

/**
 * Writes text that only the caller may see. Lines of `console` are exported as log records where OpenTelemetry
 * is on, so a collector would get the keys that a command prints.
 */
export async function writeSecret(text: string): Promise<void> {
  let rest = new TextEncoder().encode(text);
  while (rest.length > 0) rest = rest.subarray(await Deno.stdout.write(rest));
}
