/** Turns: queues of work of which a limited part runs at once, and in which users take turns. @module */
import { DomainError } from "../../domain/errors.ts";

/** A queue of work of which a limited part runs at once. Users take turns. */
export interface Line {
  running: number;
  /** By user, the one to be served next first. */
  waiting: Map<string, Waiting[]>;
}

/** Work that waits for its turn. */
export interface Waiting {
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/** Whose work it is, and when its caller leaves. */
export interface Caller {
  user?: string;
  signal?: AbortSignal;
}

/** Does work in its turn, unless its caller leaves before. */
export async function inTurn<T>(
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
export async function enter(line: Line, most: number, caller: Caller): Promise<() => void> {
  if (line.running < most) line.running++;
  else await turn(line, caller);
  return () => {
    const next = takeNext(line);
    if (next === null) line.running--;
    else next.resolve();
  };
}

/** Takes the oldest work of the user who has waited longest for a turn. */
export function takeNext({ waiting }: Line): Waiting | null {
  const [first] = waiting;
  if (first === undefined) return null;
  const [user, theirs] = first;
  waiting.delete(user);
  const next = theirs.shift()!;
  if (theirs.length > 0) waiting.set(user, theirs); // behind the others
  return next;
}

/** Waits for a turn that is handed on; a caller that leaves before is removed. */
export async function turn({ waiting }: Line, { user = "", signal }: Caller): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const mine: Waiting = { resolve, reject };
  const leave = () => {
    remove(waiting, user, mine);
    reject(signal!.reason);
  };
  const ofUser = waiting.get(user);
  if (ofUser === undefined) waiting.set(user, [mine]);
  else ofUser.push(mine);
  signal?.addEventListener("abort", leave);
  try {
    await promise;
  } finally {
    signal?.removeEventListener("abort", leave);
  }
}

function remove(waiting: Line["waiting"], user: string, one: Waiting): void {
  const theirs = waiting.get(user);
  const at = theirs?.indexOf(one) ?? -1;
  if (at < 0) return;
  theirs!.splice(at, 1);
  if (theirs!.length === 0) waiting.delete(user);
}

/** How many wait. */
export function waitingIn({ waiting }: Pick<Line, "waiting">): number {
  return waiting.values().reduce((sum, some) => sum + some.length, 0);
}

/** Whether there is room to wait, or somebody who has more in the queue and would give way. */
export function hasRoom({ waiting }: Line, { user = "" }: Caller, most: number): boolean {
  if (waitingIn({ waiting }) < most) return true;
  return greatestOf(waiting)[1].length > (waiting.get(user)?.length ?? 0) + 1;
}

/**
 * Sees that there is room to wait. Where a queue is full, the last of whoever has most in it gives way to those who have
 * less: nobody keeps others out.
 *
 * @throws {DomainError} service.overloaded
 */
export function makeRoom(line: Line, caller: Caller, most: number, why: string): void {
  const { waiting } = line;
  if (!hasRoom(line, caller, most)) throw busy(why);
  if (waitingIn(line) < most) return;
  const [greatest, theirs] = greatestOf(waiting);
  const last = theirs.at(-1)!;
  remove(waiting, greatest, last);
  last.reject(busy(why));
}

function greatestOf(waiting: Line["waiting"]): [user: string, theirs: Waiting[]] {
  return [...waiting].reduce((a, b) => b[1].length > a[1].length ? b : a);
}

/** The queue at a pool. */
export function lineOf(lines: WeakMap<object, Line>, pool: object): Line {
  const known = lines.get(pool);
  if (known !== undefined) return known;
  const line: Line = { running: 0, waiting: new Map() };
  lines.set(pool, line);
  return line;
}

/** A refusal that passes in a moment. */
export function busy(message: string): DomainError {
  return new DomainError("service.overloaded", message, { retryAfterS: 1 });
}
