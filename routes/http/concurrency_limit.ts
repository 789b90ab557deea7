/**
 * Concurrency limits: how many requests of a realm are at the database at once, and for how long. A
 * request beyond the limit is answered 503 with retry-after, which bounds memory. The time-out ends
 * requests whose connection was lost without the driver noticing.
 *
 * Customers and those who work for the realm never wait for each other: whatever is done for either, of a pool's
 * connections it leaves one to the other. What may be slow, searches and pages of long answers, has half of the
 * connections at most, and where both ask for it they have every second turn.
 * @module
 */
import { type Actor, reachesRealm } from "../../domain/actor.ts";
import { unanswered } from "../../domain/failures.ts";
import {
  busy,
  type Caller,
  inSharedTurn,
  inTurn,
  type Line,
  lineOf,
  type Lines,
  linesOf,
  makeRoom,
  newLine,
} from "./turns.ts";

const REQUESTS_MAX = 1000;
/** Of these, places that customers, and callers without a key, leave to those who work for the realm or run the service. */
const REQUESTS_OF_HOUSE = 50;
/** Connections of a pool that serves requests (`REALM_MAX` in db/realm_pools.ts). */
const CONNECTIONS = 4;
/** Pieces of work of customers, and of those who work for the realm, that are at a pool at once, of every kind. */
const RUNNING_MAX = CONNECTIONS - 1;
/** Of these, slow ones of both together: quick ones pass beside them. */
const SLOW_MAX = CONNECTIONS / 2;
/** One user has at most so many times as many of them as are free: of 950 760, and the next user 152 more. */
const USER_SHARE = 4;
/**
 * Longer than work may wait for a connection and for the database, so that the database's own answer comes first: it says
 * whether what was asked may have been done.
 */
const DATABASE_TIMEOUT_MS = 90_000;
/** How long work may wait for its turn: as long as a transfer may wait to be posted. */
const TURN_WAIT_MS = 60_000;
/** Searches of customers, and of those who work for the realm, that wait. */
const SEARCHES_WAITING_MAX = 50;
/** Long lists that are read at once: each keeps the process busy, and must leave time for others. */
const LISTS_MAX = 2;
/** Chains of hashes that are recomputed at once, in a realm and in all: each keeps a processor busy for seconds. */
const CHAINS_MAX = 1;
const CHAINS_EVERYWHERE_MAX = 2;
const CHAINS_WAITING_MAX = 20;
/** Requests of a realm's users to the platform's database that run at once, and that wait. */
const PLATFORM_MAX = 1;
const PLATFORM_WAITING_MAX = 20;
/** Single rows that requests of a realm read there before their own work: at once. */
const PLATFORM_READS_MAX = 2;
/** Statements of transfers beside the posting queue that wait, and with them requests. */
const BESIDE_QUEUE_WAITING_MAX = 10_000;

/** Requests that use a pool: all, and those of each user. */
interface Taken {
  all: number;
  users: Map<string, number>;
}

/** Whose work it is: of a user, or of nobody, with the scopes of its key. */
export type Whose = Pick<Actor, "user" | "scopes">;

/** Kinds of work that take turns of their own beside a user's requests. */
type Kind = "request" | "transfer" | "search" | "page";

const taken = new WeakMap<object, Taken>();
const ofHouse = new WeakMap<object, Line>();
const ofCustomers = new WeakMap<object, Line>();

/**
 * Does work that uses a pool, unless too many requests use it already. Of one user there are never so many that those of
 * others find no place, and of customers never so many that those who work for the realm find none. Users take turns, and
 * those who work for the realm do not wait for the turns of customers.
 *
 * Not inside of other such work at the same pool: that would wait for its own turn.
 *
 * @param whose whose work it is; without, it is the service's own
 * @throws {DomainError} service.overloaded: nothing was done
 * @throws {Contention} where the database did not answer in time
 */
export async function withConcurrencyLimit<T>(
  pool: object,
  work: () => Promise<T>,
  whose?: Whose,
): Promise<T> {
  const leave = take(pool, whose);
  try {
    return await (whose === undefined ? inTime(work) : amongOthers(pool, work, whose));
  } finally {
    leave();
  }
}

/**
 * Does work of a user in turns. Its time begins with its turn: the database's answer comes before its end, however long it
 * waited, and work that never ends gives its turn back.
 */
async function amongOthers<T>(
  pool: object,
  work: () => Promise<T>,
  { user, scopes }: Whose,
  kind: Kind = "request",
): Promise<T> {
  const line = lineOf(reachesRealm({ scopes }) ? ofHouse : ofCustomers, pool);
  const whose = kind === "request" ? user : `${kind} ${user}`;
  const timed = () => inTime(work);
  if (line.running < RUNNING_MAX) return await inTurn(line, RUNNING_MAX, timed, { user: whose });
  const waiting = new AbortController();
  const timer = setTimeout(() => waiting.abort(busy("too many requests were ahead")), TURN_WAIT_MS);
  const begin = () => {
    clearTimeout(timer);
    return timed();
  };
  try {
    return await inTurn(line, RUNNING_MAX, begin, { user: whose, signal: waiting.signal });
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Does work that uses the database, and takes no place: what takes turns must not hold one for ever.
 *
 * @throws {Contention} after its time: it may be done yet
 */
export async function inTime<T>(work: () => Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(unanswered()), DATABASE_TIMEOUT_MS);
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Takes the place of a request; the function returned gives it back. @throws {DomainError} service.overloaded */
function take(pool: object, whose?: Whose): () => void {
  const { user } = whose ?? { user: "" };
  const isHouse = whose === undefined || reachesRealm(whose);
  const places = taken.get(pool) ?? { all: 0, users: new Map<string, number>() };
  taken.set(pool, places);
  const free = REQUESTS_MAX - (isHouse ? 0 : REQUESTS_OF_HOUSE) - places.all;
  if (free <= 0) throw busy("too many requests are waiting in this realm");
  if (user === "") {
    places.all++;
    return () => void places.all--;
  }
  const mine = places.users.get(user) ?? 0;
  if (mine >= USER_SHARE * free) throw busy("too many requests of this user are waiting");
  places.all++;
  places.users.set(user, mine + 1);
  return () => {
    places.all--;
    const left = places.users.get(user)! - 1;
    if (left > 0) places.users.set(user, left);
    else places.users.delete(user);
  };
}

const slow = new WeakMap<object, Lines>();
/** Those who wait for a place among slow work, by its kind and by whose it is. */
const slowLines = {
  search: { customers: new WeakMap<object, Line>(), house: new WeakMap<object, Line>() },
  page: { customers: new WeakMap<object, Line>(), house: new WeakMap<object, Line>() },
};
const lists = new WeakMap<object, Line>();
const chains = new WeakMap<object, Line>();
const chainsEverywhere = newLine();
/** By realm, while there are some. */
const platformTurns = new Map<string, Line>();
const platformReads = new Map<string, Line>();

/** A caller with the scopes of its key; without any it is a customer. */
export interface ScopedCaller extends Caller {
  scopes?: Actor["scopes"];
}

/**
 * Does a search, in its turn among slow work of other users, unless its caller leaves before.
 *
 * @throws {DomainError} service.overloaded
 */
export async function searching<T>(
  pool: object,
  work: () => Promise<T>,
  caller: ScopedCaller = {},
): Promise<T> {
  const line = slowLine(pool, "search", caller);
  makeRoom(line, caller, SEARCHES_WAITING_MAX, "too many searches are waiting in this realm");
  return await slowly(pool, work, { line, kind: "search", caller });
}

/** The queue of slow work of one kind: of customers, or of those who work for the realm. */
function slowLine(pool: object, kind: "search" | "page", { scopes = [] }: ScopedCaller): Line {
  return lineOf(slowLines[kind][reachesRealm({ scopes }) ? "house" : "customers"], pool);
}

/** Does slow work: users take turns at their kind, the kinds at their part of a pool, and both parts at its connections. */
async function slowly<T>(
  pool: object,
  work: () => Promise<T>,
  { line, kind, caller }: { line: Line; kind: "search" | "page"; caller: ScopedCaller },
): Promise<T> {
  const { user = "", scopes = [], signal } = caller;
  const mine = { user: kind, isHouse: reachesRealm({ scopes }), signal };
  const run = () => amongOthers(pool, work, { user, scopes }, kind);
  const shared = () => inSharedTurn(linesOf(slow, pool), SLOW_MAX, run, mine);
  return await inTurn(line, SLOW_MAX, shared, { user, signal });
}

/**
 * Reads a long list, in its turn among those of other users, unless its caller leaves before.
 *
 * @throws {DomainError} service.overloaded
 */
export async function listing<T>(
  pool: object,
  work: () => Promise<T>,
  caller: Caller,
): Promise<T> {
  const line = lineOf(lists, pool);
  makeRoom(line, caller, REQUESTS_MAX, "too many lists are waiting in this realm");
  return await inTurn(line, LISTS_MAX, work, caller);
}

/**
 * Does work that a realm's user asks of the platform's database, in its turn, unless its caller leaves before: its
 * connections serve all realms, and changes of one realm wait for each other while they hold them.
 *
 * @throws {DomainError} service.overloaded
 */
export async function onPlatform<T>(
  realm: string,
  work: () => Promise<T>,
  caller: Caller,
): Promise<T> {
  const bounds = { most: PLATFORM_MAX, waiting: PLATFORM_WAITING_MAX };
  return await ofRealm(platformTurns, realm, bounds, work, caller);
}

/**
 * Reads single rows of the platform's database that a request needs to know before its own work, in its turn among those
 * of its realm, unless its caller leaves before.
 *
 * @throws {DomainError} service.overloaded
 */
export async function readingPlatform<T>(
  realm: string,
  work: () => Promise<T>,
  caller: Caller,
): Promise<T> {
  const bounds = { most: PLATFORM_READS_MAX, waiting: REQUESTS_MAX };
  return await ofRealm(platformReads, realm, bounds, () => inTime(work), caller);
}

async function ofRealm<T>(
  lines: Map<string, Line>,
  realm: string,
  { most, waiting }: { most: number; waiting: number },
  work: () => Promise<T>,
  caller: Caller,
): Promise<T> {
  const line = lines.get(realm) ?? newLine();
  lines.set(realm, line);
  makeRoom(line, caller, waiting, "too many requests about this realm are waiting");
  try {
    return await inTurn(line, most, work, caller);
  } finally {
    if (line.running === 0 && lines.get(realm) === line) lines.delete(realm);
  }
}

/**
 * Runs statements of a transfer beside the posting queue, such as the one that finds its accounts, in its turn among those
 * of other users. Not inside of another such turn.
 *
 * @throws {DomainError} service.overloaded
 */
export async function besideQueue<T>(
  pool: object,
  work: () => Promise<T>,
  { user = "", scopes = [] }: ScopedCaller,
): Promise<T> {
  const line = lineOf(reachesRealm({ scopes }) ? ofHouse : ofCustomers, pool);
  const mine = { user: `transfer ${user}` };
  makeRoom(line, mine, BESIDE_QUEUE_WAITING_MAX, "too many transfers are waiting in this realm");
  return await amongOthers(pool, work, { user, scopes }, "transfer");
}

/**
 * Recomputes a part of a chain of hashes, in its turn among those of other users, unless its caller leaves before.
 *
 * @throws {DomainError} service.overloaded
 */
export async function recomputing<T>(
  pool: object,
  work: () => Promise<T>,
  caller: Caller,
): Promise<T> {
  const line = lineOf(chains, pool);
  const why = "too many parts of the chain are waiting to be recomputed in this realm";
  makeRoom(line, caller, CHAINS_WAITING_MAX, why);
  const { signal } = caller;
  const inAll = () => inTurn(chainsEverywhere, CHAINS_EVERYWHERE_MAX, work, { signal });
  return await inTurn(line, CHAINS_MAX, inAll, caller);
}

/** Reads one page of an answer that is sent while it is read, in its turn among slow work of other users. */
export async function paging<T>(
  pool: object,
  work: () => Promise<T>,
  caller: ScopedCaller = {},
): Promise<T> {
  return await slowly(pool, work, { line: slowLine(pool, "page", caller), kind: "page", caller });
}
