/**
 * Keys of an installation that sets none: made on first use, in files of DATA_DIR that their owner
 * alone can read.
 *
 * @module
 */
import { join } from "node:path";

/** Reads a key, or makes it. */
export async function localKey(dataDir: string, name: string): Promise<string> {
  const path = join(dataDir, name);
  const key = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  try {
    await Deno.writeTextFile(path, key, { createNew: true, mode: 0o600 });
    return key;
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    return (await Deno.readTextFile(path)).trim();
  }
}

/** Puts a key in the place of the one before. */
export async function replaceKey(dataDir: string, name: string, key: string): Promise<void> {
  const next = join(dataDir, `${name}.next`);
  await Deno.writeTextFile(next, key, { mode: 0o600 });
  await Deno.rename(next, join(dataDir, name));
}
