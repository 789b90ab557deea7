/**
 * Keys of an installation that sets none: made on first use, in files of DATA_DIR that their owner
 * alone can read. Without its key no ciphertext can be decrypted, so a key is complete on the disk
 * before it is used.
 *
 * @module
 */
import { join } from "node:path";
import { flush, readIfThere } from "../db/embedded/files.ts";

/** Reads a key, or creates it. The caller holds the lock of the installation. */
export async function localKey(dataDir: string, name: string): Promise<string> {
  const path = join(dataDir, name);
  const found = (await readIfThere(path))?.trim();
  if (found === "") throw new Error(`${path} is empty: put the key back that was in it`);
  if (found !== undefined) return found;
  const key = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  await keepKey(dataDir, name, key);
  return key;
}

/** Puts a key in the place of the one before. Its copy in `<name>.next` goes when that is done. */
export async function replaceKey(dataDir: string, name: string, key: string): Promise<void> {
  await keepKey(dataDir, name, key);
  await Deno.remove(join(dataDir, `${name}.next`)).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}

/** Writes a key aside and moves it to its place when it is on the disk. */
async function keepKey(dataDir: string, name: string, key: string): Promise<void> {
  const draft = join(dataDir, `${name}.${crypto.randomUUID()}.draft`);
  await Deno.writeTextFile(draft, key, { createNew: true, mode: 0o600 });
  await flush(draft);
  await Deno.rename(draft, join(dataDir, name));
  await flush(dataDir);
}
