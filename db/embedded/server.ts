/**
 * The process of the embedded server: start, supervision and stop.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Cluster, readCredentials, runProgram, tryProgram } from "./cluster.ts";
import { exists, readIfThere } from "./files.ts";

/** Settings for one machine that is shared with the service itself. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  max_connections: "100",
  shared_buffers: "256MB",
  checkpoint_timeout: "15min",
  random_page_cost: "1.1",
  jit: "off",
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  // After a crash the server first makes sure of what it had written before. File by file that takes a minute for
  // some 150 realms, each of which is a thousand files; Linux does it for the whole disk at once.
  ...Deno.build.os === "linux" && { recovery_init_sync_method: "syncfs" },
  timezone: "UTC",
  log_timezone: "UTC",
  // A file per weekday, emptied when its day returns. Failed statements stay out of it: the service
  // reports them itself, they could fill a disk, and they can hold text that people typed.
  logging_collector: "on",
  log_filename: "postgresql-%a.log",
  log_truncate_on_rotation: "on",
  log_rotation_age: "1d",
  log_rotation_size: "0",
  log_min_messages: "log",
  log_checkpoints: "off",
};

/** Starts the server on the requested port, else on the last one, else on a free one. */
export async function launchOnPort(
  cluster: Cluster,
  wanted: number | undefined,
): Promise<{ port: number; child: Deno.ChildProcess }> {
  if (wanted && !isFree(wanted)) {
    throw new Error(`Port ${wanted} on 127.0.0.1 is taken by another program: choose another one`);
  }
  const kept = join(cluster.home, "port");
  const last = wanted === undefined ? toInteger(await readIfThere(kept)) : 0;
  for (let attempt = 1;; attempt++) {
    const port = wanted || (attempt === 1 && last && isFree(last) ? last : freePort());
    try {
      const child = await launch(cluster, port);
      if (wanted === undefined && port !== last) {
        await Deno.writeTextFile(kept, `${port}\n`, { mode: 0o600 });
      }
      return { port, child };
    } catch (error) {
      // Another program may have taken the port since the check.
      if (wanted || isFree(port) || attempt === 5) throw error;
    }
  }
}

function isFree(port: number): boolean {
  try {
    Deno.listen({ hostname: "127.0.0.1", port }).close();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return false;
    throw error;
  }
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

/**
 * Stops the server that a killed process left running, and drops a pid file whose pid belongs to
 * another program by now. A file whose process is gone is no trouble to PostgreSQL itself, and a
 * file dropped wrongly none to the data: the shared memory block still keeps a second server out.
 */
export async function retireOrphan(cluster: Cluster): Promise<void> {
  const { pgdata } = cluster;
  const pidFile = join(pgdata, "postmaster.pid");
  const deadline = performance.now() + 1000;
  while (await exists(pidFile)) {
    const { pid, port } = await readPidFile(pgdata);
    if (pid === 0) return await Deno.remove(pidFile); // emptied by a power cut
    const { code } = await tryProgram(cluster, "pg_ctl", ["status", "-D", pgdata]);
    if (code !== 0) return;
    const answer = await askServer(cluster, port);
    if (answer === "ours") {
      return await runProgram(cluster, "pg_ctl", ["stop", "-D", pgdata, "-m", "fast", "-t", "30"]);
    }
    if (answer === "stranger" && performance.now() > deadline) return await Deno.remove(pidFile);
    await delay(50);
  }
}

/**
 * Asks which server listens on a port; only a server that takes our password and has our folder is
 * ours. The driver is loaded by a process that may reach this port and nothing else.
 */
async function askServer(cluster: Cluster, port: number): Promise<"ours" | "busy" | "stranger"> {
  const { superuser } = await readCredentials(cluster.home);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--cached-only", `--allow-net=127.0.0.1:${port}`],
      ...["--allow-env=PG*", fileURLToPath(new URL("question.ts", import.meta.url))],
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(JSON.stringify({ port, password: superuser })));
  await writer.close();
  const { success, stdout } = await child.output();
  if (!success) throw new Error("the server on the port could not be identified");
  const answer = new TextDecoder().decode(stdout).trim();
  if (answer === "busy") return "busy";
  return answer === `folder ${cluster.pgdata}` ? "ours" : "stranger";
}

/** Starts the server and waits for it to accept connections, however long its recovery takes. */
async function launch(cluster: Cluster, port: number): Promise<Deno.ChildProcess> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const child = spawnServer(cluster, port);
    const stderr = child.stderr.getReader();
    const complaint = readAll(stderr);
    let ended = false;
    const end = () => ended = true;
    child.status.then(end, end);
    while (!ended) {
      const { pid, status } = await readPidFile(cluster.pgdata);
      if (pid === child.pid && status === "ready") {
        await stderr.cancel();
        child.unref(); // it does not keep this process alive by itself
        return child;
      }
      await delay(5);
    }
    const said = await complaint;
    // The processes of a postmaster that was killed take a moment to notice and leave.
    const leaving = said.includes("pre-existing shared memory block");
    if (!leaving || performance.now() > deadline) {
      const logged = said === "" || said.includes("redirecting log output");
      const reason = logged ? await readLogTail(cluster.pgdata) : said;
      throw new Error(`PostgreSQL did not start: ${reason}`);
    }
    await delay(50);
  }
}

function spawnServer({ bin, pgdata, user, settings }: Cluster, port: number): Deno.ChildProcess {
  const given = Object.entries({ ...SETTINGS, ...settings, port: String(port) });
  return new Deno.Command(join(bin, "postgres"), {
    args: ["-D", pgdata, ...given.flatMap(([name, value]) => ["-c", `${name}=${value}`])],
    ...user,
    cwd: "/",
    clearEnv: true,
    env: { TZ: "UTC" },
    stdin: "null",
    stdout: "null",
    stderr: "piped",
    detached: true, // Ctrl-C must not stop the database before the service has drained
  }).spawn();
}

async function readAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text.trim();
    text += decoder.decode(value, { stream: true });
  }
}

/** Reads the pid file of a running or killed postmaster; zeros when there is none. */
async function readPidFile(pgdata: string): Promise<{ pid: number; port: number; status: string }> {
  const lines = (await readIfThere(join(pgdata, "postmaster.pid")))?.split("\n") ?? [];
  return { pid: toInteger(lines[0]), port: toInteger(lines[3]), status: lines[7]?.trim() ?? "" };
}

function toInteger(text: string | undefined): number {
  return parseInt(text ?? "", 10) || 0;
}

/** Gives the last lines of the newest log file. */
async function readLogTail(pgdata: string): Promise<string> {
  const folder = join(pgdata, "log");
  if (!await exists(folder)) return "it said nothing";
  const files = await Promise.all(
    (await Array.fromAsync(Deno.readDir(folder))).map(async ({ name }) => {
      const path = join(folder, name);
      return { path, time: (await Deno.stat(path)).mtime?.getTime() ?? 0 };
    }),
  );
  const newest = files.sort((a, b) => b.time - a.time)[0];
  if (!newest) return "it said nothing";
  return (await Deno.readTextFile(newest.path)).trim().split("\n").slice(-6).join("\n");
}

/**
 * Starts a killed or crashed server again, on its port, until told to stop. When that fails too,
 * no caller can handle the error: it ends the process, which cannot work without a database.
 */
export function supervise(
  cluster: Cluster,
  port: number,
  first: Deno.ChildProcess,
): { child(): Deno.ChildProcess; stop(): Promise<void> } {
  let child = first;
  let launching = Promise.resolve(first);
  let stopping = false;
  async function watch(): Promise<void> {
    // An exit with code 0 is a shutdown by request.
    while (!(await child.status).success && !stopping) {
      launching = launch(cluster, port);
      child = await launching;
    }
  }
  const watching = watch();
  return {
    child: () => child,
    async stop() {
      stopping = true;
      await shutDown(await launching);
      await watching;
    },
  };
}

/** Ends all sessions, writes a checkpoint and stops; after 8 s it stops without the checkpoint. */
async function shutDown(child: Deno.ChildProcess): Promise<void> {
  child.ref(); // this process lives until the server has ended
  signal(child, "SIGINT");
  const timer = setTimeout(() => signal(child, "SIGQUIT"), 8000);
  await child.status;
  clearTimeout(timer);
}

function signal(child: Deno.ChildProcess, name: Deno.Signal): void {
  try {
    child.kill(name);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // Deno says so of a process that has ended
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
