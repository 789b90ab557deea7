/**
 * Runs the whole test-suite: one PostgreSQL of its own for the run, groups of test files beside each other, and a
 * plain closing line with the counts. Arguments go to `deno test`.
 *
 * @module
 */
import { type EmbeddedPostgres, startEmbedded } from "../../db/embedded/embedded.ts";
import { fetchPackages, type PackageSet } from "../../db/packages.ts";
import { type Group, groupTestFiles, writeGroups } from "./groups.ts";
import { allocatorOf } from "../../launcher/allocator.ts";
import { auditLeft, type LeftAudit } from "./left_audit.ts";
import { scratch, urlsOf, VOLATILE } from "./run_server.ts";
import { makeTemplate } from "./spare_schemas.ts";
import { runGroups } from "./test_groups.ts";
import { newOutput, readOutput } from "./test_output.ts";
import { closingLine, reportOf, writeJunit } from "./test_report.ts";
import { answeredHelp } from "../../lint/usages.ts";

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
/**
 * The last stage of V8's compiler is left out: a process of tests ends before the time that it takes has paid. A
 * tenth of the suite's processor time.
 */
const SHORT_LIVED = "--v8-flags=--no-turbofan";
const TESTING = ["test", ...CONFIG, "--frozen", SHORT_LIVED, ...PERMISSIONS];
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
    settings: {
      ...VOLATILE,
      max_connections: "400",
      random_page_cost: "4", // as a server of an operator's: sessions of the product state what they plan with
      log_line_prefix: "%m [%p] %d ", // tests read the plans of their own database (plans.ts)
    },
  });
  const ended = new AbortController();
  // Of a server that was given, nobody knows who else has left something there.
  const audit = server === null ? null : auditLeft([...CONFIG, "--frozen", ...PERMISSIONS]);
  const leave = () => ended.abort(); // then the server below is stopped as always
  Deno.addSignalListener("SIGTERM", leave);
  Deno.addSignalListener("SIGINT", leave);
  try {
    const whole = !args.some((arg) => !arg.startsWith("-"));
    const groups = await writeGroups(groupDir, whole ? await groupTestFiles() : []);
    const env = {
      TEST_DATABASE_URL: given ?? server!.url,
      // Some tests make databases and corrupt tables: with another server, name its superuser too.
      TEST_SUPERUSER_URL: Deno.env.get("TEST_SUPERUSER_URL") ?? given ?? server!.superuserUrl,
      TEST_DATABASES: server === null || !whole ? "0" : await makeTemplate(server),
      LOG_LEVEL: "error",
      ...whole ? await nodeTemplate(`${dataDir}/litecoind`) : {},
    };
    const suite = { groups, args, env, folder: groupDir, signal: ended.signal };
    const { success, closing } = whole
      ? await runWhole(suite, server, audit)
      : await runNamed(args, env, ended.signal);
    if (!whole) audit?.of(server!.url);
    if (ended.signal.aborted) audit?.leave();
    const left = await audit?.end() ?? 0;
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

/** Makes the folder with which nodes of Litecoin begin; gives the setting that names it. */
async function nodeTemplate(folder: string): Promise<Record<string, string>> {
  const { hasLitecoind, makeTemplateNode, TEMPLATE } = await import("./nodes/litecoind.ts");
  if (!hasLitecoind()) return {};
  await makeTemplateNode(folder);
  return { [TEMPLATE]: folder };
}

interface RunEnd {
  success: boolean;
  closing: string;
}

interface Suite {
  groups: readonly Group[];
  args: readonly string[];
  env: Record<string, string>;
  folder: string;
  signal: AbortSignal;
}

/** Runs all groups, each in a process and a database of its own, and has audited what it leaves there. */
async function runWhole(
  { groups, args, env, folder, signal }: Suite,
  server: EmbeddedPostgres | null,
  audit: LeftAudit | null,
): Promise<RunEnd> {
  const begun = Date.now();
  const junit = args.find((arg) => arg.startsWith(JUNIT))?.slice(JUNIT.length);
  const further = args.filter((arg) => !arg.startsWith(JUNIT));
  const result = await runGroups(groups, {
    // The types of everything are `deno task check`'s to look at, which takes a minute.
    args: [...TESTING, ...(args.includes("--check") ? [] : ["--no-check"]), ...further],
    // A system's allocator takes a tenth of the suite's processor time away (group_databases.ts keeps it to itself).
    ...{
      env: { ...env, ...await allocatorOf(Deno.env.toObject()) },
      atOnce: atOnce(),
      folder,
      signal,
      junit: junit !== undefined,
      stallMs: STALL_MS,
    },
    now: Date.now,
    say: (line) => console.log(line),
    async ended({ name }) {
      if (server === null) return;
      const databases = await urlsOf(server, groups.findIndex((one) => one.name === name));
      for (const url of databases) audit?.of(url, server.url);
    },
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
  let running = true;
  child.status.then(() => running = false).catch(() => {});
  signal.addEventListener("abort", () => {
    if (running) child.kill("SIGTERM"); // what ends the run may have ended it too
  });
  const output = newOutput();
  const ignore = { ended: () => {}, written: () => {} };
  const decoder = new TextDecoder();
  for await (const chunk of child.stdout) {
    await Deno.stdout.write(chunk);
    readOutput(output, decoder.decode(chunk, { stream: true }), ignore);
  }
  const { success } = await child.status;
  // A process that was ended has not told what failed.
  const { counts, complete } = output;
  const failed = counts.failed + (complete ? 0 : 1);
  return { success, closing: closingLine({ ...counts, failed }) };
}

if (import.meta.main && !answeredHelp("test")) Deno.exit(await run(Deno.args));
