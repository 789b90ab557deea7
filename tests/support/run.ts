/**
 * Runs the whole test-suite: one PostgreSQL of its own for the run, groups of test files beside each other, and a
 * plain closing line with the counts. Arguments go to `deno test`.
 *
 * @module
 */
import { type EmbeddedPostgres, startEmbedded } from "../../db/embedded/embedded.ts";
import { fetchPackages, type PackageSet } from "../../db/packages.ts";
import { databaseOf } from "./database.ts";
import { type Group, groupTestFiles, guessRealms, writeGroups } from "./groups.ts";
import { makeWithSpares } from "./spare_schemas.ts";
import { runGroups } from "./test_groups.ts";
import { newOutput, readOutput } from "./test_output.ts";
import { closingLine, reportOf, writeJunit } from "./test_report.ts";

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
const TESTING = ["test", ...CONFIG, "--frozen", ...PERMISSIONS];
/** Spare schemas come in multiples of this number, for each of which there is a template. */
const STEP = 4;
const MEMORY = "/dev/shm";
/** Room for the whole suite's databases, which take 9 GB, 6 MB for each realm. */
const MEMORY_BYTES = 12 * 2 ** 30;

/**
 * Longer than any test takes, or the module of a group to load, on a machine that is four times as busy as the suite
 * alone makes it: the longest takes two and a half minutes there.
 */
const STALL_MS = 10 * 60_000;
const JUNIT = "--junit-path=";

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
  const ended = new AbortController();
  const leave = () => ended.abort(); // then the server below is stopped as always
  Deno.addSignalListener("SIGTERM", leave);
  Deno.addSignalListener("SIGINT", leave);
  try {
    const whole = !args.some((arg) => !arg.startsWith("-"));
    const files = whole ? await groupTestFiles() : [];
    const databases = server === null || !whole ? 0 : await makeDatabases(server, files);
    const env = {
      TEST_DATABASE_URL: given ?? server!.url,
      // Some tests make databases and corrupt tables: with another server, name its superuser too.
      TEST_SUPERUSER_URL: Deno.env.get("TEST_SUPERUSER_URL") ?? given ?? server!.superuserUrl,
      TEST_DATABASES: `${databases}`,
      LOG_LEVEL: "error",
    };
    const { success, closing } = whole
      ? await runWhole(await writeGroups(groupDir, files), args, env, groupDir, ended.signal)
      : await runNamed(args, env, ended.signal);
    // Of a server that was given, nobody knows who else has left something there.
    const left = server === null || ended.signal.aborted ? 0 : await auditLeft(server, databases);
    console.log(closing);
    return success && !ended.signal.aborted ? left : 1;
  } finally {
    Deno.removeSignalListener("SIGTERM", leave);
    Deno.removeSignalListener("SIGINT", leave);
    await server?.stop();
    await Deno.remove(dataDir, { recursive: true });
    await Deno.remove(groupDir, { recursive: true });
  }
}

interface RunEnd {
  success: boolean;
  closing: string;
}

/** Runs all groups, each in a process of its own. */
async function runWhole(
  groups: readonly Group[],
  args: readonly string[],
  env: Record<string, string>,
  folder: string,
  signal: AbortSignal,
): Promise<RunEnd> {
  const begun = Date.now();
  const junit = args.find((arg) => arg.startsWith(JUNIT))?.slice(JUNIT.length);
  const further = args.filter((arg) => !arg.startsWith(JUNIT));
  const result = await runGroups(groups, {
    // The types of everything are `deno task check`'s to look at, which takes a minute.
    args: [...TESTING, ...(args.includes("--check") ? [] : ["--no-check"]), ...further],
    ...{ env, atOnce: atOnce(), folder, signal, junit: junit !== undefined, stallMs: STALL_MS },
    now: Date.now,
    say: (line) => console.log(line),
  });
  const took = Date.now() - begun;
  for (const line of reportOf(result, took)) console.log(line);
  if (junit !== undefined) await writeJunit(junit, result, took);
  return { success: result.success, closing: closingLine(result.counts) };
}

/** Twice as many at a time as there are cores: each waits for nodes and servers half of its time. */
function atOnce(): number {
  return Number(Deno.env.get("DENO_JOBS") ?? 2 * navigator.hardwareConcurrency);
}

/** Runs the files that are named, in one process. */
async function runNamed(
  args: readonly string[],
  env: Record<string, string>,
  signal: AbortSignal,
): Promise<RunEnd> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [...TESTING, "--parallel", ...args],
    cwd: ROOT,
    env: { NO_COLOR: "1", DENO_JOBS: `${atOnce()}`, ...env },
    stdout: "piped",
    stderr: "inherit",
  });
  const child = command.spawn();
  signal.addEventListener("abort", () => child.kill("SIGTERM"));
  const output = newOutput();
  const ignore = { ended: () => {}, written: () => {} };
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    await Deno.stdout.write(chunk);
    readOutput(output, decoder.decode(chunk, { stream: true }), ignore);
  }
  const { success } = await child.status;
  return { success, closing: closingLine(output.counts) };
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

if (import.meta.main) Deno.exit(await run(Deno.args));
