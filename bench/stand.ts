/**
 * The stand that is measured: PostgreSQL with its usual durability, the service as processes of its
 * own, a realm with funded accounts, and a second realm whose tables only the yardstick touches.
 *
 * @module
 */
import postgres from "postgres";
import { type EmbeddedPostgres, startEmbedded } from "../db/embedded/embedded.ts";
import { preallocateLater } from "../db/embedded/wal_segments.ts";
import { newIds } from "../domain/ids.ts";
import { allocatorOf } from "../launcher/allocator.ts";
import { freePort } from "../tests/support/ports.ts";

/** A realm on the stand. */
export interface BenchRealm {
  id: string;
  schema: string;
  /** A user key of its administrator, and that user's id. */
  key: string;
  admin: string;
  /** Keys that every client of the realm carries. */
  application: string;
  realmKey: string;
  /** Virtual accounts of one currency, each with the same total. */
  accounts: string[];
  /** Transactions that these were made with. */
  begun: number;
}

/** A serving process. */
export interface Service {
  url: string;
  port: number;
  pid: number;
  stop(): Promise<void>;
}

/** The PostgreSQL of a stand. */
export type Server =
  & Pick<EmbeddedPostgres, "url" | "superuserUrl" | "pid" | "clusterDir" | "stop">
  & {
    /** Not the one that the service brings: nobody preallocates its log. */
    isForeign?: boolean;
  };

/** Everything that is measured. */
export interface Stand {
  server: Server;
  /** A superuser's connection, for looking and for preparing. */
  sql: postgres.Sql;
  stop(): Promise<void>;
}

/** Units of the currency that each account begins with. */
export const FUNDS = "1000000";
const PLATFORM_KEY = "bench-platform-key";
const MASTER_KEY = btoa("0123456789abcdef0123456789abcdef");
/** The address by default, which keys are bound to: they outlive the processes of a stand. */
const BASE_URL = "http://127.0.0.1:8080";
const PASSWORD = "bench bench bench";
/** The folder that tasks run in. */
export const ROOT: URL = new URL("../", import.meta.url);
const MAIN = new URL("../main.ts", import.meta.url).pathname;
const PERMISSIONS = ["net", "read", "write", "env", "run", "sys"].map((name) => `--allow-${name}`);
/** As the launcher starts it. */
export const V8_FLAGS = "--v8-flags=--no-allocation-site-pretenuring";

/** Starts PostgreSQL in a folder: the one that the service brings, unless another is given. */
export async function startStand(dataDir: string, given?: Server): Promise<Stand> {
  const server = given ?? await startEmbedded({ dataDir, port: 0 });
  const sql = postgres(server.superuserUrl, { max: 2, onnotice: () => {} });
  return {
    server,
    sql,
    async stop() {
      await sql.end({ timeout: 1 });
      await server.stop();
    },
  };
}

/** Stops a stand and takes its folder away, with the database, wherever that was put. */
export async function removeStand(stand: Stand, folder: string): Promise<void> {
  await stand.stop();
  await Deno.remove(folder, { recursive: true });
  await Deno.remove(stand.server.clusterDir, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error; // it was below the folder
  });
}

/** Settings of every process of the service on a stand. */
export function settingsOf(stand: Stand): Record<string, string> {
  return {
    DATABASE_URL: stand.server.url,
    PLATFORM_KEY,
    MASTER_KEY,
    BASE_URL,
    LOG_LEVEL: "warn",
    LOG_FORMAT: "json",
  };
}

/** The settings without those of the log, which has a line for each request then. */
function withDefaultLog(settings: Record<string, string>): Record<string, string> {
  const { LOG_LEVEL: _level, LOG_FORMAT: _format, ...others } = settings;
  return others;
}

/** Starts a serving process and waits until it answers. */
export async function startService(
  stand: Stand,
  options: {
    workers?: boolean;
    flags?: string[];
    /** The module that is run in the place of main.ts. */
    entry?: string;
    command?: "start" | "worker";
    env?: Record<string, string>;
    /** Writes a line of log for each request, as by default. */
    logged?: boolean;
  } = {},
): Promise<Service> {
  const port = freePort();
  const settings = options.logged ? withDefaultLog(settingsOf(stand)) : settingsOf(stand);
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", V8_FLAGS, ...PERMISSIONS, ...options.flags ?? []],
      ...[options.entry ?? MAIN, options.command ?? "start"],
    ],
    env: {
      ...settings,
      ...await allocatorOf(Deno.env.toObject()),
      PORT: String(port),
      WORKERS: options.workers ? "on" : "off",
      ...options.env,
    },
    stdout: "null",
    stderr: options.logged ? "null" : "inherit",
  }).spawn();
  return await serviceOf(child, port);
}

/** Starts a process that only works, and waits until it answers that it lives. */
export async function startWorker(stand: Stand, folder: string): Promise<Service> {
  return await startService(stand, { command: "worker", env: { DATA_DIR: `${folder}/records` } });
}

/**
 * Starts the service as users do: by the task of their command line, with its default settings. The log of the server
 * is preallocated, as the launcher does for one of its own.
 */
export async function startDefault(stand: Stand, folder: string): Promise<Service> {
  const port = freePort();
  const child = new Deno.Command(Deno.execPath(), {
    args: await readTask("start"),
    cwd: ROOT,
    env: {
      ...withDefaultLog(settingsOf(stand)),
      ...{ PORT: String(port), DATA_DIR: `${folder}/records` },
    },
    stdout: "null",
    stderr: "null", // a line for each request
  }).spawn();
  const preallocation = stand.server.isForeign ? null : preallocateLater(stand.server);
  const service = await serviceOf(child, port);
  return {
    ...service,
    async stop() {
      await service.stop();
      await preallocation?.stop();
    },
  };
}

/** The arguments with which a task of the command line runs Deno. */
export async function readTask(name: string): Promise<string[]> {
  const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
  return tasks[name].split(" ").slice(1);
}

async function serviceOf(child: Deno.ChildProcess, port: number): Promise<Service> {
  const url = `http://127.0.0.1:${port}`;
  await waitUntilAnswers(`${url}/health/live`);
  return {
    url,
    port,
    pid: child.pid,
    async stop() {
      child.kill("SIGTERM");
      await child.status;
    },
  };
}

/** Makes a realm with accounts; where `fund` is set they get their value through the API. */
export async function makeRealm(
  stand: Stand,
  service: Service,
  options: { name: string; accounts: number },
): Promise<BenchRealm> {
  const email = `admin@${options.name}.bench`;
  const realm = await send(service, PLATFORM_KEY, "/v1/realms", {
    name: options.name,
    admin: { email, password: PASSWORD },
  });
  const login = await send(service, realm["x-api-key"], "/v1/auth/admins/login", {
    email,
    password: PASSWORD,
    realm_key: realm.realm_key,
  });
  const key = login["x-api-key"];
  const [{ schema }] = await stand.sql<{ schema: string }[]>`
    select schema_name as schema from platform.realms where id = ${realm.id}`;
  const supply = `${BigInt(FUNDS) * BigInt(options.accounts)}`;
  const currency = await send(service, key, "/v1/currencies", { name: "BENCH", supply });
  const { ids } = newIds(Date.now(), options.accounts);
  // One account is made by the service; these are its copies.
  await stand.sql.begin(async (tx) => {
    await tx.unsafe(`set local search_path to ${schema}`);
    await tx`
      insert into accounts (id, type, asset, decimals, active, enabled, currency, currency_places,
        country, holder, owner, data, created_at)
      select u.id, a.type, a.asset, a.decimals, true, true, a.currency, a.currency_places,
        a.country, a.holder, a.owner, a.data, a.created_at
      from accounts a, unnest(${`{${ids.join(",")}}`}::text::uuid[]) u(id)
      where a.id = ${currency.account}`;
  });
  for (let i = 0; i < ids.length; i += 1000) {
    await send(service, key, "/v1/transactions/batch", {
      atomic: true,
      transactions: ids.slice(i, i + 1000).map((id) => ({
        source: { account: currency.account },
        destination: { account: id },
        value: FUNDS,
      })),
    });
  }
  await stand.sql.unsafe(`vacuum analyze ${schema}.accounts`);
  const application = realm["x-api-key"];
  const realmKey = realm.realm_key;
  const admin = realm.admin.id;
  const made = { id: realm.id, schema, key, admin, application, realmKey, accounts: ids, begun: 0 };
  return { ...made, begun: await countTransactions(stand, made) };
}

/**
 * Leaves a stand's folder as an installation that the service itself can be started on, with the
 * key of its realm's administrator in the file `user_key`.
 */
export async function keepStand(folder: string, realm: BenchRealm): Promise<void> {
  const files = { platform_key: PLATFORM_KEY, master_key: MASTER_KEY, user_key: realm.key };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/${name}`, text, { mode: 0o600 });
  }
}

/** Takes a realm away: what is kept of a stand is what the service made, and nothing else. */
export async function removeRealm(stand: Stand, { id, schema }: BenchRealm): Promise<void> {
  await stand.sql.begin(async (tx) => {
    await tx.unsafe(`drop schema ${schema} cascade`);
    for (const table of ["realm_steps", "application_keys", "usage"]) {
      await tx.unsafe(`delete from platform.${table} where realm = $1`, [id]);
    }
    await tx`delete from platform.realms where id = ${id}`;
  });
}

/** Counts the transactions of a realm. */
export async function countTransactions(stand: Stand, realm: BenchRealm): Promise<number> {
  const [{ n }] = await stand.sql.unsafe<{ n: string }[]>(
    `select count(id) as n from ${realm.schema}.transactions`,
  );
  return Number(n);
}

/** Counts rolled-back transactions of the database, most of them serialization failures. */
export async function countRollbacks(stand: Stand): Promise<number> {
  await stand.sql`select pg_stat_clear_snapshot()`;
  const [{ n }] = await stand.sql<{ n: string }[]>`
    select xact_rollback as n from pg_stat_database where datname = current_database()`;
  return Number(n);
}

// Answers of the API are looked into freely here.
// deno-lint-ignore no-explicit-any
type Loose = any;

/** Logs a user of a realm in; gives its key. */
export async function logIn(
  service: Service,
  { application, realmKey }: BenchRealm,
  login: { username: string; password: string },
): Promise<string> {
  const given = { ...login, realm_key: realmKey };
  return (await send(service, application, "/v1/auth/login", given))["x-api-key"];
}

/** Sends a POST and gives its answer. @throws {Error} for what is refused */
export async function send(
  service: Service,
  key: string,
  path: string,
  body: unknown,
): Promise<Loose> {
  const response = await fetch(service.url + path, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

/** Waits until something answers a GET well. @throws {Error} after half a minute */
export async function waitUntilAnswers(url: string): Promise<void> {
  const until = performance.now() + 30_000;
  while (!await answers(url)) {
    if (performance.now() > until) throw new Error(`${url} does not answer`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
