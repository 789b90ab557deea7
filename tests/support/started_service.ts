/** The service as a process of its own. @module */
import { ok } from "node:assert/strict";
import { testDatabaseUrl } from "./database.ts";
import { until } from "./eventually.ts";
import { freePort } from "./ports.ts";
import { PLATFORM_KEY } from "./realm.ts";
import { taskArgs } from "./tasks.ts";

/** A service of its own process. */
export interface Service extends AsyncDisposable {
  url: string;
  /** Tells it to end, and gives its exit code. */
  end(): Promise<number>;
}

/** Starts the service by its launcher, or by other arguments; its output goes where the shell is told. */
export async function startService(
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
