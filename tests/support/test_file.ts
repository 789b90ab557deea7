/**
 * Which test file is at work, also where several run as one module (`groups.ts`).
 *
 * @module
 */

const ROOT = new URL("../../", import.meta.url).href;
/** Frames of a fixture that was asked for by a fixture: V8 keeps ten unless told. */
const FRAMES = 100;

/** The path of the test file that called, from the repository's root; the main module where none did. */
export function testFile(): string {
  const kept = Error.stackTraceLimit;
  Error.stackTraceLimit = FRAMES;
  const stack = new Error().stack ?? "";
  Error.stackTraceLimit = kept;
  const frame = stack.split(ROOT).find((rest) => /^tests\/[\w/]+_test\.ts:/.test(rest));
  return frame === undefined ? Deno.mainModule : frame.slice(0, frame.indexOf(":"));
}
