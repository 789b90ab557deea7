/**
 * Runs the whole test-suite: one PostgreSQL of its own for the run, all test files beside each
 * other, and a plain closing line with the counts. Arguments go to `deno test`.
 *
 * @module
 */
import { type EmbeddedPostgres, startEmbedded } from "../../db/embedded/embedded.ts";
import { fetchPackages, type PackageSet } from "../../db/packages.ts";
import { databaseOf } from "./database.ts";
import { groupTestFiles, guessRealms, writeGroups } from "./groups.ts";
import { makeWithSpares } from "./spare_schemas.ts";

const ROOT = new URL("../../", import.meta.url);
/** Packages of the tests beside the service's: nodes, a compiler, a validator. */
const PACKAGES: PackageSet = {
  title: "what the tests need",
  config: new URL("tests/deno.json", ROOT),
  lock: new URL("tests/deno.lock", ROOT),
};
const PERMISSIONS = [
  "--allow-net=127.0.0.1,localhost,[::1]",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-run",
  "--allow-sys",
  // Solana's node is a library.
  "--allow-ffi",
];

const CONFIG = ["--config", "tests/deno.json"];
/** Spare schemas come in multiples of this number, for each of which there is a template. */
const STEP = 4;
const MEMORY = "/dev/shm";
/** Room for the whole suite's databases, which take 9 GB, 6 MB for each realm. */
const MEMORY_BYTES = 12 * 2 ** 30;

/** Runs the suite and gives its exit code. */
export async function run(args: readonly string[]): Promise<number> {
  await fetchPackages(PACKAGES);
  const dataDir = await Deno.makeTempDir(await scratch());
  const groupDir = await Deno.makeTempDir({ prefix: "purser-test-groups-" });
  const given = Deno.env.get("TEST_DATABASE_URL");
  const server = given ? null : await startEmbedded({
    dataDir,
    port: 0,
    // Nothing of a test run must survive a crash of the machine; those that test it start their own.
    settings: {
      fsync: "off",
      synchronous_commit: "off",
      full_page_writes: "off",
      max_connections: "400",
      max_wal_size: "512MB",
      autovacuum_naptime: "1h", // its workers would visit thousands of tables that are soon gone
    },
  });
  try {
    const whole = !args.some((arg) => !arg.startsWith("-"));
    const groups = whole ? await groupTestFiles() : [];
    const paths = await writeGroups(groupDir, groups);
    const databases = server === null || !whole ? 0 : await makeDatabases(server, groups);
    const command = new Deno.Command(Deno.execPath(), {
      args: [
        ...["test", ...CONFIG, "--parallel", "--frozen", ...PERMISSIONS],
        // The types of everything are `deno task check`'s to look at, which takes a minute.
        ...(whole && !args.includes("--check") ? ["--no-check"] : []),
        ...args,
        ...paths,
      ],
      cwd: ROOT,
      env: {
        NO_COLOR: "1",
        // Twice as many files at a time as there are cores: each waits for nodes and servers half of its time.
        DENO_JOBS: Deno.env.get("DENO_JOBS") ?? `${2 * navigator.hardwareConcurrency}`,
        TEST_DATABASE_URL: given ?? server!.url,
        // Some tests make databases and corrupt tables: with another server, name its superuser too.
        TEST_SUPERUSER_URL: Deno.env.get("TEST_SUPERUSER_URL") ?? given ?? server!.superuserUrl,
        TEST_DATABASES: `${databases}`,
        LOG_LEVEL: "error",
      },
      stdout: "piped",
      stderr: "inherit",
    });
    const child = command.spawn();
    const leave = () => child.kill("SIGTERM"); // then the server below is stopped as always
    Deno.addSignalListener("SIGTERM", leave);
    Deno.addSignalListener("SIGINT", leave);
    const text = await show(child.stdout);
    const { code } = await child.status;
    Deno.removeSignalListener("SIGTERM", leave);
    Deno.removeSignalListener("SIGINT", leave);
    // Of a server that was given, nobody knows who else has left something there.
    const left = server === null ? 0 : await auditLeft(server, databases);
    console.log(closingLine(text));
    return code || left;
  } finally {
    await server?.stop();
    await Deno.remove(dataDir, { recursive: true });
    await Deno.remove(groupDir, { recursive: true });
  }
}

/** Audits what the tests have left behind; gives the exit code. */
async function auditLeft(server: EmbeddedPostgres, databases: number): Promise<number> {
  const urls = databases === 0
    ? [server.url]
    : Array.from({ length: databases }, (_, n) => new URL(`/${databaseOf(n)}`, server.url).href);
  const script = new URL("left_behind.ts", import.meta.url).href;
  const args = ["run", ...CONFIG, "--frozen", ...PERMISSIONS, script, ...urls];
  return (await new Deno.Command(Deno.execPath(), { args, cwd: ROOT }).spawn().status).code;
}

/**
 * Makes a database for each group: PostgreSQL finds a function by its name among those of all schemas, so the more
 * realms a database has, the longer it takes to make one.
 */
async function makeDatabases(
  server: EmbeddedPostgres,
  groups: readonly string[][],
): Promise<number> {
  const sizes = new Map<string, number>();
  for (const [n, files] of groups.entries()) {
    sizes.set(databaseOf(n), STEP * Math.ceil(await guessRealms(files) / STEP));
  }
  await makeWithSpares(server, sizes);
  return groups.length;
}

/**
 * Where the server's files go: into memory where there is room. A realm is some hundred small files, and a disk
 * takes longer to make them than the server to fill them. What a killed run left there is removed.
 */
async function scratch(): Promise<Deno.MakeTempOptions> {
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

/** Passes the output on and keeps its end. */
async function show(output: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let kept = "";
  for await (const chunk of output) {
    await Deno.stdout.write(chunk);
    kept = (kept + decoder.decode(chunk, { stream: true })).slice(-2000);
  }
  return kept;
}

/** The counts of the run, alone on a line. */
export function closingLine(text: string): string {
  const count = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(summary)?.[1] ?? 0);
  const summary = text.split("\n").findLast((line) => /^(ok|FAILED) \|/.test(line)) ?? "";
  const skipped = count("ignored") + count("filtered out");
  const failed = summary === "" ? 1 : count("failed");
  return `${count("passed")} passed, ${failed} failed` +
    (skipped > 0 ? `, ${skipped} skipped` : "");
}

if (import.meta.main) Deno.exit(await run(Deno.args));
