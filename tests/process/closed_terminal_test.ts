/** A terminal that is closed while the service runs on it. @module */
import { deepEqual, equal, match } from "node:assert/strict";
import { join } from "node:path";
import { testDatabaseUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { freePort } from "../support/ports.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
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

/** The processes that one has started. */
async function childrenOf(pid: number): Promise<number[]> {
  const { stdout } = await new Deno.Command("ps", { args: ["-o", "pid=", "--ppid", `${pid}`] })
    .output();
  return new TextDecoder().decode(stdout).split("\n").filter((line) => line.trim() !== "")
    .map(Number);
}

Deno.test({
  name:
    "SIGHUP has a service answer what runs and end, as SIGTERM does, also where it reaches all of its processes",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const dataDir = await Deno.makeTempDir({ prefix: "purser-hangup-" });
    const port = freePort();
    const launcher = new Deno.Command(Deno.execPath(), {
      args: await taskArgs("start"),
      env: {
        ...{ DATA_DIR: dataDir, PORT: `${port}`, WORKERS: "off", PLATFORM_KEY },
        ...{ DATABASE_URL: testDatabaseUrl(), LOG_FORMAT: "json", LOG_LEVEL: "info" },
      },
      ...{ stdin: "null", stdout: "null", stderr: "piped" },
    }).spawn();
    const said = new Response(launcher.stderr).text();
    let isOver = false;
    launcher.status.then(() => isOver = true, () => {});
    const endLauncher = async () => {
      if (!isOver) launcher.kill("SIGTERM");
      await launcher.status;
    };
    try {
      const alive = () =>
        fetch(`http://127.0.0.1:${port}/health/live`)
          .then(async (answer) => {
            await answer.body?.cancel();
            return answer.ok;
          }, () => false);
      await until(alive);
      const children = await childrenOf(launcher.pid);
      equal(children.length, 1);
      Deno.kill(children[0], "SIGHUP"); // as the end of a terminal does
      equal(await alive(), true);
      launcher.kill("SIGHUP");
      const { code, signal } = await launcher.status;
      deepEqual([code, signal], [0, null]);
      match(await said, /"ending".*SIGTERM/);
    } finally {
      await endLauncher();
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});
