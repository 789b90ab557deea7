/** Turns: queues of work of which a limited part runs at once, and in which users take turns. @module */
import { DomainError } from "../../domain/errors.ts";

/** A queue of work of which a limited part runs at once. Users take turns. */
export interface Line {
  running: number;
  /** By user, the one to be served next first. */
  waiting: Map<string, Waiting[]>;
  /** How many wait, of all users. */
  size: number;
}

/** Opens a queue. */
export function newLine(): Line {
  return { running: 0, waiting: new Map(), size: 0 };
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

/**
 * Two queues with one number of places: of customers, and of those who work for the realm. Where both wait, a place that
 * becomes free goes to the other one than the last: neither keeps the other waiting for more than one piece of work.
 */
export interface Lines {
  customers: Line;
  house: Line;
  /** Whose a place was last. */
  last: "customers" | "house";
}

/** Opens two queues with one number of places. */
export function newLines(): Lines {
  return { customers: newLine(), house: newLine(), last: "house" };
}

/** Does work in its turn among those of both queues, unless its caller leaves before. */
export async function inSharedTurn<T>(
  lines: Lines,
  most: number,
  work: () => Promise<T>,
  caller: Caller & { isHouse: boolean },
): Promise<T> {
  const mine = caller.isHouse ? "house" : "customers";
  const line = lines[mine];
  if (lines.customers.running + lines.house.running < most) {
    line.running++;
    lines.last = mine;
  } else await turn(line, caller);
  try {
    caller.signal?.throwIfAborted();
    return await work();
  } finally {
    line.running--;
    handOn(lines);
  }
}

/** Hands a free place to who waits. */
function handOn(lines: Lines): void {
  const first = lines.last === "house" ? "customers" : "house";
  for (const whose of [first, lines.last] as const) {
    const next = takeNext(lines[whose]);
    if (next === null) continue;
    lines[whose].running++;
    lines.last = whose;
    return next.resolve();
  }
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
export function takeNext(line: Line): Waiting | null {
  const { waiting } = line;
  const [first] = waiting;
  if (first === undefined) return null;
  const [user, theirs] = first;
  waiting.delete(user);
  line.size--;
  const next = theirs.shift()!;
  if (theirs.length > 0) waiting.set(user, theirs); // behind the others
  return next;
}

/** Waits for a turn that is handed on; a caller that leaves before is removed. */
export async function turn(line: Line, { user = "", signal }: Caller): Promise<void> {
  const { waiting } = line;
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const mine: Waiting = { resolve, reject };
  const leave = () => {
    remove(line, user, mine);
    reject(signal!.reason);
  };
  const ofUser = waiting.get(user);
  if (ofUser === undefined) waiting.set(user, [mine]);
  else ofUser.push(mine);
  line.size++;
  signal?.addEventListener("abort", leave);
  try {
    await promise;
  } finally {
    signal?.removeEventListener("abort", leave);
  }
}

function remove(line: Line, user: string, one: Waiting): void {
  const theirs = line.waiting.get(user);
  const at = theirs?.indexOf(one) ?? -1;
  if (at < 0) return;
  theirs!.splice(at, 1);
  line.size--;
  if (theirs!.length === 0) line.waiting.delete(user);
}

/** Whether there is room to wait, or somebody who has more in the queue and would give way. */
export function hasRoom(line: Line, { user = "" }: Caller, most: number): boolean {
  if (line.size < most) return true;
  return greatestOf(line)[1].length > (line.waiting.get(user)?.length ?? 0) + 1;
}

/**
 * Sees that there is room to wait. Where a queue is full, the last of whoever has most in it gives way to those who have
 * less: nobody keeps others out.
 *
 * @throws {DomainError} service.overloaded
 */
export function makeRoom(line: Line, { user = "" }: Caller, most: number, why: string): void {
  if (line.size < most) return;
  const [greatest, theirs] = greatestOf(line);
  if (theirs.length <= (line.waiting.get(user)?.length ?? 0) + 1) throw busy(why);
  const last = theirs.at(-1)!;
  remove(line, greatest, last);
  last.reject(busy(why));
}

/** Who has most in a queue that is not empty. */
function greatestOf({ waiting }: Line): [user: string, theirs: Waiting[]] {
  let greatest: [string, Waiting[]] | undefined;
  for (const one of waiting) {
    if (greatest === undefined || one[1].length > greatest[1].length) greatest = one;
  }
  return greatest!;
}

/** The queue at a pool. */
export function lineOf(lines: WeakMap<object, Line>, pool: object): Line {
  return ofPool(lines, pool, newLine);
}

/** The two queues at a pool. */
export function linesOf(lines: WeakMap<object, Lines>, pool: object): Lines {
  return ofPool(lines, pool, newLines);
}

function ofPool<T>(all: WeakMap<object, T>, pool: object, open: () => T): T {
  const known = all.get(pool);
  if (known !== undefined) return known;
  const made = open();
  all.set(pool, made);
  return made;
}

/** A refusal that passes in a moment. */
export function busy(message: string): DomainError {
  return new DomainError("service.overloaded", message, { retryAfterS: 1 });
}
