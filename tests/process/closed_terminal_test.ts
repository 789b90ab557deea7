/** A terminal that is closed while the service runs on it. @module */
import { equal } from "node:assert/strict";
import { join } from "node:path";
import { until } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { hasTerminals } from "../support/reconcile_host.ts";
import { taskArgs } from "../support/tasks.ts";

async function isRunning(pid: string): Promise<boolean> {
  const { success } = await new Deno.Command("kill", { args: ["-0", pid], stderr: "null" })
    .output();
  return success;
}

Deno.test({
  name: "a terminal that is closed ends the service and its PostgreSQL",
  ignore: !hasTerminals(),
  async fn() {
    const dataDir = await Deno.makeTempDir({ prefix: "purser-terminal-" });
    const [port, args] = [freePort(), await taskArgs("start")];
    const line = [Deno.execPath(), ...args].map((word) => `'${word}'`).join(" ");
    const terminal = new Deno.Command("script", {
      args: ["--quiet", "--command", line, "/dev/null"],
      env: { DATA_DIR: dataDir, PORT: `${port}`, WORKERS: "off", DATABASE_URL: "", BASE_URL: "" },
      ...{ stdin: "piped", stdout: "null", stderr: "null" },
    }).spawn();
    try {
      const ready = `http://127.0.0.1:${port}/health/ready`;
      const ask = () =>
        fetch(ready).then(async (answer) => {
          await answer.body?.cancel();
          return answer.ok;
        }, () => false);
      await until(ask);
      const pidFile = join(dataDir, "postgres", "pgdata", "postmaster.pid");
      const [pid] = (await Deno.readTextFile(pidFile)).split("\n");
      equal(await isRunning(pid), true);
      terminal.kill("SIGKILL"); // its end of the terminal closes with it
      await until(async () => !await isRunning(pid));
      equal(await ask(), false);
    } finally {
      await terminal.status;
      await terminal.stdin.close().catch(() => {});
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});
