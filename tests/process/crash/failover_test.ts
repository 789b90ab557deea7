/**
 * A primary dies under load and its streaming standby takes its place, behind one address. With a synchronous standby
 * nothing that was acknowledged may be lost; without one PostgreSQL itself may lose it.
 *
 * @module
 */
import { join } from "node:path";
import { type EmbeddedPostgres, startEmbedded } from "../../../db/embedded/embedded.ts";
import { until } from "../../support/eventually.ts";
import { freePort } from "../../support/ports.ts";
import { startLoad } from "./clients.ts";
import { assertFelt, assertKept, assertWhole, connect } from "./proof.ts";
import { openRelay } from "./relay.ts";
import { makeRealm, startService } from "./service.ts";

/** A server that follows another one. */
interface Standby extends AsyncDisposable {
  readonly port: number;
  readonly superuserUrl: string;
}

const CLIENTS = 8;

Deno.test("a synchronous standby that takes the primary's place has all that was acknowledged, and nothing twice", async () => {
  const dataDir = await Deno.makeTempDir({ prefix: "purser-failover-" });
  await Deno.chmod(dataDir, 0o755);
  try {
    const { primary, standby } = await startPair(dataDir);
    await using first = primary;
    await using second = standby;
    using relay = openRelay(Number(new URL(first.url).port));
    await using service = await startService(at(first.url, relay.port));
    const realm = await makeRealm(service, 6);
    const load = startLoad(service, realm, CLIENTS);
    try {
      await load.more(10 * CLIENTS);
      relay.leadTo(null); // whoever takes over makes sure first that nobody writes to the old one
      Deno.kill(first.pid, "SIGKILL");
      await until(() => load.stats.repeats > 0); // somebody is refused before the other one answers
      await using sql = connect(second);
      await sql`select pg_promote()`;
      relay.leadTo(second.port);
      await load.more(10 * CLIENTS);
    } finally {
      await load.finish();
    }
    assertFelt(load);
    await assertWhole(second, realm, load);
    await assertKept(service, realm, load);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
});

/** Starts a primary whose commits wait for its standby, and that standby. */
async function startPair(
  dataDir: string,
): Promise<{ primary: EmbeddedPostgres; standby: Standby }> {
  const made = await startEmbedded({ dataDir, port: 0 });
  const pgdata = join(made.clusterDir, "pgdata");
  await made.stop();
  const [program] = (await Deno.readTextFile(join(pgdata, "postmaster.opts"))).split(" ");
  await Deno.writeTextFile(
    join(pgdata, "pg_hba.conf"),
    "host replication postgres 127.0.0.1/32 scram-sha-256\n",
    { append: true },
  );
  const copy = join(made.clusterDir, "standby");
  const { success } = await new Deno.Command("cp", { args: ["-a", pgdata, copy] }).output();
  if (!success) throw new Error("the cluster could not be copied");
  const primary = await startEmbedded({ dataDir, port: 0 });
  const standby = await follow(primary, program, copy);
  await using sql = connect(primary);
  await sql`alter system set synchronous_standby_names = '*'`;
  await sql`select pg_reload_conf()`;
  await until(async () => {
    const [row] = await sql<
      { state: string }[]
    >`select sync_state as state from pg_stat_replication`;
    return row?.state === "sync";
  });
  return { primary, standby };
}

async function follow(
  primary: EmbeddedPostgres,
  program: string,
  pgdata: string,
): Promise<Standby> {
  const { hostname, port, password } = new URL(primary.superuserUrl);
  const own = freePort();
  const source = `host=${hostname} port=${port} user=postgres password=${password}`;
  await Deno.writeTextFile(join(pgdata, "standby.signal"), "");
  const { uid, gid } = await Deno.stat(pgdata);
  await Deno.chown(join(pgdata, "standby.signal"), uid, gid);
  const settings = {
    ...{ port: `${own}`, listen_addresses: "127.0.0.1", unix_socket_directories: "" },
    ...{ primary_conninfo: source, max_connections: "100", logging_collector: "off" },
  };
  const child = new Deno.Command(program, {
    args: ["-D", pgdata, ...Object.entries(settings).flatMap(([k, v]) => ["-c", `${k}=${v}`])],
    ...(Deno.uid() === 0 ? { uid: uid!, gid: gid! } : {}),
    ...{ cwd: "/", stdout: "null", stderr: "null" },
  }).spawn();
  return {
    port: own,
    superuserUrl: at(primary.superuserUrl, own),
    async [Symbol.asyncDispose]() {
      child.kill("SIGINT");
      await child.status;
    },
  };
}

function at(url: string, port: number): string {
  const other = new URL(url);
  other.port = `${port}`;
  return other.href;
}
