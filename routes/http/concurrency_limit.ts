/**
 * Concurrency limits: how many requests of a realm are at the database at once, and for how long. A
 * request beyond the limit is answered 503 with retry-after, which bounds memory. The time-out ends
 * requests whose connection was lost without the driver noticing.
 * @module
 */
import { type Actor, reachesRealm } from "../../domain/actor.ts";
import { DomainError } from "../../domain/errors.ts";

const REQUESTS_MAX = 1000;
/** Of these, places that customers, and callers without a key, leave to those who work for the realm or run the service. */
const REQUESTS_OF_HOUSE = 50;
/** One user has at most so many times as many of them as are free: of 950 760, and the next user 152 more. */
const USER_SHARE = 4;
/** Longer than any statement may run, so that the database's own answer comes first. */
const DATABASE_TIMEOUT_MS = 60_000;
/** Searches of a realm that run at once: they may be slow, and transfers must pass beside them. */
const SEARCHES_MAX = 2;
const SEARCHES_WAITING_MAX = 50;
/** Long lists that are read at once: each keeps the process busy, and must leave time for others. */
const LISTS_MAX = 2;
/** Large bodies that are handled at once, in a realm and in all: each takes many times its size of memory. */
const LARGE_MAX = 2;
const LARGE_EVERYWHERE_MAX = 4;
/** Large bodies that wait for their turn, as they came. */
const LARGE_WAITING_MAX = 10;
/** Large bodies in memory, also those still coming in: in a realm, of one user, and in all realms. */
const LARGE_BODIES_MAX = LARGE_MAX + LARGE_WAITING_MAX;
const LARGE_BODIES_PER_USER = 8;
/** Of those of a realm, slots that customers leave to those who work for it. */
const LARGE_BODIES_OF_HOUSE = 4;
const LARGE_BODIES_EVERYWHERE_MAX = 32;
/** Chains of hashes that are recomputed at once, in a realm and in all: each keeps a processor busy for seconds. */
const CHAINS_MAX = 1;
const CHAINS_EVERYWHERE_MAX = 2;
const CHAINS_WAITING_MAX = 20;
/** Requests of a realm's users to the platform's database that run at once, and that wait. */
const PLATFORM_MAX = 1;
const PLATFORM_WAITING_MAX = 20;
/** Pages of long answers that are read at once, for all callers. */
const PAGES_MAX = 2;

/** Requests that use a pool: all, and those of each user. */
interface Taken {
  all: number;
  users: Map<string, number>;
}

/** Whose work it is: of a user, or of nobody, with the scopes of its key. */
export type Whose = Pick<Actor, "user" | "scopes">;

const taken = new WeakMap<object, Taken>();

/**
 * Does work that uses a pool, unless too many requests use it already. Of one user there are never so many that those of
 * others find no place, and of customers never so many that those who work for the realm find none.
 *
 * @param whose whose work it is; without, it is the service's own
 * @throws {DomainError} service.overloaded
 */
export async function withConcurrencyLimit<T>(
  pool: object,
  work: () => Promise<T>,
  whose?: Whose,
): Promise<T> {
  const leave = take(pool, whose);
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(busy("the database did not answer in time")),
    DATABASE_TIMEOUT_MS,
  );
  try {
    return await Promise.race([work(), late]);
  } finally {
    clearTimeout(timer);
    leave();
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

/** A queue of work of which a limited part runs at once. Users take turns. */
interface Line {
  running: number;
  /** By user, the one to be served next first. */
  waiting: Map<string, Waiting[]>;
}

/** Work that waits for its turn. */
interface Waiting {
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/** Whose work it is, and when its caller leaves. */
export interface Caller {
  user?: string;
  signal?: AbortSignal;
}

const searches = new WeakMap<object, Line>();
const lists = new WeakMap<object, Line>();
const bodies = new WeakMap<object, Line>();
const pages = new WeakMap<object, Line>();
const chains = new WeakMap<object, Line>();
const chainsEverywhere: Line = { running: 0, waiting: new Map() };
const largeEverywhere: Line = { running: 0, waiting: new Map() };
/** Slots of large bodies in use, by user. */
const largeBodies = new WeakMap<object, Map<string, number>>();
let largeBodiesEverywhere = 0;
/** By realm, while there are some. */
const platformTurns = new Map<string, Line>();

/**
 * Does a search, in its turn among those of other users, unless its caller leaves before.
 *
 * @throws {DomainError} service.overloaded
 */
export async function searching<T>(
  pool: object,
  work: () => Promise<T>,
  caller: Caller = {},
): Promise<T> {
  const line = lineOf(searches, pool);
  makeRoom(line, caller, SEARCHES_WAITING_MAX, "too many searches are waiting in this realm");
  return await inTurn(line, SEARCHES_MAX, () => withConcurrencyLimit(pool, work), caller);
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
  const line = platformTurns.get(realm) ?? { running: 0, waiting: new Map() };
  platformTurns.set(realm, line);
  makeRoom(line, caller, PLATFORM_WAITING_MAX, "too many requests about this realm are waiting");
  try {
    return await inTurn(line, PLATFORM_MAX, work, caller);
  } finally {
    if (line.running === 0 && platformTurns.get(realm) === line) platformTurns.delete(realm);
  }
}

/** The slot of a request with a large body, from before the body is read until the request has ended. */
export interface LargeBodySlot {
  /**
   * Waits for its turn to be handled, unless its caller leaves before.
   *
   * @throws {DomainError} service.overloaded
   */
  turn(signal: AbortSignal): Promise<void>;
  /** Ends its turn and gives the slot to others. */
  leave(): void;
}

/**
 * Reserves a slot for a large body of a user, before it is read: bodies that come in slowly, or wait,
 * use as much memory as those that are handled.
 *
 * @param isHouse whether the user works for the realm: customers leave some slots to those who do
 * @throws {DomainError} service.overloaded
 */
export function reserveLargeBody(
  pool: object,
  user: string,
  isHouse: boolean,
): LargeBodySlot {
  const taken = largeBodies.get(pool) ?? new Map<string, number>();
  largeBodies.set(pool, taken);
  const mine = taken.get(user) ?? 0;
  if (mine >= LARGE_BODIES_PER_USER) throw busy("this user has too many large requests at once");
  const all = taken.values().reduce((sum, count) => sum + count, 0);
  const most = LARGE_BODIES_MAX - (isHouse ? 0 : LARGE_BODIES_OF_HOUSE);
  if (all >= most || largeBodiesEverywhere >= LARGE_BODIES_EVERYWHERE_MAX) {
    throw busy("there are too many large requests at once");
  }
  taken.set(user, mine + 1);
  largeBodiesEverywhere++;
  let endTurn = () => {};
  return {
    async turn(signal) {
      endTurn = await turnOfLarge(pool, signal);
    },
    leave() {
      endTurn();
      largeBodiesEverywhere--;
      const left = taken.get(user)! - 1;
      if (left > 0) taken.set(user, left);
      else taken.delete(user);
    },
  };
}

/**
 * Waits for the turn of a request that came with a large body, unless its caller leaves before;
 * returns a function that ends its turn.
 *
 * @throws {DomainError} service.overloaded
 */
export async function turnOfLarge(pool: object, signal: AbortSignal): Promise<() => void> {
  const line = lineOf(bodies, pool);
  if (waitingIn(line) >= LARGE_WAITING_MAX) {
    throw busy("too many large requests are waiting in this realm");
  }
  const leave = await enter(line, LARGE_MAX, { signal });
  try {
    const leaveAll = await enter(largeEverywhere, LARGE_EVERYWHERE_MAX, { signal });
    return () => {
      leaveAll();
      leave();
    };
  } catch (error) {
    leave();
    throw error;
  }
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

/** Reads one page of an answer that is sent while it is read, in its turn among those of other users. */
export async function paging<T>(
  pool: object,
  work: () => Promise<T>,
  caller: Caller = {},
): Promise<T> {
  return await inTurn(lineOf(pages, pool), PAGES_MAX, work, caller);
}

async function inTurn<T>(
  line: Line,
  most: number,
  work: () => Promise<T>,
  caller: Caller,
): Promise<T> {
  const leave = await enter(line, most, caller);
  try {
    caller.signal?.throwIfAborted();
    return await work();
  } finally {
    leave();
  }
}

/** Waits for a turn; returns a function that hands it on. */
async function enter(line: Line, most: number, caller: Caller): Promise<() => void> {
  if (line.running < most) line.running++;
  else await turn(line, caller);
  return () => {
    const next = takeNext(line);
    if (next === null) line.running--;
    else next.resolve();
  };
}

/** Takes the oldest work of the user who has waited longest for a turn. */
function takeNext({ waiting }: Line): Waiting | null {
  const [first] = waiting;
  if (first === undefined) return null;
  const [user, [next, ...rest]] = first;
  waiting.delete(user);
  if (rest.length > 0) waiting.set(user, rest); // behind the others
  return next;
}

/** Waits for a turn that is handed on; a caller that leaves before is removed. */
async function turn({ waiting }: Line, { user = "", signal }: Caller): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const mine: Waiting = { resolve, reject };
  const leave = () => {
    remove(waiting, user, mine);
    reject(signal!.reason);
  };
  waiting.set(user, [...waiting.get(user) ?? [], mine]);
  signal?.addEventListener("abort", leave);
  try {
    await promise;
  } finally {
    signal?.removeEventListener("abort", leave);
  }
}

function remove(waiting: Line["waiting"], user: string, one: Waiting): void {
  const left = (waiting.get(user) ?? []).filter((other) => other !== one);
  if (left.length > 0) waiting.set(user, left);
  else waiting.delete(user);
}

function waitingIn({ waiting }: Line): number {
  return waiting.values().reduce((sum, some) => sum + some.length, 0);
}

/**
 * Sees that there is room to wait. Where a queue is full, the last of whoever has most in it gives way to those who have
 * less: nobody keeps others out.
 *
 * @throws {DomainError} service.overloaded
 */
function makeRoom(line: Line, { user = "" }: Caller, most: number, why: string): void {
  const { waiting } = line;
  if (waitingIn(line) < most) return;
  const mine = waiting.get(user)?.length ?? 0;
  const [greatest, theirs] = [...waiting].reduce((a, b) => b[1].length > a[1].length ? b : a);
  if (theirs.length <= mine + 1) throw busy(why);
  const last = theirs.at(-1)!;
  remove(waiting, greatest, last);
  last.reject(busy(why));
}

function lineOf(lines: WeakMap<object, Line>, pool: object): Line {
  const known = lines.get(pool);
  if (known !== undefined) return known;
  const line: Line = { running: 0, waiting: new Map() };
  lines.set(pool, line);
  return line;
}

function busy(message: string): DomainError {
  return new DomainError("service.overloaded", message, { retryAfterS: 1 });
}
