/** The service while nobody reads its log, and while the log's disk is full. @module */
import { equal, ok } from "node:assert/strict";
import { testDatabase, testDatabaseUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { taskArgs } from "../support/tasks.ts";

/** A service of its own process. */
interface Service extends AsyncDisposable {
  url: string;
  /** Tells it to end, and gives its exit code. */
  end(): Promise<number>;
}

/** Starts the service by its launcher, or by other arguments; its output goes where the shell is told. */
async function startService(
  redirection: string,
  { args, databaseUrl = testDatabaseUrl() }: { args?: string[]; databaseUrl?: string } = {},
): Promise<Service> {
  const port = `${freePort()}`;
  const dataDir = await Deno.makeTempDir({ prefix: "purser-log-" });
  const child = new Deno.Command("sh", {
    args: [
      "-c",
      `exec "$0" "$@" ${redirection}`,
      Deno.execPath(),
      ...args ?? await taskArgs("start"),
    ],
    env: {
      PORT: port,
      DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl,
      PLATFORM_KEY,
      MASTER_KEY: btoa("0123456789abcdef0123456789abcdef"),
      WORKERS: "off",
      LOG_FORMAT: "json",
      LOG_LEVEL: "info",
    },
    stdout: "null",
    stderr: "piped", // read by nobody
  }).spawn();
  let ended: Promise<number> | null = null;
  const end = () =>
    ended ??= (async () => {
      child.kill("SIGTERM");
      const { code } = await child.status;
      await child.stderr.cancel();
      await Deno.remove(dataDir, { recursive: true });
      return code;
    })();
  const url = `http://127.0.0.1:${port}`;
  let over = false;
  child.status.then(() => over = true, () => {});
  const answers = () => fetch(url).then((one) => one.body?.cancel()).then(() => true, () => false);
  await until(async () => over || await answers());
  ok(!over, "it ended by itself");
  return { url, end, [Symbol.asyncDispose]: async () => void await end() };
}

async function lostLines(url: string): Promise<number> {
  const { signal } = asked();
  const text =
    await (await fetch(`${url}/metrics`, { headers: { "x-api-key": PLATFORM_KEY }, signal }))
      .text();
  return Number(/^purser_log_lines_lost_total (\d+)/m.exec(text)![1]);
}

/** A request that a service which stands still does not answer. */
function asked(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(120_000) };
}

async function ask(url: string): Promise<void> {
  const headers = { "x-request-id": "r".repeat(100) };
  const answer = await fetch(`${url}/v1/auth/me`, { headers, ...asked() });
  equal(answer.status, 401);
  await answer.body?.cancel();
}

Deno.test("a service whose log nobody reads answers requests, and ends when it is told to", async () => {
  await using service = await startService("");
  // More than the pipe holds, and what this process may have taken from it.
  for (let i = 0; i < 2000; i++) await ask(service.url);
  equal(await lostLines(service.url), 0); // they wait in memory
  equal(await service.end(), 0);
});

Deno.test({
  name:
    "a service whose log's disk is full starts, answers requests, and counts the lines that were lost",
  ignore: Deno.build.os !== "linux", // there is a disk that is always full
  async fn() {
    await using service = await startService("2>/dev/full");
    for (let i = 0; i < 3; i++) await ask(service.url);
    await until(async () => await lostLines(service.url) >= 3);
    ok(await lostLines(service.url) < 100);
    equal(await service.end(), 0);
  },
});

Deno.test({
  name: "the first start of a sandbox keeps its keys in their file where nothing can be printed",
  ignore: Deno.build.os !== "linux",
  async fn() {
    await using own = await testDatabase();
    const folder = await Deno.makeTempDir({ prefix: "purser-keys-" });
    try {
      const main = new URL("../../main.ts", import.meta.url).href;
      const run = ["run", "--no-check", "--cached-only", "-A", main, "start"];
      await using service = await startService(">/dev/full 2>/dev/full", {
        args: [...run, "--sandbox", `${folder}/keys`],
        databaseUrl: own.url,
      });
      await until(() => Deno.stat(`${folder}/keys`).then(() => true, () => false));
      for (let i = 0; i < 3; i++) await ask(service.url);
      await until(async () => await lostLines(service.url) >= 3);
      equal(await service.end(), 0);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
