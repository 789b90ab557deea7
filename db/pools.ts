/**
 * Parts of pools: their sessions and logins, with and without a quota, and connections that act as a
 * realm for the length of a transaction.
 * @module
 */
import type { Login } from "./connections.ts";
import type { Quota } from "./connection_quota.ts";
import type { DatabaseOptions, Pool, RealmLocation, Sql } from "./pool_types.ts";
import { passwordsOf } from "./realm_logins.ts";
import { type Session as AnySession, settingsOf } from "./session_settings.ts";

/** A session with the database, of a realm or of the platform. */
export type Session = AnySession<RealmLocation>;

/** Connections that all realms of the platform's database share. */
export const WATCH: Session = {
  searchPath: "pg_catalog",
  role: null,
  location: null,
  name: "watch",
};

/** Names the server of an address: its host and port. */
export function serverOf(url: string): string {
  const { hostname, port } = new URL(url);
  return `${hostname || "localhost"}:${port || "5432"}`;
}

/** Gives the settings that each transaction states; connections of our own keep theirs. */
export function saidBy({ prepare }: DatabaseOptions, as: Session): string {
  return prepare ? "" : settingsOf(as);
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

/** The location of a realm as its workers see it. */
export function asWorker(location: RealmLocation): RealmLocation {
  return { ...location, role: location.role === null ? null : workerRole(location.role) };
}

/** The session of a realm's connections. */
export function sessionOf(location: RealmLocation, name: string): Session {
  // Temporary tables come last, so that they never stand for the realm's own.
  return { searchPath: `"${location.schema}", pg_temp`, role: location.role, location, name };
}

/** Opens a pool that is outside the quota. */
export function unbounded(settings: string, open: () => Sql, alive: Set<Sql>): Pool {
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

/** Gives the login of a session; null: that of the address. */
export function loginOf(options: DatabaseOptions, { role, location }: Session): Login | null {
  if (role === null || location === null || !options.prepare) return null;
  const passwordOf = passwordsOf(location, options.logins);
  return passwordOf === null ? null : { role, password: passwordOf(role) };
}

/**
 * Gives the address of a realm's database.
 *
 * @throws {Error} if it was encrypted under another key
 */
export function urlOf(options: DatabaseOptions, location: RealmLocation): string {
  if (location.encryptedUrl === null) return options.url;
  const url = options.decryptUrl?.(location.encryptedUrl, location.id) ?? null;
  if (url !== null) return url;
  throw new Error(`the address of realm ${location.id}'s database was encrypted under another key`);
}

/** Opens a pool that gets and loses its connections under the quota. */
export function underQuota(
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
    leave() {
      if (current !== null) retire(current, of.alive);
      current = null;
    },
  };
}
