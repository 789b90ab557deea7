/**
 * Pools of connections: one for the platform's schema, one for each realm in use. A realm's pool
 * speaks as the realm's own role and sees the realm's schema alone, so every statement is plain.
 * @module
 */
import type postgres from "postgres";
import { connect, type Login, type Speech } from "./connections.ts";
import { Contention } from "./errors.ts";
import { type Logins, passwordsOf } from "./realm_logins.ts";
import { type Session as AnySession, settingsOf } from "./session_settings.ts";
import { openQuota, type Quota } from "./connection_quota.ts";

type Session = AnySession<RealmLocation>;
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
  /** Connections of the process, all pools together. */
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
const REALM_MAX = 4;
/** Most uses of a building session: it caches every table that it made, and grows slow and large. */
const BUILDER_USES_MAX = 10;

/** Prepares the pools; each connects at its first use. */
export function openDatabase(options: DatabaseOptions): Database {
  const platformMax = options.platformMax ?? PLATFORM_MAX;
  const total = options.connectionsMax ?? CONNECTIONS_MAX;
  const quota = openQuota(Math.max(1, total - platformMax - WATCH_MAX - BUILDER_MAX));
  const alive = new Set<Sql>();
  const realms = new Map<string, Pool>();
  const works = new Map<string, Pool>();
  const shared = new Map<string, Pool>(); // of realms whose roles do not log in, by address
  const watches = new Map<string, Pool>();
  function plain(url: string, as: Session, max: number): Sql {
    const sql = connect(options, url, as, max, loginOf(options, as));
    alive.add(sql);
    return sql;
  }
  const always = (url: string, as: Session, max: number) =>
    unbounded(saidBy(options, as), () => plain(url, as, max), alive);
  const { platform, watch, serveAs } = servingOf(options, alive);
  const builder = builderOf(options, alive);
  function bounded(location: RealmLocation, max: number, name: string): Pool {
    const as = sessionOf(location, name);
    const open = (size: number) => plain(urlOf(options, location), as, size);
    return underQuota(quota, { open, alive, max, settings: saidBy(options, as) });
  }
  /** Pool of a realm in another database, or without a role, which only the address's login may read. */
  function elsewhere(location: RealmLocation): Pool {
    const as = sessionOf(asWorker(location), "watch");
    const url = urlOf(options, location);
    if (loginOf(options, as) !== null) return always(url, as, 1);
    const all = shared.get(url) ?? always(url, WATCH, url === options.url ? WATCH_MAX : 1);
    shared.set(url, all);
    return actingAs(all, asWorker(location));
  }
  return {
    platform,
    builder,
    serveAs,
    realm(location) {
      if (isBehind(options, location)) return UNMIGRATED;
      const known = realms.get(location.id);
      if (known !== undefined) return known;
      const pool = bounded(location, options.realmMax ?? REALM_MAX, "realm");
      realms.set(location.id, pool);
      return pool;
    },
    working(location) {
      if (isBehind(options, location)) return UNMIGRATED;
      const known = works.get(location.id);
      if (known !== undefined) return known;
      const pool = bounded(asWorker(location), options.realmMax ?? REALM_MAX, "worker");
      works.set(location.id, pool);
      return pool;
    },
    sharedPool(location) {
      if (isBehind(options, location)) return UNMIGRATED;
      const known = watches.get(location.id);
      if (known !== undefined) return known;
      const pool = isShared(location) ? actingAs(watch, asWorker(location)) : elsewhere(location);
      watches.set(location.id, pool);
      return pool;
    },
    postingPool: (of) => isBehind(options, of) ? UNMIGRATED : bounded(of, 1, "posting"),
    owner: (location) => ownerOf(options, location),
    logins: options.logins,
    taken: quota.taken,
    async close() {
      quota.close();
      await Promise.all([...alive].map((sql) => sql.end({ timeout: 5 })));
    },
  };
}

/** Gives the settings that each transaction states; connections of our own keep theirs. */
function saidBy({ prepare }: DatabaseOptions, as: Session): string {
  return prepare ? "" : settingsOf(as);
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

/**
 * Gives shared connections, acting as one realm for the length of a transaction: work that runs in all
 * realms must not open a connection to each of them.
 */
export function actingAs(shared: Pool, location: RealmLocation): Pool {
  const role = location.role === null ? "" : `set local role "${location.role}";`;
  const settings =
    `${shared.settings} ${role} set local search_path to "${location.schema}", pg_temp;`;
  return {
    get sql() {
      return shared.sql;
    },
    settings,
    enter: shared.enter,
    renew: shared.renew,
  };
}

/** The name of the role of a realm's workers. */
export function workerRole(role: string): string {
  return `${role}_worker`;
}

function asWorker(location: RealmLocation): RealmLocation {
  return { ...location, role: location.role === null ? null : workerRole(location.role) };
}

/** Whether the role of the shared pool may read this realm. */
function isShared({ encryptedUrl, role }: RealmLocation): boolean {
  return encryptedUrl === null && role !== null;
}

const PLATFORM: Session = { searchPath: '"platform"', role: null, location: null, name: "api" };
const WATCH: Session = { searchPath: "pg_catalog", role: null, location: null, name: "watch" };

function sessionOf(location: RealmLocation, name: string): Session {
  // Temporary tables come last, so that they never stand for the realm's own.
  return { searchPath: `"${location.schema}", pg_temp`, role: location.role, location, name };
}

/** A pool that is outside the quota. */
function unbounded(settings: string, open: () => Sql, alive: Set<Sql>): Pool {
  let current = open();
  return {
    get sql() {
      return current;
    },
    settings,
    enter: () => FREE,
    renew(sql, free) {
      if (sql !== current) return;
      current = open();
      retire(sql, alive, free);
    },
  };
}

/** Ends replaced connections: when they are unused, or after a short wait for running statements. */
function retire(sql: Sql, alive: Set<Sql>, free?: Promise<unknown>): void {
  const end = () => sql.end({ timeout: free === undefined ? 5 : 0 });
  (free === undefined ? end() : free.then(end)).catch(() => {}).finally(() => alive.delete(sql));
}

const FREE = Promise.resolve(() => {});

function isBehind(options: DatabaseOptions, location: RealmLocation): boolean {
  return location.schemaVersion < (options.schemaVersion ?? 0);
}

/** The pool of a realm that waits for its migration: every use fails. */
const UNMIGRATED: Pool = {
  get sql(): Sql {
    throw new Contention("the realm is being migrated");
  },
  settings: "",
  enter: () => Promise.reject(new Contention("the realm is being migrated")),
  renew() {},
};

/** Opens a pool that gets and loses its connections under the quota. */
function underQuota(
  quota: Quota,
  of: { open: (size: number) => Sql; alive: Set<Sql>; max: number; settings: string },
): Pool {
  let current: Sql | null = null;
  const { enter } = quota.admit({
    max: of.max,
    open(size) {
      current ??= of.open(size);
    },
    async close() {
      const last = current;
      current = null;
      if (last === null) return;
      await last.end({ timeout: 5 });
      of.alive.delete(last);
    },
  });
  return {
    get sql() {
      return current ??= of.open(of.max);
    },
    settings: of.settings,
    enter,
    renew(sql, free) {
      if (sql !== current) return;
      current = null;
      retire(sql, of.alive, free);
    },
  };
}

/** Gives the login of a session; null: that of the address. */
function loginOf(options: DatabaseOptions, { role, location }: Session): Login | null {
  if (role === null || location === null || !options.prepare) return null;
  const passwordOf = passwordsOf(location, options.logins);
  return passwordOf === null ? null : { role, password: passwordOf(role) };
}

function urlOf(options: DatabaseOptions, location: RealmLocation): string {
  if (location.encryptedUrl === null) return options.url;
  const url = options.decryptUrl?.(location.encryptedUrl, location.id) ?? null;
  if (url !== null) return url;
  throw new Error(`the address of realm ${location.id}'s database was encrypted under another key`);
}
