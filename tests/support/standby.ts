/** A primary and the streaming standby that follows it, both on this machine. @module */
import { join } from "node:path";
import postgres from "postgres";
import { type EmbeddedPostgres, startEmbedded } from "../../db/embedded/embedded.ts";
import { until } from "./eventually.ts";
import { freePort } from "./ports.ts";

/** A server that follows another one. */
export interface Standby extends AsyncDisposable {
  readonly port: number;
  /** Process id of the postmaster. */
  readonly pid: number;
  readonly superuserUrl: string;
  /** The address for the service. */
  readonly url: string;
}

/** The same address on another port. */
export function at(url: string, port: number): string {
  const other = new URL(url);
  other.port = `${port}`;
  return other.href;
}

/** Opens one connection as a server's superuser. */
export function connectTo({ superuserUrl }: { superuserUrl: string }) {
  const sql = postgres(superuserUrl, { max: 1, onnotice: () => {} });
  return Object.assign(sql, { [Symbol.asyncDispose]: () => sql.end() });
}

/**
 * Starts a primary and its standby.
 *
 * @param dataDir is within reach of the servers' user
 * @param synchronous whether commits wait for the standby
 */
export async function startPair(
  dataDir: string,
  { synchronous, settings = {} }: {
    synchronous: boolean;
    settings?: Readonly<Record<string, string>>;
  },
): Promise<{ primary: EmbeddedPostgres; standby: Standby }> {
  const made = await startEmbedded({ dataDir, port: 0, settings });
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
  const primary = await startEmbedded({ dataDir, port: 0, settings });
  const standby = await follow(primary, program, copy);
  await using sql = connectTo(primary);
  if (synchronous) {
    await sql`alter system set synchronous_standby_names = '*'`;
    await sql`select pg_reload_conf()`;
  }
  await until(async () => {
    const [row] = await sql<{ state: string; sync: string }[]>`
      select state, sync_state as sync from pg_stat_replication`;
    return row?.state === "streaming" && (!synchronous || row.sync === "sync");
  });
  return { primary, standby };
}

/** Waits until a standby has on its disk what its primary has. */
export async function caughtUp(
  primary: Pick<EmbeddedPostgres, "superuserUrl">,
  standby: Pick<Standby, "superuserUrl">,
): Promise<void> {
  await using there = connectTo(primary);
  await using here = connectTo(standby);
  const [{ lsn }] = await there<{ lsn: string }[]>`select pg_current_wal_flush_lsn()::text as lsn`;
  await until(async () => {
    const [{ whole }] = await here<{ whole: boolean }[]>`
      select pg_last_wal_receive_lsn() >= ${lsn}::pg_lsn as whole`;
    return whole;
  });
}

/** Has a primary send nothing any more: what it commits from now on no standby has. */
export async function cutOff(primary: EmbeddedPostgres): Promise<void> {
  const path = join(primary.clusterDir, "pgdata", "pg_hba.conf");
  const lines = (await Deno.readTextFile(path)).split("\n");
  const others = lines.filter((line) => !/^\w+\s+replication\s/.test(line)); // its own line, and those of initdb
  await Deno.writeTextFile(path, others.join("\n"));
  await using sql = connectTo(primary);
  const loadedAt = async () => {
    await using fresh = connectTo(primary); // it has what the postmaster had when it began
    return (await fresh<{ at: string }[]>`select pg_conf_load_time()::text as at`)[0].at;
  };
  const before = await loadedAt();
  await sql`select pg_reload_conf()`;
  await until(async () => await loadedAt() !== before);
  await until(async () => {
    const rows = await sql`select pg_terminate_backend(pid) from pg_stat_replication`;
    return rows.length === 0;
  });
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
    pid: child.pid,
    superuserUrl: at(primary.superuserUrl, own),
    url: at(primary.url, own),
    async [Symbol.asyncDispose]() {
      try {
        child.kill("SIGINT");
      } catch (error) {
        if (!(error instanceof TypeError)) throw error; // it has ended
      }
      await child.status;
    },
  };
}
