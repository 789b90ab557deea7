/**
 * The quota of a process: how many connections the pools of its realms may have together. A pool that
 * finds no room waits in line; pools that nobody uses at the moment give way, the longest unused
 * first, and where all are in use, those that have been open longest finish what they do and make
 * room. Knows pools only by what they promise here.
 * @module
 */
import { Contention } from "./errors.ts";

/** A pool under a quota. */
export interface Keeper {
  /** Connections of its own that it would like to have. */
  readonly max: number;
  /** Opens it for so many connections. */
  open(size: number): void;
  /** Ends its connections; none is in use. */
  close(): Promise<void>;
}

/** A pool's place under its quota. */
export interface Tenure {
  /**
   * Waits until the pool may be used; whoever comes back says that the use is over.
   *
   * @throws {Contention} when no room was made in time
   */
  enter(): Promise<() => void>;
}

/** What the pools of a process share. */
export interface Quota {
  /** Puts a pool under the quota. */
  admit(keeper: Keeper): Tenure;
  /** Connections that are promised to pools now. */
  taken(): number;
  /** Sends everybody away who waits. */
  close(): void;
}

interface Holder {
  keeper: Keeper;
  permits: number;
  uses: number;
  waiting: Waiter[];
  /** Nobody is let in any more: it makes room as soon as nobody uses it. */
  yielding: boolean;
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
  /** Connections that are being given back. */
  coming: number;
  /** Holders of permits, the longest unused first. */
  open: Set<Holder>;
  /** Holders that wait for a permit. */
  queue: Holder[];
}

/** So long a busy pool is left its connections while others wait. */
const TENURE_MS = 250;
const PATIENCE_MS = 20_000;
/** What nobody has used for so long is given back unasked. */
const IDLE_MS = 60_000;
/** A pool takes at most this part of what is free. */
const SHARE = 8;

/** Makes a quota of so many connections. */
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
    admit(keeper) {
      const holder: Holder = {
        keeper,
        permits: 0,
        uses: 0,
        waiting: [],
        yielding: false,
        openedAt: 0,
        leftAt: 0,
      };
      return { enter: () => enter(state, holder) };
    },
    taken: () => state.total - state.free,
    close() {
      state.closed = true;
      dismiss(state);
    },
  };
}

/** Sends those away who wait in line. */
function dismiss(state: State): void {
  for (const { waiting } of state.queue.splice(0)) {
    for (const { reject, timer } of waiting.splice(0)) {
      clearTimeout(timer);
      reject(new Contention("the pools are closed"));
    }
  }
}

function enter(state: State, holder: Holder): Promise<() => void> {
  retireIdle(state, holder);
  if (holder.permits > 0 && !holder.yielding) return Promise.resolve(use(state, holder));
  const { promise, resolve, reject } = Promise.withResolvers<() => void>();
  const waiter: Waiter = { resolve, reject, timer: setTimeout(giveUp, PATIENCE_MS) };
  function giveUp(): void {
    holder.waiting = holder.waiting.filter((one) => one !== waiter);
    reject(new Contention("no connection to the database was free in time"));
  }
  holder.waiting.push(waiter);
  queueUp(state, holder);
  serve(state);
  return promise;
}

function use(state: State, holder: Holder): () => void {
  holder.uses++;
  touch(state, holder);
  let over = false;
  return () => {
    if (over) return;
    over = true;
    holder.uses--;
    if (holder.uses === 0) touch(state, holder);
    holder.leftAt = performance.now();
    const cramped = sizeFor(state, holder) >= 2 * holder.permits;
    if (holder.uses === 0 && (holder.yielding || cramped)) giveWay(state, holder);
    if (state.queue.length > 0) serve(state);
  };
}

/** Moves it to the young end. */
function touch(state: State, holder: Holder): void {
  state.open.delete(holder);
  state.open.add(holder);
}

function queueUp(state: State, holder: Holder): void {
  if (holder.permits === 0 && !state.queue.includes(holder)) state.queue.push(holder);
}

/** What a pool may have: all that it would like while most is free, at last a single one. */
function sizeFor(state: State, { keeper, permits }: Holder): number {
  return Math.max(1, Math.min(keeper.max, Math.floor((state.free + permits) / SHARE)));
}

function serve(state: State): void {
  if (state.closed) return dismiss(state);
  while (state.queue.length > 0 && state.free > 0) {
    const holder = state.queue.shift()!;
    if (holder.waiting.length === 0) continue;
    const waiting = holder.waiting.splice(0);
    for (const { timer } of waiting) clearTimeout(timer);
    try {
      open(state, holder);
      for (const { resolve } of waiting) resolve(use(state, holder));
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
  if (state.queue.length > 0) makeRoom(state);
}

function open(state: State, holder: Holder): void {
  const size = sizeFor(state, holder);
  holder.keeper.open(size); // throws where nobody knows how to reach the database
  state.free -= size;
  holder.permits = size;
  holder.openedAt = performance.now();
}

function makeRoom(state: State): void {
  const missing = () => state.queue.length - state.coming;
  for (const holder of [...state.open]) {
    if (missing() <= 0) return;
    if (holder.uses === 0) giveWay(state, holder);
  }
  const oldest = [...state.open].sort((a, b) => a.openedAt - b.openedAt);
  for (const holder of oldest) {
    if (missing() <= 0 || performance.now() - holder.openedAt < TENURE_MS) return;
    if (holder.yielding) continue;
    holder.yielding = true;
    state.coming += holder.permits;
  }
}

/** Has pools give back what nobody has used for long, but not the one that is about to be used. */
function retireIdle(state: State, coming: Holder): void {
  const since = performance.now() - state.idleMs;
  for (const holder of state.open) {
    if (holder.uses > 0 || holder.leftAt > since) return; // so are all that follow, or nearly
    if (holder !== coming) giveWay(state, holder);
  }
}

/** Ends the connections of a pool that nobody uses, and gives them to those who wait. */
function giveWay(state: State, holder: Holder): void {
  const { permits } = holder;
  if (!holder.yielding) state.coming += permits;
  holder.yielding = false;
  holder.permits = 0;
  state.open.delete(holder);
  const freed = () => {
    state.free += permits;
    state.coming -= permits;
    serve(state);
  };
  holder.keeper.close().then(freed, freed);
  if (holder.waiting.length > 0) queueUp(state, holder);
}
