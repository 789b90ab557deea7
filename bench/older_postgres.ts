/** A PostgreSQL that the machine has, in the place of the one that the service brings. @module */
import { output } from "./processes.ts";
import { freePort } from "../tests/support/ports.ts";
import type { Server } from "./stand.ts";

const BIN = "/usr/lib/postgresql/15/bin";
/** PostgreSQL does not run as root; nobody owns its files then. */
const NOBODY = 65534;

/** Starts PostgreSQL 15 on a folder of its own, by default with default settings; null where it is not installed. */
export async function startPostgres15(
  settings: Readonly<Record<string, string>> = {},
): Promise<Server | null> {
  const installed = await Deno.stat(`${BIN}/postgres`).then(() => true, () => false);
  if (!installed) return null;
  const as = Deno.uid() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
  const clusterDir = await Deno.makeTempDir({ prefix: "purser-bench-15-" });
  if (as.uid !== undefined) await Deno.chown(clusterDir, as.uid, as.gid);
  const data = `${clusterDir}/pgdata`;
  const options = { ...as, cwd: clusterDir };
  const basics = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"];
  await output(`${BIN}/initdb`, ["-D", data, ...basics], options);
  const port = freePort();
  const all = Object.entries({ listen_addresses: "127.0.0.1", ...settings });
  const child = new Deno.Command(`${BIN}/postgres`, {
    args: [
      "-D",
      data,
      "-p",
      `${port}`,
      "-k",
      clusterDir,
      ...all.map(([name, to]) => `--${name}=${to}`),
    ],
    stdout: "null",
    stderr: "null",
    ...options,
  }).spawn();
  const url = (user: string, database: string) =>
    `postgres://${user}:trusted@127.0.0.1:${port}/${database}`;
  for (
    const sql of ["create role purser login createrole", "create database purser owner purser"]
  ) {
    await untilDone(() => output(`${BIN}/psql`, ["-c", sql, url("postgres", "postgres")]));
  }
  return {
    url: url("purser", "purser"),
    superuserUrl: url("postgres", "purser"),
    pid: child.pid,
    clusterDir,
    isForeign: true,
    async stop() {
      child.kill("SIGINT");
      await child.status;
    },
  };
}

/** Tries again until the server has started. @throws {Error} after half a minute */
async function untilDone(work: () => Promise<unknown>): Promise<void> {
  for (const until = performance.now() + 30_000;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
