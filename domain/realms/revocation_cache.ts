/**
 * The revocation cache of a realm: its row, its revoked keys and the grants of its machine keys, as of at
 * most a second ago. One refresh of the process serves all requests that need one.
 * @module
 */
import type { Database, Pool } from "../../db/database.ts";
import { type RealmRow, selectRealm } from "../../db/realms/realms.ts";
import {
  type Revocations,
  type RevocationsRead,
  selectRevocations,
} from "../../db/security/sessions.ts";
import { Contention } from "../../db/errors.ts";
import { reading } from "../../db/transaction.ts";
import { idTime } from "../ids.ts";
import type { Claims } from "../security/user_keys.ts";
import { type ApiKeyCache, openApiKeyCache } from "./api_key_cache.ts";
import { locationOf } from "./realm_locations.ts";

/** A process's knowledge of a realm's revocations. */
export interface RevocationCache {
  /** The realm's row as of the last refresh. */
  row(): RealmRow;
  readonly apiKeys: ApiKeyCache;
  /** The later of a process's time and the database's, as of the last refresh. */
  time(at: number): number;
  /** Whether a key was revoked, or its realm restored after it was given, as of the last refresh. */
  isRevoked(claims: Claims): boolean;
  /** Gives the result of `read` once the cache is at most a second old. */
  whenFresh<T>(read: () => T): T | Promise<T>;
  /**
   * Gives it once revocations and grants are at most a second old. The realm's own database is asked alone: a
   * transaction may wait for that, and not for the platform's, which may be away.
   */
  whenOwnFresh<T>(read: () => T): T | Promise<T>;
  /** Reads row, revocations and grants again; joins the refresh that runs. */
  refresh(): Promise<void>;
  /** Makes the next use wait for a refresh that begins after this call. */
  invalidate(): void;
}

/** Fresh: used. Stale: used, and refreshed meanwhile. Expired: not used before a refresh has ended. */
type Freshness = "fresh" | "stale" | "expired";

/** Ages from which a cache is stale, and expired. */
const STALE_MS = 500;
const EXPIRED_MS = 1000;

/** Keys that were revoked, one by one or all of a user up to a time. */
interface Revoked {
  /** When each revoked key expires by itself, by its id. */
  readonly keys: Map<string, number>;
  readonly users: Map<string, { before: number; expiresAt: number }>;
  /** Up to where revocations were read, in a place: numbers of transactions mean nothing in another one. */
  read: RevocationsRead | null;
  place: number;
}

/** Opens the cache of a realm; nothing but its row is known before it is first used. */
export function openRevocationCache(
  database: Database,
  first: RealmRow,
  now: () => number,
): RevocationCache {
  const known = { row: first, refreshedAt: 0, generation: 0 };
  // Shared connections, because the realm's own may be busy with slow statements.
  const shared = () => database.sharedPool(locationOf(known.row));
  const pool = () => database.realm(locationOf(known.row));
  const apiKeys = openApiKeyCache({ watch: shared, pool });
  const own = openOwn(shared, apiKeys, now);

  async function readRow(): Promise<RealmRow | null> {
    const read = () => reading(database.platform, (db) => selectRealm(db, first.id));
    for (let again = false;; again = true) {
      const place = shared().place ?? 0;
      const row = await read();
      if (row === null || row.place >= place) return row;
      // A number only grows. One that was read before the realm moved is read again; else the directory has lost a move,
      // and another process may work in the place that the realm has left.
      if (again) throw behind(first.id);
    }
  }

  const all = sharedReading(async () => {
    const startedAt = now();
    const { generation } = known;
    own.forget(); // what runs began before this
    const reads = own.refresh();
    const row = await readRow();
    if (row !== null) known.row = row; // also where the realm's own database is away
    await reads;
    if (own.isElsewhere()) await own.refresh(); // the realm has moved meanwhile
    // A refresh that began before an invalidation may have missed its cause.
    if (generation === known.generation) known.refreshedAt = startedAt;
  });
  return {
    ...{ apiKeys, refresh: all.run },
    row: () => known.row,
    time: (at) => at + own.clockLagMs(),
    isRevoked: (claims) => claims.epoch !== known.row.login_epoch || own.isRevoked(claims),
    whenFresh: (read) => whenFresh(now() - known.refreshedAt, all.run, read),
    whenOwnFresh: (read) => whenFresh(now() - own.readAt(), own.refresh, read),
    invalidate() {
      known.generation++;
      known.refreshedAt = 0;
      all.forget();
      own.invalidate();
    },
  };
}

/** What the realm's own database knows: revocations, grants and its time. */
function openOwn(shared: () => Pool, apiKeys: ApiKeyCache, now: () => number) {
  const revoked: Revoked = { keys: new Map(), users: new Map(), read: null, place: -1 };
  const known = { clockLagMs: 0, readAt: 0, generation: 0 };
  const placeNow = () => shared().place ?? 0;

  /** Reads the revocations where the realm lives: all of them, in a place that was not read before. */
  async function readHere(): Promise<{ place: number; news: Revocations }> {
    const pool = shared();
    const place = pool.place ?? 0;
    const before = place === revoked.place ? revoked.read : null;
    return { place, news: await reading(pool, (db) => selectRevocations(db, before)) };
  }
  const { run, forget } = sharedReading(async () => {
    const startedAt = now();
    const { generation } = known;
    let { place, news } = await readHere();
    while (placeNow() !== place) ({ place, news } = await readHere()); // the realm has moved meanwhile
    await apiKeys.refresh();
    known.clockLagMs = Math.max(0, news.at - now());
    addRevocations(revoked, news);
    revoked.place = place;
    if (generation === known.generation) known.readAt = startedAt;
  });
  return {
    ...{ refresh: run, forget },
    isRevoked: (claims: Claims) => isRevoked(revoked, claims),
    isElsewhere: () => placeNow() !== revoked.place,
    readAt: () => known.readAt,
    clockLagMs: () => known.clockLagMs,
    invalidate() {
      known.generation++;
      known.readAt = 0;
      forget();
    },
  };
}

/** A reading that its callers join while it runs, unless it is forgotten. */
function sharedReading(read: () => Promise<void>): { run(): Promise<void>; forget(): void } {
  let current: Promise<void> | null = null;
  return {
    run() {
      if (current !== null) return current;
      const running: Promise<void> = read().finally(() => {
        if (current === running) current = null;
      });
      running.catch(() => {}); // a caller that waits for it sees the failure
      return current = running;
    },
    forget: () => void (current = null),
  };
}

/** Gives the result of `read`: at once, beside a refresh, or after it. */
function whenFresh<T>(
  ageMs: number,
  refresh: () => Promise<void>,
  read: () => T,
): T | Promise<T> {
  const freshness = freshnessOf(ageMs);
  if (freshness === "fresh") return read();
  const refreshed = refresh();
  return freshness === "stale" ? read() : refreshed.then(read);
}

/** A negative age means that the clock was set back; it counts as too old. */
function freshnessOf(ageMs: number): Freshness {
  const age = Math.abs(ageMs);
  if (age < STALE_MS) return "fresh";
  return age < EXPIRED_MS ? "stale" : "expired";
}

function isRevoked({ keys, users }: Revoked, { jti, user }: Claims): boolean {
  return keys.has(jti) || idTime(jti) <= (users.get(user)?.before ?? -1);
}

/** Adds revocations, and forgets those of keys that have expired by the database's clock. */
function addRevocations(revoked: Revoked, { rows, at, horizon, server }: Revocations): void {
  const { keys, users } = revoked;
  revoked.read = { horizon, server };
  for (const row of rows) {
    if (row.jti !== null) keys.set(row.jti, row.expires_at);
    else {
      const before = Math.max(row.issued_before!, users.get(row.user_id)?.before ?? 0);
      users.set(row.user_id, { before, expiresAt: row.expires_at });
    }
  }
  for (const [jti, expiresAt] of keys) if (expiresAt < at) keys.delete(jti);
  for (const [user, { expiresAt }] of users) if (expiresAt < at) users.delete(user);
}

function behind(realm: string): Contention {
  return new Contention(
    "the directory names an older place of this realm than it did, so it has lost a move: run" +
      ` \`deno task realm move ${realm} --repair\``,
  );
}
