/**
 * The connection quota of a process: how many connections the pools of its realms may have together. A
 * pool waits where no connection is free. Idle pools are closed first, least recently used first. If none
 * is idle, the pool that has been open for longest is drained and closed.
 * @module
 */
import { Contention } from "./errors.ts";

/** A pool whose connections count towards a quota. */
export interface ManagedPool {
  /** Most connections that it opens. */
  readonly max: number;
  /** Opens it for so many connections. */
  open(size: number): void;
  /** Ends its connections; none is in use. */
  close(): Promise<void>;
}

/** A pool's access to its connections. */
export interface Lease {
  /**
   * Waits until the pool has connections; the function that it returns ends the use.
   *
   * @throws {Contention} when none was free in time
   */
  enter(): Promise<() => void>;
}

/** The connections that the pools of a process share. */
export interface Quota {
  /** Puts a pool under the quota. */
  admit(pool: ManagedPool): Lease;
  /** Connections that pools have now. */
  taken(): number;
  /** Rejects all waiting callers. */
  close(): void;
}

/** The quotas of a process, one for each server. */
export interface Quotas {
  /** The quota of a server, named by host and port. */
  of(server: string): Quota;
  /** The quota of a server's connections for reads of all realms, where each realm needs its own. */
  watching(server: string): Quota;
  /** Connections for reads of all realms, in each server. */
  readonly watchMax: number;
  /** Connections that pools have now, in all servers, without those that read all realms. */
  taken(): number;
  /** Rejects all waiting callers. */
  close(): void;
}

interface PoolEntry {
  pool: ManagedPool;
  connections: number;
  uses: number;
  waiting: Waiter[];
  /** No new use begins; its connections are released when the last use ends. */
  draining: boolean;
  openedAt: number;
  leftAt: number;
}

interface Waiter {
  resolve: (leave: () => void) => void;
  reject: (error: unknown) => void;
  timer: ReturnType<typeof setTimeout>;
}

interface State {
  total: number;
  idleMs: number;
  closed: boolean;
  free: number;
  /** Connections that are being closed. */
  coming: number;
  /** Pools that have connections, least recently used first. */
  open: Set<PoolEntry>;
  /** Pools that wait for connections. */
  queue: PoolEntry[];
}

/** Shortest time that a busy pool keeps its connections while others wait. */
const BUSY_MIN_MS = 250;
const CONNECTION_WAIT_MAX_MS = 20_000;
/** Connections that were unused for this long are released. */
const IDLE_MS = 60_000;
/** A pool takes at most this part of the free connections. */
const SHARE = 8;

/** Opens a quota of so many connections. */
export function openQuota(total: number, idleMs = IDLE_MS): Quota {
  const state: State = {
    total,
    idleMs,
    closed: false,
    free: total,
    coming: 0,
    open: new Set(),
    queue: [],
  };
  return {
    admit(pool) {
      const entry: PoolEntry = {
        pool,
        connections: 0,
        uses: 0,
        waiting: [],
        draining: false,
        openedAt: 0,
        leftAt: 0,
      };
      return { enter: () => enter(state, entry) };
    },
    taken: () => state.total - state.free,
    close() {
      state.closed = true;
      rejectAll(state);
    },
  };
}

/** Opens quotas: one for the platform's server, and one for each other. */
export function openQuotas(
  sizes: { home: string; homeMax: number; otherMax: number; watchMax: number },
): Quotas {
  const { home, homeMax, otherMax, watchMax } = sizes;
  const quotas = new Map<string, Quota>();
  const watches = new Map<string, Quota>();
  const kept = (all: Map<string, Quota>, server: string, total: number) => {
    const quota = all.get(server) ?? openQuota(Math.max(1, total));
    all.set(server, quota);
    return quota;
  };
  return {
    of: (server) => kept(quotas, server, server === home ? homeMax : otherMax),
    watching: (server) => kept(watches, server, watchMax),
    watchMax,
    taken: () => [...quotas.values()].reduce((sum, quota) => sum + quota.taken(), 0),
    close() {
      for (const quota of [...quotas.values(), ...watches.values()]) quota.close();
    },
  };
}

/** Rejects all waiting callers. */
function rejectAll(state: State): void {
  for (const { waiting } of state.queue.splice(0)) {
    for (const { reject, timer } of waiting.splice(0)) {
      clearTimeout(timer);
      reject(new Contention("the pools are closed"));
    }
  }
}

function enter(state: State, entry: PoolEntry): Promise<() => void> {
  releaseIdle(state, entry);
  if (entry.connections > 0 && !entry.draining) return Promise.resolve(use(state, entry));
  const { promise, resolve, reject } = Promise.withResolvers<() => void>();
  const waiter: Waiter = { resolve, reject, timer: setTimeout(timeOut, CONNECTION_WAIT_MAX_MS) };
  function timeOut(): void {
    entry.waiting = entry.waiting.filter((one) => one !== waiter);
    reject(new Contention("no connection to the database was free in time"));
  }
  entry.waiting.push(waiter);
  enqueue(state, entry);
  serve(state);
  return promise;
}

function use(state: State, entry: PoolEntry): () => void {
  entry.uses++;
  touch(state, entry);
  let over = false;
  return () => {
    if (over) return;
    over = true;
    entry.uses--;
    if (entry.uses === 0) touch(state, entry);
    entry.leftAt = performance.now();
    const tooSmall = sizeFor(state, entry) >= 2 * entry.connections;
    if (entry.uses === 0 && (entry.draining || tooSmall)) release(state, entry);
    if (state.queue.length > 0) serve(state);
  };
}

/** Makes a pool the most recently used. */
function touch(state: State, entry: PoolEntry): void {
  state.open.delete(entry);
  state.open.add(entry);
}

function enqueue(state: State, entry: PoolEntry): void {
  if (entry.connections === 0 && !state.queue.includes(entry)) state.queue.push(entry);
}

/**
 * Gives the number of connections that a pool may have: its most while many are free, else fewer, at
 * least one.
 */
function sizeFor(state: State, { pool, connections }: PoolEntry): number {
  return Math.max(1, Math.min(pool.max, Math.floor((state.free + connections) / SHARE)));
}

function serve(state: State): void {
  if (state.closed) return rejectAll(state);
  while (state.queue.length > 0 && state.free > 0) {
    const entry = state.queue.shift()!;
    if (entry.waiting.length === 0) continue;
    const waiting = entry.waiting.splice(0);
    for (const { timer } of waiting) clearTimeout(timer);
    try {
      open(state, entry);
      for (const { resolve } of waiting) resolve(use(state, entry));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
  if (state.queue.length > 0) reclaim(state);
}

function open(state: State, entry: PoolEntry): void {
  const size = sizeFor(state, entry);
  entry.pool.open(size); // throws where the address of the database cannot be decrypted
  state.free -= size;
  entry.connections = size;
  entry.openedAt = performance.now();
}

function reclaim(state: State): void {
  const missing = () => state.queue.length - state.coming;
  for (const entry of [...state.open]) {
    if (missing() <= 0) return;
    if (entry.uses === 0) release(state, entry);
  }
  const oldest = [...state.open].sort((a, b) => a.openedAt - b.openedAt);
  for (const entry of oldest) {
    if (missing() <= 0 || performance.now() - entry.openedAt < BUSY_MIN_MS) return;
    if (entry.draining) continue;
    entry.draining = true;
    state.coming += entry.connections;
  }
}

/** Releases connections that were unused for long, except those of the pool that is about to be used. */
function releaseIdle(state: State, coming: PoolEntry): void {
  const since = performance.now() - state.idleMs;
  for (const entry of state.open) {
    if (entry.uses > 0 || entry.leftAt > since) return; // so are all that follow, or nearly
    if (entry !== coming) release(state, entry);
  }
}

/** Closes the connections of an unused pool, and gives them to the waiting pools. */
function release(state: State, entry: PoolEntry): void {
  const { connections } = entry;
  if (!entry.draining) state.coming += connections;
  entry.draining = false;
  entry.connections = 0;
  state.open.delete(entry);
  const freed = () => {
    state.free += connections;
    state.coming -= connections;
    serve(state);
  };
  entry.pool.close().then(freed, freed);
  if (entry.waiting.length > 0) enqueue(state, entry);
}
