/**
 * Files of backups in a folder. A file gets its name when it is whole and on the disk; until then it is called
 * `….partial`, which nothing takes for a backup.
 * @module
 */
import { join } from "node:path";
import { type Header, refuse } from "../../domain/backup/manifests.ts";

/** A file that is being written. */
export interface Draft {
  readonly sink: WritableStream<Uint8Array>;
  /** Gives it its name; gives the path. */
  keep(): Promise<string>;
  discard(): Promise<void>;
}

const PARTIAL = ".partial";
const NAME = /^(installation|incomplete|realm)_[0-9a-f]{32}_\d{8}T\d{6}Z_[0-9a-f]{8}\.age$/;

/** The name of a backup; those of the same scope differ in time alone. */
export function nameOf(scope: string, at: number, backup: string): string {
  const time = new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, "");
  return `${scope}_${time}Z_${backup.slice(-8)}.age`;
}

/**
 * The scope of backups of an installation or of a realm. One of an installation that lacks realms never counts as, nor
 * takes the place of, a whole one.
 */
export function scopeOf(
  { installation, without }: Pick<Header, "installation" | "without">,
  realm: string | null,
): string {
  if (realm !== null) return `realm_${realm.replaceAll("-", "")}`;
  const kind = without.length > 0 ? "incomplete" : "installation";
  return `${kind}_${installation.replaceAll("-", "")}`;
}

/**
 * Begins a file. Partial ones that no process writes any more are removed first.
 *
 * @throws {DomainError} request.invalid, also later, where the disk is full or refuses the file
 */
export async function beginFile(folder: string, name: string): Promise<Draft> {
  await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
  await removeStale(folder);
  const path = join(folder, name);
  const partial = path + PARTIAL;
  const file = await Deno.open(partial, {
    write: true,
    createNew: true,
    mode: 0o600,
  });
  await file.lock(true); // tells that it is being written, until the process ends
  return {
    sink: new WritableStream({
      async write(chunk) {
        for (let at = 0; at < chunk.length;) {
          at += await file.write(chunk.subarray(at)).catch((error) => fail(partial, error));
        }
      },
    }),
    async keep() {
      await file.sync().catch((error) => fail(partial, error));
      await Deno.rename(partial, path);
      file.close();
      await syncFolder(folder);
      return path;
    },
    async discard() {
      file.close();
      await Deno.remove(partial);
    },
  };
}

function fail(path: string, error: Error): never {
  return refuse(`${path} cannot be written: ${error.message}`);
}

/** A new name outlives a power cut once its folder is on the disk. */
async function syncFolder(folder: string): Promise<void> {
  using file = await Deno.open(folder);
  await file.sync();
}

async function removeStale(folder: string): Promise<void> {
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (
      !isFile || !name.endsWith(PARTIAL) ||
      !NAME.test(name.slice(0, -PARTIAL.length))
    ) continue;
    using file = await Deno.open(join(folder, name), { write: true });
    if (await file.tryLock(true)) await Deno.remove(join(folder, name));
  }
}

/**
 * Removes all but the newest backups of a scope; gives the names of those that are gone.
 *
 * @param made the name of the one that was just made: it stays, whatever the clock said when it was
 */
export async function keepNewest(
  folder: string,
  { scope, count, made }: { scope: string; count: number; made: string },
): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (isFile && NAME.test(name) && name.startsWith(`${scope}_`) && name !== made) {
      names.push(name);
    }
  }
  const old = names.sort().reverse().slice(count - 1);
  for (const name of old) {
    await Deno.remove(join(folder, name)).catch((error) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error; // another backup removed it
    });
  }
  return old;
}
