/**
 * Pools of connections: one for the platform's schema, one for each realm in use. A realm's pool
 * speaks as the realm's own role and sees the realm's schema alone, so every statement is plain.
 * @module
 */
import type postgres from "postgres";
import { connect, type Login, type Speech } from "./connections.ts";
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
import { openQuotas } from "./connection_quota.ts";
import type { Logins } from "./realm_logins.ts";
import { openRealmPools } from "./realm_pools.ts";

export { actingAs, workerRole };
/** A pool, or a connection outside a transaction. */
export type Sql = postgres.Sql;
/** An open transaction. */
export type Tx = postgres.TransactionSql;
/** Where one statement can be run. */
export type Db = Sql | Tx;

/** Options of the access to the database. */
export interface DatabaseOptions extends Speech {
  url: string;
  /** Decrypts the address of a realm's own database; null where it cannot. */
  decryptUrl?: (encryptedUrl: Uint8Array, realm: string) => string | null;
  /**
   * Decrypts the logins of realms, whose roles then connect by themselves. Without it, or behind a
   * pooler, the login of the address takes the role on, and can give it up again.
   */
  logins?: Logins;
  /** Connections of the process to one server, all pools together. */
  connectionsMax?: number;
  /** The realm migration that this version needs: a realm that is behind it gets no connection. */
  schemaVersion?: number;
  /** Connections of the platform's pool and of each realm's. */
  platformMax?: number;
  realmMax?: number;
}

/** Location of a realm's data. */
export interface RealmLocation {
  /** Realm id. */
  id: string;
  schema: string;
  /** The realm's serving role; null where the login may not create roles. */
  role: string | null;
  /** Encrypted address of a database of the realm's own; null for the platform's. */
  encryptedUrl: Uint8Array | null;
  /** Encrypted secret of the roles' logins; null where they do not log in. */
  login: Uint8Array | null;
  /** Number of the last migration applied there. */
  schemaVersion: number;
  /** Number of the place: it grows each time the realm moves to another database. */
  place: number;
}

/** A pool, with the statements that each transaction must begin with, if any. */
export interface Pool {
  /** Its connections, opened on first use; may be others each time it is read. */
  readonly sql: Sql;
  /** Statements for the start of each transaction, empty where connections keep their settings. */
  readonly settings: string;
  /**
   * Waits for room among the process's connections. The pool keeps them until the returned function is
   * called.
   *
   * @throws {Contention} when there was none in time
   */
  enter(): Promise<() => void>;
  /**
   * Ends these connections as soon as they are unused, and opens others, unless that was done.
   *
   * @param free resolved when they are unused; without it, running statements have a moment
   */
  renew(sql: Sql, free?: Promise<unknown>): void;
  /** Ends its connections after a short wait for running statements; the realm lives elsewhere now. */
  leave?(): void;
  /** Number of the realm's place that the connections lead to now; absent where the pool never moves. */
  readonly place?: number;
  /**
   * Looks where the realm lives after its old place refused a statement, and waits while it moves.
   *
   * @param from the place that refused
   * @returns whether the statement may pass now
   * @throws {Contention} when the move takes too long
   */
  follow?(from: number): Promise<boolean>;
}

/** All pools of this process. */
export interface Database {
  platform: Pool;
  /** A few connections with all rights to the platform's database, to build and migrate realms with. */
  builder: Pool;
  /** Makes the platform's pool and the shared pool log in as roles with fewer rights from now on. */
  serveAs(logins: ServingLogins): void;
  realm(location: RealmLocation): Pool;
  /** The realm's connections of workers, whose role may also read and book chain data. */
  working(location: RealmLocation): Pool;
  /**
   * Connections shared by all realms, for reads that run in every one of them: a connection to each realm
   * would be too much.
   */
  sharedPool(location: RealmLocation): Pool;
  /** One connection of its own for the realm's posting queue. */
  postingPool(location: RealmLocation): Pool;
  /** One connection with all rights to a realm's database, to build with. The caller ends it. */
  owner(location: RealmLocation): Pool;
  /** The logins of realms; undefined where their roles do not log in. */
  readonly logins: Logins | undefined;
  /** Number of connections in use by realms and posting queues now, for measurement. */
  taken(): number;
  close(): Promise<void>;
}

/** Roles of the platform other than its owner. */
export interface ServingLogins {
  /** Writes rows of the platform's tables. */
  platform: Login;
  /** Has only the right to take on the roles of realms' workers, each for the length of a transaction. */
  watch: Login;
}

const CONNECTIONS_MAX = 40;
const PLATFORM_MAX = 4;
const WATCH_MAX = 4;
const BUILDER_MAX = 2;
/** Most uses of a building session: it caches every table that it made, and grows slow and large. */
const BUILDER_USES_MAX = 10;

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
  return {
    ...{ platform, builder, serveAs },
    ...realms,
    owner: (location) => ownerOf(options, location),
    logins: options.logins,
    taken: quotas.taken,
    async close() {
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

/**
 * Opens the connections that build and migrate; new ones replace them after some uses, when they are
 * unused.
 */
function builderOf(options: DatabaseOptions, alive: Set<Sql>): Pool {
  const as = { ...PLATFORM, name: "owner" };
  const pool = unbounded(saidBy(options, as), () => {
    const sql = connect(options, options.url, as, BUILDER_MAX, null);
    alive.add(sql);
    return sql;
  }, alive);
  let [users, uses] = [0, 0];
  function leave(): void {
    if (--users > 0 || ++uses < BUILDER_USES_MAX) return;
    uses = 0;
    pool.renew(pool.sql);
  }
  return {
    get sql() {
      return pool.sql;
    },
    settings: pool.settings,
    enter() {
      users++;
      return Promise.resolve(leave);
    },
    renew: pool.renew,
  };
}

/** Opens one connection with all rights to a realm's database. */
function ownerOf(options: DatabaseOptions, location: RealmLocation): Pool {
  const as = { ...sessionOf(location, "owner"), role: null };
  const open = () => connect(options, urlOf(options, location), as, 1, null);
  return unbounded(saidBy(options, as), open, new Set());
}

const PLATFORM: Session = { searchPath: '"platform"', role: null, location: null, name: "api" };
