/**
 * Pools of connections: one for the platform's schema, one for each realm in use. A realm's pool
 * speaks as the realm's own role and sees the realm's schema alone, so every statement is plain.
 * @module
 */
import { connect } from "./connections.ts";
import {
  actingAs,
  saidBy,
  serverOf,
  type Session,
  sessionOf,
  unbounded,
  urlOf,
  WATCH,
  workerRole,
} from "./pools.ts";
import type {
  DatabaseOptions,
  Db,
  IndexWaits,
  Pool,
  Pools,
  RealmLocation,
  ServingLogins,
  Sql,
  Tx,
} from "./pool_types.ts";
import { openQuotas } from "./connection_quota.ts";
import { openRealmPools } from "./realm_pools.ts";
import { openReplica, type Replica } from "./replica.ts";

export { actingAs, workerRole };
export type { DatabaseOptions, Db, Pool, RealmLocation, ServingLogins, Sql, Tx };

/** All connections of this process. */
export interface Database extends Pools {
  /** The replica of the platform's server; null where there is none. */
  readonly replica: Replica | null;
}

const CONNECTIONS_MAX = 40;
const PLATFORM_MAX = 4;
const WATCH_MAX = 4;
const BUILDER_MAX = 2;
/** Longest wait of an index for one transaction, unless another is set. */
const INDEX_WAIT_MS = 600_000;
/** How much longer than its process a session waits that makes an index: the process can say for what. */
const ORPHAN_WAITS = 2;

/** Prepares the pools; each connects at its first use. */
export function openDatabase(options: DatabaseOptions): Database {
  const platformMax = options.platformMax ?? PLATFORM_MAX;
  const total = options.connectionsMax ?? CONNECTIONS_MAX;
  const alive = new Set<Sql>();
  const { platform, watch, serveAs } = servingOf(options, alive);
  const builder = builderOf(options, alive);
  const quotas = openQuotas({
    home: serverOf(options.url),
    homeMax: total - platformMax - WATCH_MAX - BUILDER_MAX,
    otherMax: total - WATCH_MAX,
    watchMax: WATCH_MAX,
  });
  const realms = openRealmPools({ options, platform, watch, alive, quotas });
  const replica = openReplica({ options, platform, alive, quotas });
  return {
    ...{ platform, builder, replica },
    ...realms,
    serveAs(logins) {
      serveAs(logins);
      replica?.logInAs(logins.platform);
    },
    owner: (location) => ownerOf(options, location),
    indexing: indexingOf(options, alive),
    logins: options.logins,
    taken: quotas.taken,
    async close() {
      replica?.close();
      quotas.close();
      await Promise.all([...alive].map((sql) => sql.end({ timeout: 5 })));
    },
  };
}

/** Opens the platform's pool and the shared pool, which may change to other roles. */
function servingOf(
  options: DatabaseOptions,
  alive: Set<Sql>,
): Pick<Database, "platform" | "serveAs"> & { watch: Pool } {
  let logins: ServingLogins | null = null;
  const pool = (as: Session, of: keyof ServingLogins, max: number) =>
    unbounded(saidBy(options, as), () => {
      const sql = connect(options, options.url, as, max, logins?.[of] ?? null);
      alive.add(sql);
      return sql;
    }, alive);
  const platform = pool(PLATFORM, "platform", options.platformMax ?? PLATFORM_MAX);
  const watch = pool(WATCH, "watch", WATCH_MAX);
  return {
    platform,
    watch,
    serveAs(others) {
      logins = others;
      for (const one of [platform, watch]) one.renew(one.sql);
    },
  };
}

/** Opens the connections that build and migrate. */
function builderOf(options: DatabaseOptions, alive: Set<Sql>): Pool {
  const as = { ...PLATFORM, name: "owner" };
  return unbounded(saidBy(options, as), () => {
    const sql = connect(options, options.url, as, BUILDER_MAX, null);
    alive.add(sql);
    return sql;
  }, alive);
}

/** Opens one connection with all rights to a realm's database. */
function ownerOf(options: DatabaseOptions, location: RealmLocation): Pool {
  const as = { ...sessionOf(location, "owner"), role: null };
  const open = () => connect(options, urlOf(options, location), as, 1, null);
  return unbounded(saidBy(options, as), open, new Set());
}

/** Gives connections that make indexes, one at a time on each server: each build reads a whole table. */
function indexingOf(options: DatabaseOptions, alive: Set<Sql>): Database["indexing"] {
  const last = new Map<string, Promise<unknown>>();
  const waits = new Map<string, IndexWaits>();
  const limitMs = options.indexWaitMs ?? INDEX_WAIT_MS;
  return async (location, work) => {
    const url = location === null ? options.url : urlOf(options, location);
    const as = location === null ? PLATFORM : sessionOf(location, "owner");
    const waited = waits.get(url) ?? { limitMs, since: new Map() };
    waits.set(url, waited);
    async function run() {
      const sql = connect(options, url, { ...as, role: null, name: "index" }, 1, null);
      alive.add(sql);
      try {
        // The session of a killed process ends by itself. Behind a pooler the setting would stay with a shared session.
        if (options.prepare) await sql.unsafe(`set lock_timeout = ${ORPHAN_WAITS * limitMs}`);
        return await work(sql, waited);
      } finally {
        await sql.end({ timeout: 5 });
        alive.delete(sql);
      }
    }
    const server = serverOf(url);
    const turn = (last.get(server) ?? Promise.resolve()).then(run);
    last.set(server, turn.catch(() => {}));
    return await turn;
  };
}

const PLATFORM: Session = { searchPath: '"platform"', role: null, location: null, name: "api" };
