/**
 * The realms in use of a process. A context holds a realm's row, pool and posting queue, the unchanging
 * fields of its accounts, and its revocation cache. All of it can be lost and read again.
 * @module
 */
import type { Database, Pool, RealmLocation } from "../../db/database.ts";
import type { AccountSummary } from "../../db/accounts/account_lookup.ts";
import {
  openPostingQueue,
  type PostingQueue,
  type PostingQueueOptions,
} from "../../db/ledger/posting_queue.ts";
import { type RealmRow, selectRealm } from "../../db/realms/realms.ts";
import { reading } from "../../db/transaction.ts";
import type { Actor, RealmDefaults } from "../actor.ts";
import type { ApiKeyGrant } from "../identity/api_keys.ts";
import { isId } from "../ids.ts";
import { locationOf } from "./realm_locations.ts";
import { openLoginUses } from "./login_uses.ts";
import { openReadNotes, type ReadSubject } from "./read_notes.ts";
import { openRealmReplica, type RealmReplica } from "./replica_reads.ts";
import { openRevocationCache, type RevocationCache } from "./revocation_cache.ts";
import type { Claims } from "../security/user_keys.ts";
import type { AccountCache } from "../ledger/transactions.ts";
import { linkedAddresses, linkedPerDay, unusedAddresses } from "../chain_settings.ts";
import { customerMessagesPerDay } from "../message_settings.ts";
import { eventDays } from "../event_settings.ts";
import { withdrawalSettings } from "../withdrawal_settings.ts";

/** A realm in use. */
export interface RealmContext {
  readonly id: string;
  readonly location: RealmLocation;
  readonly pool: Pool;
  /** Answers reads that may lag; null where there is none. */
  readonly replica: RealmReplica | null;
  /** The row as of the last refresh. */
  row(): RealmRow;
  defaults(): RealmDefaults;
  queue(): PostingQueue;
  accountCache: AccountCache;
  /** The later of the process's time and the database's last known time, by which keys expire. */
  time(at: number): number;
  /** Whether a key was revoked; knows of revocations at most a second old. */
  isRevoked(claims: Claims): boolean | Promise<boolean>;
  /** The grants of a machine key, as of at most a second ago; null if there is none. */
  grantOf(key: string): ApiKeyGrant | null | Promise<ApiKeyGrant | null>;
  /** Answers the same, and asks the realm's own database alone. */
  readonly own: Pick<RealmContext, "isRevoked" | "grantOf">;
  /** Whether the grants of a key are cached. */
  knowsKey(key: string): boolean;
  /** Records that a key was used. */
  noteUse(grant: ApiKeyGrant, at: number): void;
  /** Records that a login's key was used. */
  noteLogin(claims: Claims, at: number): void;
  /** Notes in the audit trail whom an actor read about. */
  noteRead(actor: Actor, subject: ReadSubject): void;
  /** Makes the next use of revocations, or of the row, wait for a refresh. */
  refresh(): void;
}

/** The realms in use. */
export interface RealmContexts {
  find(id: string): RealmContext | Promise<RealmContext | null>;
  /** A realm that is in use here; undefined otherwise. */
  peek(id: string): RealmContext | undefined;
  /** Posting queues that are open, for measurement. */
  queues(): PostingQueue[];
  /** Whether the transfers of a realm crowd this process, so that other work does well to wait. */
  isCrowded(): boolean;
}

const CONTEXTS_MAX = 2000;
const FACTS_MAX = 200_000;

/** How many realms are held, and how their posting queues work. */
export interface RealmContextsOptions {
  contextsMax?: number;
  queues?: PostingQueueOptions;
}

/** Prepares the realms in use; none is read before it is asked for. */
export function openRealmContexts(
  database: Database,
  now: () => number,
  options: RealmContextsOptions = {},
): RealmContexts {
  const { contextsMax = CONTEXTS_MAX } = options;
  const contexts = new Map<string, RealmContext>(); // the longest unused first
  let last: RealmContext | undefined; // the one used last, which needs no new place
  const queues = new Map<string, PostingQueue>(); // one per realm, also while its context is forgotten
  const queueOf = (id: string, locate: () => RealmLocation) => {
    const open = queues.get(id);
    if (open !== undefined) return open;
    const queue = openPostingQueue(database.postingPool(locate()), options.queues);
    queues.set(id, queue);
    return queue;
  };
  async function load(id: string): Promise<RealmContext | null> {
    const row = isId(id) ? await reading(database.platform, (db) => selectRealm(db, id)) : null;
    if (row === null) return null;
    const existing = contexts.get(id);
    if (existing !== undefined) return existing;
    const context = createContext(database, row, now, queueOf);
    if (contexts.size >= contextsMax) contexts.delete(contexts.keys().next().value!);
    contexts.set(id, context);
    return last = context;
  }
  function find(id: string): RealmContext | Promise<RealmContext | null> {
    const context = contexts.get(id);
    if (context === undefined) return load(id);
    if (context === last) return context;
    contexts.delete(id);
    contexts.set(id, context);
    return last = context;
  }
  return {
    ...{ find, peek: (id) => contexts.get(id), queues: () => [...queues.values()] },
    isCrowded: () => queues.values().some((queue) => queue.isCrowded()),
  };
}

function createContext(
  database: Database,
  first: RealmRow,
  now: () => number,
  queueOf: (id: string, locate: () => RealmLocation) => PostingQueue,
): RealmContext {
  const cache = openRevocationCache(database, first, now);
  /** What follows from the row: each request asks several times, and a row stays until it is read again. */
  const facts = (of: RealmRow) => {
    const location = locationOf(of);
    return { of, location, pool: database.realm(location), defaults: defaultsOf(of) };
  };
  let last = facts(first);
  const present = () => {
    const row = cache.row();
    return last.of === row ? last : last = facts(row);
  };
  const locate = () => present().location;
  const noteLogin = openLoginUses(() => database.realm(locate()));
  return {
    id: first.id,
    get location() {
      return locate();
    },
    get pool() {
      return present().pool;
    },
    replica: openRealmReplica(database, first.id, locate),
    row: cache.row,
    defaults: () => present().defaults,
    queue: () => queueOf(first.id, locate),
    accountCache: openAccountCache(),
    time: cache.time,
    ...answersOf(cache, cache.whenFresh),
    own: answersOf(cache, cache.whenOwnFresh),
    knowsKey: (key) => cache.apiKeys.known(key) !== undefined,
    noteUse: (grant, at) => cache.apiKeys.used(grant, at),
    noteLogin: ({ jti }, at) => noteLogin(jti, at),
    noteRead: openReadNotes(() => database.realm(locate())),
    refresh: () => cache.invalidate(),
  };
}

/** What a realm tells of keys, once `fresh` says that it is known. */
function answersOf(
  cache: RevocationCache,
  fresh: RevocationCache["whenFresh"],
): RealmContext["own"] {
  return {
    isRevoked: (claims) => fresh(() => cache.isRevoked(claims)),
    grantOf(key) {
      const grant = fresh(() => cache.apiKeys.known(key));
      if (grant instanceof Promise) return grant.then((read) => read ?? cache.apiKeys.load(key));
      return grant ?? cache.apiKeys.load(key);
    },
  };
}

function defaultsOf({ id, country, accounting_currency, settings }: RealmRow): RealmDefaults {
  return {
    ...{ id, country },
    accountingCurrency: accounting_currency,
    withdrawals: withdrawalSettings(settings),
    linkedPerDay: linkedPerDay(settings),
    unusedAddresses: unusedAddresses(settings),
    linkedAddresses: linkedAddresses(settings),
    customerMessagesPerDay: customerMessagesPerDay(settings),
    eventDays: eventDays(settings),
  };
}

function openAccountCache(): AccountCache {
  const facts = new Map<string, AccountSummary>();
  return {
    get: (id) => facts.get(id),
    set(id, value) {
      if (facts.size >= FACTS_MAX) facts.delete(facts.keys().next().value!);
      facts.set(id, value);
    },
  };
}
