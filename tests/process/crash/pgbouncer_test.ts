/**
 * Two processes behind PgBouncer in transaction mode, where a session is another one after each transaction. Runs where PgBouncer is
 * installed.
 *
 * @module
 */
import { join } from "node:path";
import { type EmbeddedPostgres, startEmbedded } from "../../../db/embedded/embedded.ts";
import { until } from "../../support/eventually.ts";
import { freePort } from "../../support/ports.ts";
import { startLoad } from "./clients.ts";
import { assertKept, assertWhole } from "./proof.ts";
import { type CrashRealm, makeRealm, startService } from "./service.ts";

/** A running pooler. */
interface Pooler extends AsyncDisposable {
  /** The database's address behind it. */
  readonly url: string;
  /** Ends it with SIGKILL and starts another one in its place. */
  kill(): Promise<void>;
}

const CLIENTS = 8;
const PROGRAM = await installed();

Deno.test({
  name: "behind PgBouncer in transaction mode realms keep apart, and a killed pooler loses nothing",
  ignore: PROGRAM === null, // the package `pgbouncer` is not installed
  async fn() {
    const dataDir = await Deno.makeTempDir({ prefix: "purser-pgbouncer-" });
    await Deno.chmod(dataDir, 0o755);
    try {
      await using server = await startEmbedded({ dataDir, port: 0 });
      await using pooler = await startPooler(server, dataDir);
      const settings = { DATABASE_PREPARE: "off" };
      await using one = await startService(pooler.url, settings);
      await using two = await startService(pooler.url, settings);
      const realms: CrashRealm[] = [await makeRealm(one, 6), await makeRealm(two, 6)];
      const loads = realms.flatMap((realm, n) =>
        [one, two].map((service) => ({ realm: n, load: startLoad(service, realm, CLIENTS) }))
      );
      try {
        await Promise.all(loads.map(({ load }) => load.more(5 * CLIENTS)));
        await pooler.kill();
        await Promise.all(loads.map(({ load }) => load.more(5 * CLIENTS)));
      } finally {
        await Promise.all(loads.map(({ load }) => load.finish()));
      }
      for (const [n, realm] of realms.entries()) {
        const both = {
          acknowledged: loads.filter((one) => one.realm === n)
            .flatMap(({ load }) => load.acknowledged),
        };
        await assertWhole(server, realm, both);
        await assertKept(n === 0 ? two : one, realm, both);
      }
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  },
});

/** The path of PgBouncer; null where there is none. */
async function installed(): Promise<string | null> {
  for (const path of ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"]) {
    const found = await Deno.stat(path).then(({ isFile }) => isFile, () => false);
    if (found) return path;
  }
  return null;
}

/** Starts a pooler with fewer sessions than callers. */
async function startPooler(server: EmbeddedPostgres, folder: string): Promise<Pooler> {
  const port = freePort();
  const behind = new URL(server.url);
  const config = join(folder, "pgbouncer.ini");
  const users = join(folder, "users.txt");
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
`,
  );
  const url = new URL(server.url);
  url.port = `${port}`;
  const start = async () => {
    const child = new Deno.Command(PROGRAM!, {
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
