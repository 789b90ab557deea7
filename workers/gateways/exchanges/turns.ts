/**
 * Whose turn it is at the threads of exchanges. Each exchange has one thread and there are few, so that neither one
 * customer's exchanges nor one that hangs may keep those of others waiting.
 * @module
 */

/** A call as far as its turn is concerned. */
export interface Asking {
  /** `owner` is `realm/user`. */
  readonly account: { readonly exchange: string; readonly owner: string };
  readonly call: string;
  /** When its thread was given it, by `performance.now()`. */
  readonly since: number;
}

/** A thread as far as turns are concerned. */
export interface Occupied {
  /** When its exchange last gave an answer; at first, when it was started. */
  readonly heardAt: number;
  readonly pending: ReadonlyMap<number, Asking>;
}

/** The threads, and their limits. */
export interface Occupation<T extends Occupied> {
  /** By the id of their exchange; the one that was used last is the last. */
  readonly running: ReadonlyMap<string, T>;
  readonly threadsMax: number;
  readonly silenceMs: number;
}

/**
 * Whether an exchange may have a thread for an account's call: `free`, or by ending another, or not yet (`none`). One
 * without calls is ended for it, or one whose exchange has been silent for a while; never one that was asked to pay. One
 * user alone keeps no more than half of the threads busy.
 *
 * @param now by `performance.now()`
 */
export function roomFor<T extends Occupied>(
  { running, threadsMax, silenceMs }: Occupation<T>,
  { exchange, owner }: Asking["account"],
  now: number,
): "free" | "none" | { ends: T } {
  if (running.has(exchange)) return "free";
  const threads = [...running.values()];
  const own = threads.filter((one) => isHeldBy(one, (other) => other === owner)).length;
  if (own >= Math.max(1, Math.floor(threadsMax / 2))) return "none";
  if (threads.length < threadsMax) return "free";
  const idle = threads.find(({ pending }) => pending.size === 0);
  if (idle !== undefined) return { ends: idle };
  const silent = threads
    .filter(({ pending }) => [...pending.values()].every(({ call }) => call !== "withdraw"))
    .map((thread) => ({ thread, since: silentSince(thread) }))
    .sort((one, other) => one.since - other.since)[0];
  return silent !== undefined && now - silent.since >= silenceMs ? { ends: silent.thread } : "none";
}

/** Since when a thread's exchange has owed an answer. */
function silentSince({ heardAt, pending }: Occupied): number {
  return Math.max(heardAt, Math.min(...[...pending.values()].map(({ since }) => since)));
}

/** Puts calls that wait in their turn: those of the realm, then of the user, that keeps the fewest threads busy. */
export function inTurn<T extends Asking>(
  running: Iterable<Occupied>,
  waiting: Iterable<T>,
): T[] {
  const threads = [...running];
  const held = (isTheirs: (owner: string) => boolean) =>
    threads.filter((one) => isHeldBy(one, isTheirs)).length;
  return [...waiting].map((asking) => {
    const { owner } = asking.account;
    const byRealm = held((other) => realmOf(other) === realmOf(owner));
    return { asking, byRealm, byUser: held((other) => other === owner) };
  }).sort((one, other) => one.byRealm - other.byRealm || one.byUser - other.byUser)
    .map(({ asking }) => asking);
}

function realmOf(owner: string): string {
  return owner.split("/")[0];
}

/** Whether all calls that a thread has are of somebody. */
function isHeldBy({ pending }: Occupied, isTheirs: (owner: string) => boolean): boolean {
  const owners = [...pending.values()].map(({ account }) => account.owner);
  return owners.length > 0 && owners.every(isTheirs);
}
