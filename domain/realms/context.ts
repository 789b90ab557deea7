/**
 * What this process keeps at hand of each realm in use: its row, its pool, its queue, the unchanging
 * facts of its accounts and its revoked keys. All of it can be lost and read again.
 * @module
 */
import type { Database, Pool, RealmLocation } from "../../db/database.ts";
import type { AccountSummary } from "../../db/accounts/account_lookup.ts";
import { openPostingQueue, type PostingQueue } from "../../db/ledger/posting_queue.ts";
import { type RealmRow, selectRealm } from "../../db/realms/realms.ts";
import { selectRevocations } from "../../db/security/sessions.ts";
import { reading } from "../../db/transaction.ts";
import type { RealmDefaults } from "../actor.ts";
import { type ApiKeyGrant, type ApiKeyMemory, openApiKeyMemory } from "../identity/api_keys.ts";
import { idTime, isId } from "../ids.ts";
import { openLoginUses } from "../identity/logins.ts";
import { locationOf } from "./realms.ts";
import type { Claims } from "../security/user_keys.ts";
import type { AccountCache } from "../ledger/transactions.ts";
import { withdrawalSettings } from "../withdrawal_settings.ts";

/** A realm in use. */
export interface RealmContext {
  readonly id: string;
  readonly location: RealmLocation;
  readonly pool: Pool;
  /** The row as of at most a second ago. */
  row(): RealmRow;
  defaults(): RealmDefaults;
  queue(): PostingQueue;
  accountCache: AccountCache;
  /** The later of a process's time and the database's, as far as it was told: keys end by the latter. */
  time(at: number): number;
  /** Whether a key was revoked; knows of revocations at most a second old. */
  isRevoked(claims: Claims): boolean | Promise<boolean>;
  /** What a key of a machine grants, as of at most a second ago; null where there is none. */
  grantOf(key: string): ApiKeyGrant | null | Promise<ApiKeyGrant | null>;
  /** Whether what a key grants is known here already. */
  knowsKey(key: string): boolean;
  /** Notes that a key was used. */
  noteUse(grant: ApiKeyGrant, at: number): void;
  /** Notes that a login's key was used. */
  noteLogin(claims: Claims, at: number): void;
  /** Makes the next look at revocations and at the row a fresh one. */
  refresh(): void;
}

/** The realms in use. */
export interface RealmContexts {
  find(id: string): RealmContext | Promise<RealmContext | null>;
  /** A realm that is in use here; undefined otherwise. */
  peek(id: string): RealmContext | undefined;
  /** Lanes that are open, for measurement. */
  queues(): PostingQueue[];
}

const CONTEXTS_MAX = 2000;
const FACTS_MAX = 200_000;
/** From this age on, what is known is read again while it is still being used. */
const STALE_MS = 500;
/** From this age on, it is not used any more. */
const EXPIRED_MS = 1000;

/** Prepares the realms in use; none is read before it is asked for. */
export function openRealmContexts(
  database: Database,
  now: () => number,
  contextsMax = CONTEXTS_MAX,
): RealmContexts {
  const contexts = new Map<string, RealmContext>(); // the longest unused first
  const queues = new Map<string, PostingQueue>(); // one per realm, also while its context is forgotten
  async function load(id: string): Promise<RealmContext | null> {
    const row = isId(id) ? await reading(database.platform, (db) => selectRealm(db, id)) : null;
    if (row === null) return null;
    const existing = contexts.get(id);
    if (existing !== undefined) return existing;
    const context = createContext(database, row, now, queues);
    if (contexts.size >= contextsMax) contexts.delete(contexts.keys().next().value!);
    contexts.set(id, context);
    return context;
  }
  function find(id: string): RealmContext | Promise<RealmContext | null> {
    const context = contexts.get(id);
    if (context === undefined) return load(id);
    contexts.delete(id);
    contexts.set(id, context);
    return context;
  }
  return { find, peek: (id) => contexts.get(id), queues: () => [...queues.values()] };
}

function createContext(
  database: Database,
  first: RealmRow,
  now: () => number,
  queues: Map<string, PostingQueue>,
): RealmContext {
  const known = watch(database, first, now);
  const noteLogin = openLoginUses(() => database.realm(locationOf(known.row)));
  return {
    id: first.id,
    get location() {
      return locationOf(known.row);
    },
    get pool() {
      return database.realm(locationOf(known.row));
    },
    row: () => known.row,
    defaults: () => ({
      id: first.id,
      country: known.row.country,
      accountingCurrency: known.row.accounting_currency,
      withdrawals: withdrawalSettings(known.row.settings),
    }),
    queue() {
      const open = queues.get(first.id);
      if (open !== undefined) return open;
      const pool = database.postingPool(locationOf(known.row));
      const queue = openPostingQueue(pool);
      queues.set(first.id, queue);
      return queue;
    },
    accountCache: createMemory(),
    time: (at) => known.time(at),
    isRevoked: (claims) => known.freshly(() => known.holds(claims)),
    grantOf(key) {
      const grant = known.freshly(() => known.apiKeys.known(key));
      if (grant instanceof Promise) return grant.then((read) => read ?? known.apiKeys.load(key));
      return grant ?? known.apiKeys.load(key);
    },
    knowsKey: (key) => known.apiKeys.known(key) !== undefined,
    noteUse: (grant, at) => known.apiKeys.used(grant, at),
    noteLogin: ({ jti }, at) => noteLogin(jti, at),
    refresh: () => known.expire(),
  };
}

function createMemory(): AccountCache {
  const facts = new Map<string, AccountSummary>();
  return {
    get: (id) => facts.get(id),
    set(id, value) {
      if (facts.size >= FACTS_MAX) facts.delete(facts.keys().next().value!);
      facts.set(id, value);
    },
  };
}

interface Known {
  row: RealmRow;
  freshAt: number;
  time(at: number): number;
  holds(claims: Claims): boolean;
  apiKeys: ApiKeyMemory;
  /** Says what is known, as of at most a second ago. */
  freshly<T>(say: () => T): T | Promise<T>;
  refresh(): Promise<void>;
  expire(): void;
}

/** Follows a realm's row and revocations, by one look of the process for all its requests. */
function watch(database: Database, row: RealmRow, now: () => number): Known {
  const keys = new Map<string, number>(); // jti → when it expires by itself
  const users = new Map<string, { before: number; expiresAt: number }>();
  let horizon: string | null = null;
  let running: Promise<void> | null = null;
  let expired = 0;
  let behind = 0; // milliseconds that this process's clock is behind the database's

  async function look(): Promise<void> {
    const startedAt = now();
    const before = expired;
    const revocations = reading(
      database.sharedPool(locationOf(known.row)), // not behind the realm's own slow statements
      (db) => selectRevocations(db, horizon),
    );
    revocations.catch(() => {}); // awaited below, after the row
    const current = await reading(database.platform, (db) => selectRealm(db, row.id));
    if (current !== null) known.row = current; // also where the realm itself is away
    const news = await revocations;
    await known.apiKeys.refresh();
    horizon = news.horizon;
    behind = Math.max(0, news.at - now());
    for (const revoked of news.rows) {
      if (revoked.jti !== null) keys.set(revoked.jti, revoked.expires_at);
      else {
        const before = Math.max(revoked.issued_before!, users.get(revoked.user_id)?.before ?? 0);
        users.set(revoked.user_id, { before, expiresAt: revoked.expires_at });
      }
    }
    // By the database's clock: of what is forgotten here, nothing is read again.
    for (const [jti, expiresAt] of keys) if (expiresAt < news.at) keys.delete(jti);
    for (const [user, { expiresAt }] of users) if (expiresAt < news.at) users.delete(user);
    if (before === expired) known.freshAt = startedAt; // else it began before what must be seen
  }

  const known: Known = {
    row,
    freshAt: 0,
    time: (at) => at + behind,
    holds: (claims) =>
      keys.has(claims.jti) || idTime(claims.jti) <= (users.get(claims.user)?.before ?? -1),
    apiKeys: openApiKeyMemory({
      watch: () => database.sharedPool(locationOf(known.row)),
      pool: () => database.realm(locationOf(known.row)),
    }),
    freshly(say) {
      const age = Math.abs(now() - known.freshAt); // a clock that was set back tells no age
      if (age < STALE_MS) return say();
      const refreshed = known.refresh();
      return age < EXPIRED_MS ? say() : refreshed.then(say);
    },
    refresh() {
      if (running !== null) return running;
      const mine: Promise<void> = look().finally(() => {
        if (running === mine) running = null;
      });
      mine.catch(() => {}); // whoever must wait for it sees the failure
      return running = mine;
    },
    expire() {
      expired++;
      known.freshAt = 0;
      running = null;
    },
  };
  return known;
}
