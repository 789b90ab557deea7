/**
 * Requests that wait for an entity to become ready (RFC 7240, `Prefer: wait`). One query at a time
 * serves all that wait in a realm. Their number is limited, and a caller that left is removed.
 * @module
 */
import { type Db, type Pool, runQuery } from "../../domain/command.ts";

/** Returns which of some entities are ready, by one statement. */
export type Among = (db: Db, ids: string[]) => Promise<string[]>;

/** The entity that a request waits for. */
export interface Wait {
  among: Among;
  id: string;
  forMs: number;
  /** Aborted when the caller has gone. */
  signal: AbortSignal;
}

/** Requests of a realm that wait at once; the next one is answered at once. */
const WAITS_MAX = 200;
const PAUSE_FIRST_MS = 10;
const PAUSE_MAX_MS = 250;

interface Line {
  count: number;
  isPolling: boolean;
  /** Ends the pause between two polls. */
  wake: () => void;
  pauseMs: number;
  /** The waiting requests by entity, grouped by the function that checks whether they are ready. */
  waiting: Map<Among, Map<string, Set<() => void>>>;
}

const lines = new WeakMap<Pool, Line>();

/** How many requests wait at a pool. */
export function waitersAt(pool: Pool): number {
  return lines.get(pool)?.count ?? 0;
}

/**
 * Waits until an entity is ready; false when the time is up or the caller has gone, null where too
 * many wait.
 */
export async function becomesReady(pool: Pool, wait: Wait): Promise<boolean | null> {
  if (wait.signal.aborted) return false;
  const line = lines.get(pool) ?? newLine();
  lines.set(pool, line);
  if (line.count >= WAITS_MAX) return null;
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), wait.forMs);
  const leave = () => resolve(false);
  const ready = () => resolve(true);
  wait.signal.addEventListener("abort", leave);
  enter(line, wait, ready);
  if (!line.isPolling) pollUntilReady(pool, line).catch(() => {}); // a poll that fails is repeated
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    wait.signal.removeEventListener("abort", leave);
    exit(line, wait, ready);
  }
}

function enter(line: Line, { among, id }: Wait, ready: () => void): void {
  const ids = line.waiting.get(among) ?? new Map<string, Set<() => void>>();
  const those = ids.get(id) ?? new Set();
  line.waiting.set(among, ids.set(id, those.add(ready)));
  line.count++;
  line.pauseMs = PAUSE_FIRST_MS;
}

function exit(line: Line, { among, id }: Wait, ready: () => void): void {
  const ids = line.waiting.get(among)!;
  const those = ids.get(id)!;
  those.delete(ready);
  if (those.size === 0) ids.delete(id);
  if (ids.size === 0) line.waiting.delete(among);
  if (--line.count === 0) line.wake();
}

/** Polls for all waiting requests until there are none. */
async function pollUntilReady(pool: Pool, line: Line): Promise<void> {
  line.isPolling = true;
  while (line.count > 0) {
    for (const [among, ids] of [...line.waiting]) {
      // A poll that fails is repeated; at the end of its time a request is answered with the first
      // state.
      const found = await runQuery(pool, (db) => among(db, [...ids.keys()])).catch(() => []);
      for (const id of found) for (const ready of [...ids.get(id) ?? []]) ready();
    }
    if (line.count > 0) await pause(line);
    line.pauseMs = Math.min(PAUSE_MAX_MS, line.pauseMs * 1.5);
  }
  line.isPolling = false;
}

async function pause(line: Line): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, line.pauseMs);
  line.wake = resolve;
  await promise;
  clearTimeout(timer);
}

function newLine(): Line {
  return {
    count: 0,
    isPolling: false,
    wake: () => {},
    pauseMs: PAUSE_FIRST_MS,
    waiting: new Map(),
  };
}
