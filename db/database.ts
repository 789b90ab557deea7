/**
 * Pools of connections: one for the platform's schema, one for each realm in use. A realm's pool
 * speaks as the realm's own role and sees the realm's schema alone, so every statement is plain.
 * @module
 */
import postgres from "postgres";
import { silenceLost } from "./lost_connections.ts";

/** A pool, or a connection outside a transaction. */
export type Sql = postgres.Sql;
/** An open transaction. */
export type Tx = postgres.TransactionSql;
/** Where one statement can be run. */
export type Db = Sql | Tx;

/** How the database is reached. */
export interface DatabaseOptions {
  url: string;
  /** False behind a pooler in transaction mode: nothing may outlive a transaction there. */
  prepare: boolean;
  /** Parses json columns without losing digits. */
  parseJson: (text: string) => unknown;
  /** Opens the sealed address of a realm's own database; null where it cannot. */
  unseal?: (placement: Uint8Array, realm: string) => string | null;
  /** Told of every statement, for measurement. */
  onStatement?: (text: string) => void;
  /** Connections of the platform's pool and of each realm's. */
  platformMax?: number;
  realmMax?: number;
}

/** Where a realm's data lives. */
export interface Place {
  /** Realm id. */
  id: string;
  schema: string;
  /** The realm's role; null where the database lets nobody create roles. */
  role: string | null;
  /** Sealed address of a database of the realm's own; null for the platform's. */
  placement: Uint8Array | null;
}

/** A pool with what must be said at the start of each transaction, if anything. */
export interface Pool {
  sql: Sql;
  /** Statements for the start of each transaction, empty where connections keep their settings. */
  settings: string;
}

/** All pools of this process. */
export interface Database {
  platform: Pool;
  realm(place: Place): Pool;
  /** One connection of its own for the realm's lane of moves. */
  lane(place: Place): Pool;
  /** One connection with all rights where a realm lives, to build with. Whoever asks for it ends it. */
  owner(place: Place): Pool;
  close(): Promise<void>;
}

const REALM_POOLS_MAX = 500;
const IDLE_S = 30;
const STATEMENT_TIMEOUT_MS = 30_000;

/** Prepares the pools; nothing is connected before it is first used. */
export function openDatabase(options: DatabaseOptions): Database {
  const platform = connect(
    options,
    options.url,
    '"platform"',
    null,
    options.platformMax ?? 4,
    "api",
  );
  const realms = new Map<string, Pool>();
  const lanes: Sql[] = [];
  const at = (place: Place, max: number, name: string) =>
    connect(options, urlOf(options, place), `"${place.schema}"`, place.role, max, name);
  return {
    platform,
    realm(place) {
      let pool = realms.get(place.id);
      if (pool === undefined) pool = at(place, options.realmMax ?? 4, "realm");
      else realms.delete(place.id); // moved to the young end
      realms.set(place.id, pool);
      if (realms.size > REALM_POOLS_MAX) retireOldest(realms);
      return pool;
    },
    lane(place) {
      const pool = at(place, 1, "lane");
      lanes.push(pool.sql);
      return pool;
    },
    owner: (place) =>
      connect(options, urlOf(options, place), `"${place.schema}"`, null, 1, "owner"),
    async close() {
      const all = [platform.sql, ...[...realms.values()].map((pool) => pool.sql), ...lanes];
      await Promise.all(all.map((sql) => sql.end({ timeout: 5 })));
    },
  };
}

function urlOf(options: DatabaseOptions, place: Place): string {
  if (place.placement === null) return options.url;
  const url = options.unseal?.(place.placement, place.id) ?? null;
  if (url !== null) return url;
  throw new Error(`the address of realm ${place.id}'s database was sealed under another key`);
}

function retireOldest(realms: Map<string, Pool>): void {
  for (const [id, pool] of realms) {
    realms.delete(id);
    pool.sql.end().catch(() => {}); // waits for what runs; nobody is left to tell of a failure
    return;
  }
}

function connect(
  options: DatabaseOptions,
  url: string,
  searchPath: string,
  role: string | null,
  max: number,
  name: string,
): Pool {
  const session = {
    search_path: searchPath,
    ...(role === null ? {} : { role }),
  };
  const sql = postgres(url, {
    max,
    prepare: options.prepare,
    idle_timeout: name === "lane" ? 0 : IDLE_S,
    max_lifetime: null as unknown as number, // a lane's connection must not end between two batches
    connect_timeout: 10,
    backoff: () => 0.1, // the default leaves an API silent for 20 s after a database restart
    fetch_types: false,
    onnotice: () => {},
    ...(options.onStatement === undefined
      ? {}
      : { debug: (_connection: number, text: string) => options.onStatement!(text) }),
    types: {
      date: {
        to: 1184,
        from: [1082, 1114, 1184],
        serialize: (ms: number) => new Date(ms).toISOString(),
        parse: (text: string) => new Date(text).getTime(),
      },
      json: {
        to: 114,
        from: [114, 3802],
        serialize: (value: unknown) => JSON.stringify(value),
        parse: options.parseJson,
      },
      texts: { to: 1009, from: [1009], serialize: writeArray, parse: readArray },
      ids: { to: 2951, from: [2951], serialize: writeArray, parse: readArray },
    } as unknown as Record<string, postgres.PostgresType>,
    connection: {
      application_name: `purser ${name}`,
      // A pooler would share these between clients, so there they are said in each transaction.
      ...(options.prepare
        ? { ...session, statement_timeout: STATEMENT_TIMEOUT_MS, timezone: "UTC" }
        : {}),
    },
  });
  const settings = options.prepare ? "" : [
    role === null ? "" : `set local role "${role}";`,
    `set local search_path to ${searchPath};`,
    `set local statement_timeout = ${STATEMENT_TIMEOUT_MS}; set local timezone = 'UTC';`,
  ].join(" ");
  return { sql: silenceLost(sql), settings };
}

/** Writes an array of texts as PostgreSQL reads it; one that was written before is left as it is. */
function writeArray(values: readonly string[] | string): string {
  if (typeof values === "string") return values;
  const quoted = values.map((text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`);
  return `{${quoted.join(",")}}`;
}

/** Reads an array of texts without nulls. */
function readArray(text: string): string[] {
  const found: string[] = [];
  for (const [, quoted, plain] of text.slice(1, -1).matchAll(/"((?:[^"\\]|\\.)*)"|([^",]+)/gs)) {
    found.push(quoted === undefined ? plain : quoted.replaceAll(/\\(.)/gs, "$1"));
  }
  return found;
}
