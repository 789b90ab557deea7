/**
 * The server of a run: where its files are, and its databases, of which each group of test files has its own.
 *
 * @module
 */
import { openDatabase } from "../../db/database.ts";
import type { EmbeddedPostgres } from "../../db/embedded/embedded.ts";
import { databasesOf } from "./database.ts";

/** Settings of servers of which nothing must survive a crash of the machine; tests of that start their own. */
export const VOLATILE: Readonly<Record<string, string>> = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_wal_size: "512MB",
  // Else each session plans each statement anew at its first five uses, for the parameters at hand; then it keeps a plan
  // as this one. Sessions of tests seldom come so far: that takes PostgreSQL a seventh of its processor time.
  plan_cache_mode: "force_generic_plan",
  autovacuum: "off", // its workers would visit thousands of tables that are soon gone, and analyze them in mid-test
};

const MEMORY = "/dev/shm";
/** Room for the databases of the groups under way and of those that wait for their audit: 6 MB for each realm. */
const MEMORY_BYTES = 6 * 2 ** 30;

/** The addresses of the databases that a group has made. */
export async function urlsOf(server: EmbeddedPostgres, group: number): Promise<string[]> {
  const database = openDatabase({ url: server.url, prepare: true, parseJson: JSON.parse });
  try {
    const found = await database.platform.sql<{ name: string }[]>`
      select datname as name from pg_database where starts_with(datname, ${
      databasesOf(group)
    }) order by oid`;
    return found.map(({ name }) => new URL(`/${name}`, server.url).href);
  } finally {
    await database.close();
  }
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
