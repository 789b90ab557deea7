/**
 * The revocation cache of a realm: its row, its revoked keys and the grants of its machine keys, as of at
 * most a second ago. One refresh of the process serves all requests that need one.
 * @module
 */
import type { Database } from "../../db/database.ts";
import { type RealmRow, selectRealm } from "../../db/realms/realms.ts";
import { selectRevocations } from "../../db/security/sessions.ts";
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
  /** Whether a key was revoked as of the last refresh. */
  isRevoked(claims: Claims): boolean;
  /** Gives the result of `read` once the cache is at most a second old. */
  whenFresh<T>(read: () => T): T | Promise<T>;
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
  horizon: string | null;
  place: number;
}

type News = Awaited<ReturnType<typeof selectRevocations>>;

/** Opens the cache of a realm; nothing but its row is known before it is first used. */
export function openRevocationCache(
  database: Database,
  first: RealmRow,
  now: () => number,
): RevocationCache {
  const revoked: Revoked = { keys: new Map(), users: new Map(), horizon: null, place: -1 };
  const known = { row: first, clockLagMs: 0, refreshedAt: 0 };
  const refreshing: { current: Promise<void> | null; generation: number } = {
    current: null,
    generation: 0,
  };
  // Shared connections, because the realm's own may be busy with slow statements.
  const shared = () => database.sharedPool(locationOf(known.row));
  const pool = () => database.realm(locationOf(known.row));
  const apiKeys = openApiKeyCache({ watch: shared, pool });

  /** Reads the revocations where the realm lives: all of them, in a place that was not read before. */
  function readHere(): [place: number, Promise<News>] {
    const pool = shared();
    const place = pool.place ?? 0;
    const horizon = place === revoked.place ? revoked.horizon : null;
    const reads = reading(pool, (db) => selectRevocations(db, horizon));
    reads.catch(() => {}); // awaited after the row
    return [place, reads];
  }
  async function read(): Promise<void> {
    const startedAt = now();
    const { generation } = refreshing;
    let [place, reads] = readHere();
    const row = await reading(database.platform, (db) => selectRealm(db, first.id));
    if (row !== null) known.row = row; // also where the realm's own database is away
    let news = await reads;
    while ((shared().place ?? 0) !== place) { // the realm has moved meanwhile
      [place, reads] = readHere();
      news = await reads;
    }
    await apiKeys.refresh();
    known.clockLagMs = Math.max(0, news.at - now());
    addRevocations(revoked, news);
    revoked.place = place;
    // A refresh that began before an invalidation may have missed its cause.
    if (generation === refreshing.generation) known.refreshedAt = startedAt;
  }
  function refresh(): Promise<void> {
    if (refreshing.current !== null) return refreshing.current;
    const current: Promise<void> = read().finally(() => {
      if (refreshing.current === current) refreshing.current = null;
    });
    current.catch(() => {}); // a caller that waits for it sees the failure
    return refreshing.current = current;
  }
  return {
    ...{ apiKeys, refresh },
    row: () => known.row,
    time: (at) => at + known.clockLagMs,
    isRevoked: (claims) => isRevoked(revoked, claims),
    whenFresh(read) {
      const freshness = freshnessOf(now() - known.refreshedAt);
      if (freshness === "fresh") return read();
      const refreshed = refresh();
      return freshness === "stale" ? read() : refreshed.then(read);
    },
    invalidate() {
      refreshing.generation++;
      refreshing.current = null;
      known.refreshedAt = 0;
    },
  };
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
function addRevocations(revoked: Revoked, { rows, at, horizon }: News): void {
  const { keys, users } = revoked;
  revoked.horizon = horizon;
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
