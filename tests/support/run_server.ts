/**
 * The server of a run: where its files are, and its databases, of which each group of test files has one.
 *
 * @module
 */
import type { EmbeddedPostgres } from "../../db/embedded/embedded.ts";
import { databaseOf } from "./database.ts";
import { type Group, guessRealms } from "./groups.ts";
import { makeWithSpares } from "./spare_schemas.ts";

/** Spare schemas come in multiples of this number, for each of which there is a template. */
const STEP = 4;
const MEMORY = "/dev/shm";
/** Room for the whole suite's databases, which take 9 GB, 6 MB for each realm. */
const MEMORY_BYTES = 12 * 2 ** 30;

/** The address of the database of a group. */
export function urlOf(server: EmbeddedPostgres, group: number): string {
  return new URL(`/${databaseOf(group)}`, server.url).href;
}

/**
 * Makes a database for each group: PostgreSQL finds a function by its name among those of all schemas, so the more
 * realms a database has, the longer it takes to make one. Gives groups that know when theirs is there.
 */
export async function withDatabases(
  server: EmbeddedPostgres,
  groups: readonly Group[],
): Promise<Group[]> {
  const made = groups.map(() => Promise.withResolvers<void>());
  const sizes = new Map<string, number>();
  for (const [n, { files }] of groups.entries()) {
    sizes.set(databaseOf(n), STEP * Math.ceil(await guessRealms(files) / STEP));
  }
  const names = [...sizes.keys()];
  makeWithSpares(server, sizes, (name) => made[names.indexOf(name)].resolve())
    .catch((error) => made.forEach(({ reject }) => reject(error)));
  return groups.map((group, n) => ({ ...group, ready: made[n].promise }));
}

/**
 * Where the server's files go: into memory where there is room. A realm is some hundred small files, and a disk
 * takes longer to make them than the server to fill them. What a killed run left there is removed.
 */
export async function scratch(): Promise<Deno.MakeTempOptions> {
  const name = "purser-test-";
  if (Deno.build.os !== "linux" || !await exists(MEMORY)) return { prefix: name };
  // What killed runs left is removed before room is asked for: it may fill the place.
  for await (const { name: found } of Deno.readDir(MEMORY)) {
    const [, pid] = /^purser-test-(\d+)-/.exec(found) ?? [];
    if (pid === undefined || await exists(`/proc/${pid}`)) continue;
    await Deno.remove(`${MEMORY}/${found}`, { recursive: true });
  }
  const room = Deno.systemMemoryInfo().available > MEMORY_BYTES &&
    await roomAt(MEMORY) > MEMORY_BYTES;
  if (!room) return { prefix: name };
  return { dir: MEMORY, prefix: `${name}${Deno.pid}-` };
}

/** The free bytes of a file system; none where they cannot be told. */
async function roomAt(path: string): Promise<number> {
  const args = ["--output=avail", "--block-size=1", path];
  const { success, stdout } = await new Deno.Command("df", { args, stderr: "null" }).output();
  return success ? Number(new TextDecoder().decode(stdout).split("\n")[1]) : 0;
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
