/** The keys for machines of a realm that are in use in a process. @module */
import type { Pool } from "../../db/database.ts";
import { markUsed, selectGrant, selectGrants } from "../../db/identity/api_keys.ts";
import { reading, writing } from "../../db/transaction.ts";
import { apiKeyDigest, type ApiKeyGrant, grantOf } from "../identity/api_keys.ts";

/** Cache of a realm's machine keys in this process. */
export interface ApiKeyCache {
  /** The rights of a key, as last read; undefined if the key is not cached. */
  known(key: string): ApiKeyGrant | undefined;
  /** Reads the rights of a key; null if there is none. An ended key is not cached. */
  load(key: string): Promise<ApiKeyGrant | null>;
  /** Reads the cached keys again. */
  refresh(): Promise<void>;
  /** Records a use; the time is written at most once a minute. */
  used(grant: ApiKeyGrant, at: number): void;
}

const KNOWN_MAX = 1000;
const USE_NOTED_MS = 60_000;
/** Times that a key is read while refreshes begin beside it; the last answer is not cached. */
const TRIES_MAX = 3;

/**
 * Opens the cache of a realm's keys.
 *
 * @param pools `watch` runs reads that must not wait behind the realm's own statements
 * @param knownMax keys that are cached; one more drives out the oldest
 */
export function openApiKeyCache(
  pools: { watch: () => Pool; pool: () => Pool },
  knownMax = KNOWN_MAX,
): ApiKeyCache {
  const grants = new Map<string, ApiKeyGrant>(); // by digest
  const notedAt = new Map<string, number>();
  let reads = 0;
  let taken = 0;
  return {
    known: (key) => grants.get(apiKeyDigest(key)),
    async load(key) {
      const digest = apiKeyDigest(key);
      const bytes = Uint8Array.fromHex(digest);
      for (let tries = 1;; tries++) {
        const before = reads;
        const row = await reading(pools.watch(), (db) => selectGrant(db, bytes));
        if (row === null) return null;
        const grant = grantOf(row);
        if (!grant.alive) return grant;
        if (reads === before) {
          if (grants.size >= knownMax) grants.delete(grants.keys().next().value!);
          grants.set(digest, grant);
          return grant;
        }
        // A refresh that began meanwhile did not ask for this key: what ended it may be younger than this answer.
        if (tries >= TRIES_MAX) return grant;
      }
    },
    async refresh() {
      const read = ++reads;
      if (grants.size === 0) return;
      const asked = new Map([...grants].map(([digest, { id }]) => [id, digest]));
      const rows = await reading(pools.watch(), (db) => selectGrants(db, [...asked.keys()]));
      if (read < taken) return; // a newer reading has been stored
      taken = read;
      const alive = new Map(rows.map((row) => [row.id, row]));
      for (const [id, digest] of asked) {
        const row = alive.get(id);
        if (row === undefined) grants.delete(digest);
        else if (grants.has(digest)) grants.set(digest, grantOf(row)); // unless it gave way to another meanwhile
      }
    },
    used({ id }, at) {
      if (at - (notedAt.get(id) ?? 0) < USE_NOTED_MS) return;
      if (notedAt.size >= KNOWN_MAX) notedAt.delete(notedAt.keys().next().value!);
      notedAt.set(id, at);
      // No caller waits for this write; a lost one is made up a minute later.
      writing(pools.pool(), (db) => markUsed(db, [id], at)).catch(() => {});
    },
  };
}
