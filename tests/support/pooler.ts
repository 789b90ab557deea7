/** PgBouncer in transaction mode, before a database of a test. @module */
import { join } from "node:path";
import { until } from "./eventually.ts";
import { freePort } from "./ports.ts";

/** A running pooler. */
export interface Pooler extends AsyncDisposable {
  /** The database's address behind it. */
  readonly url: string;
  /** Ends it with SIGKILL and starts another one in its place. */
  kill(): Promise<void>;
}

/** The path of PgBouncer; null where there is none. */
export const POOLER: string | null = await installed();

async function installed(): Promise<string | null> {
  for (const path of ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"]) {
    const found = await Deno.stat(path).then(({ isFile }) => isFile, () => false);
    if (found) return path;
  }
  return null;
}

/**
 * Starts a pooler with fewer sessions than callers.
 *
 * @param more further settings of it
 */
export async function startPooler(
  server: { url: string },
  folder: string,
  more: Readonly<Record<string, string>> = {},
): Promise<Pooler> {
  const port = freePort();
  const behind = new URL(server.url);
  const config = join(folder, `pgbouncer_${port}.ini`);
  const users = join(folder, `users_${port}.txt`);
  await Deno.writeTextFile(users, `"${behind.username}" "${behind.password}"\n`);
  await Deno.writeTextFile(
    config,
    `[databases]
* = host=127.0.0.1 port=${behind.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${users}
pool_mode = transaction
default_pool_size = 8
max_client_conn = 300
${Object.entries(more).map(([name, value]) => `${name} = ${value}`).join("\n")}
`,
  );
  const url = new URL(server.url);
  url.port = `${port}`;
  const start = async () => {
    const child = new Deno.Command(POOLER!, {
      args: [...(Deno.uid() === 0 ? ["-u", "nobody"] : []), config],
      ...{ stdin: "null", stdout: "null", stderr: "null" },
    }).spawn();
    await until(() =>
      Deno.connect({ hostname: "127.0.0.1", port }).then((connection) => {
        connection.close();
        return true;
      }, () => false)
    );
    return child;
  };
  let child = await start();
  return {
    url: url.href,
    async kill() {
      child.kill("SIGKILL");
      await child.status;
      child = await start();
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
    },
  };
}
