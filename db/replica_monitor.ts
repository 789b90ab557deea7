/**
 * The monitor of a replica: it reads the primary's position and asks the replica once a second, and says whether the
 * replica is fit. A lost replica frees at once all that wait for it.
 * @module
 */
import type { Pool } from "./pool_types.ts";
import {
  factsOf,
  openPositions,
  type Position,
  type Positions,
  PRIMARY_COLUMNS,
  REPLICA_COLUMNS,
  type ServerFacts,
} from "./replica_positions.ts";
import { readingBriefly } from "./transaction.ts";

/** Why a replica answers nothing: the server that was asked is away, not a standby, of another history, or too far behind. */
export type ReplicaFault = "unknown" | "unreachable" | "not_standby" | "foreign" | "behind";

/** The state of a replica. */
export interface ReplicaState {
  /** Null: it answers. */
  fault: ReplicaFault | null;
  /** What it shows is younger than this, in milliseconds; null while that is not known. */
  lagMs: number | null;
}

/** A server that must not answer. */
export class Unfit extends Error {
  override readonly name = "Unfit";

  /** @param why in place of what the replica would have said */
  constructor(readonly why: ReplicaFault | "newer") {
    super(`the replica is ${why}`);
  }
}

/** What a read has to show. */
export interface Bounds {
  /** All that was answered before this moment of the monotonic clock. */
  notBefore: number;
  /** All that was answered before the position. */
  after?: Position;
}

/** The monitor of a replica. */
export interface ReplicaMonitor {
  /** Begins to watch it; is told each change of its fault. */
  watch(tell: (state: ReplicaState) => void): void;
  state(): ReplicaState;
  /** The newest moment that a standby can be shown to have. */
  newest(): number;
  /** The moment that a server shows. @throws {Unfit} if it must not answer */
  assertShows(facts: ServerFacts, bounds: Bounds): number;
  /** Gives the result of a read, or fails as soon as the replica is lost, whatever becomes of the read. */
  unlessLost<T>(read: Promise<T>): Promise<T>;
  /** A session was lost: asks the replica at once, which is used on until that fails. */
  doubt(): void;
  /** Waits a moment until it shows all that the primary has answered; null where it does not. */
  catchUp(): Promise<Position | null>;
  close(): void;
}

const TICK_MS = 1000;
/** Longest statement of the monitor; after twice that time its answer was lost. */
const PROBE_MS = 1000;
const CATCH_UP_MAX_MS = 500;
const CATCH_UP_FIRST_MS = 5;
/** A replica that did not catch up is not waited for again so soon. */
const CATCH_UP_PAUSE_MS = 5000;

interface State {
  /** Reads the primary's position, for all who ask meanwhile. */
  sample: () => Promise<{ position: Position; facts: ServerFacts }>;
  /** Asks the replica what it is and how far, for all who ask meanwhile. */
  ask: () => Promise<ServerFacts>;
  lagMaxMs: number;
  positions: Positions;
  /** As of the last probe. */
  fault: ReplicaFault | null;
  lsn: bigint;
  /** Told when the replica is lost: reads that wait for it. A read takes itself out at its end. */
  waiting: Set<(error: Unfit) => void>;
  /** Nobody waits for the replica to catch up until then. */
  hurriedUntil: number;
}

/** Opens the monitor; it asks nothing before it watches. */
export function openMonitor(
  { primary, probe, lagMaxMs }: { primary: Pool; probe: Pool; lagMaxMs: number },
): ReplicaMonitor {
  const state: State = {
    sample: shared(async () => {
      const at = performance.now();
      const facts = await askServer(primary, PRIMARY_COLUMNS);
      return { position: { at, lsn: facts.lsn }, facts };
    }),
    ask: shared(() => ask(state, probe)),
    ...{ lagMaxMs, fault: "unknown", lsn: 0n, waiting: new Set(), hurriedUntil: 0 },
    positions: openPositions(),
  };
  let end = () => {};
  return {
    watch(tell) {
      end();
      end = watch(state, tell);
    },
    state: () => shownState(state),
    newest: state.positions.newest,
    assertShows: (facts, bounds) => assertShows(state, facts, bounds),
    unlessLost: (read) => unlessLost(state, read),
    doubt() {
      if (state.fault === null) state.ask().catch(() => {}); // it is lost then
    },
    catchUp: () => catchUp(state),
    close: () => end(),
  };
}

/** Shares runs of work: those who ask while it runs share the next run, which begins after they asked. */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | null = null;
  let next: Promise<T> | null = null;
  function run(): Promise<T> {
    const mine = work().finally(() => {
      if (running === mine) running = null;
    });
    return running = mine;
  }
  return () => {
    if (running === null) return run();
    return next ??= running.then(() => {}, () => {}).then(() => {
      next = null;
      return run();
    });
  };
}

async function askServer(pool: Pool, columns: string): Promise<ServerFacts> {
  let found: ServerFacts | undefined;
  const check = (row: Readonly<Record<string, unknown>>) => {
    found = factsOf(row);
  };
  await readingBriefly(pool, PROBE_MS, () => Promise.resolve(), { facts: { columns, check } });
  return found!;
}

async function ask(state: State, probe: Pool): Promise<ServerFacts> {
  try {
    const facts = await askServer(probe, REPLICA_COLUMNS);
    state.lsn = facts.lsn;
    state.fault = faultOf(state, facts);
    // The address may lead to several servers: the next probe may meet another.
    if (shownState(state).fault !== null) probe.renew(probe.sql);
    return facts;
  } catch (error) {
    lose(state);
    throw error;
  }
}

/** Samples the primary and asks the replica, again and again; the function that it returns ends that. */
function watch(state: State, tell: (state: ReplicaState) => void): () => void {
  let last: ReplicaFault | null = "unknown";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hasEnded = false;
  function next(): void {
    poll(state).then((now) => {
      if (hasEnded) return;
      timer = setTimeout(next, TICK_MS);
      if (now.fault !== last) tell(now);
      last = now.fault;
    }).catch(() => {});
  }
  next();
  return () => {
    hasEnded = true;
    clearTimeout(timer);
  };
}

/** Asks both once; a failure of either server is a state. */
async function poll(state: State): Promise<ReplicaState> {
  try {
    const { position, facts } = await state.sample();
    state.positions.add(position, facts);
  } catch {
    // without news of the primary the replica grows old
  }
  await state.ask().catch(() => {});
  return shownState(state);
}

function faultOf({ positions }: State, facts: ServerFacts): ReplicaFault | null {
  if (!facts.isStandby) return "not_standby";
  if (positions.newest() === -Infinity) return "unknown";
  return positions.isOurs(facts) ? null : "foreign";
}

/** No promise outlives the read: one that all reads waited for would keep their results until the replica is lost. */
async function unlessLost<T>({ waiting }: State, read: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  waiting.add(reject);
  try {
    return await Promise.race([read, promise]);
  } finally {
    waiting.delete(reject);
  }
}

function lose(state: State): void {
  state.fault = "unreachable";
  const waiting = [...state.waiting];
  state.waiting.clear();
  for (const reject of waiting) reject(new Unfit("unreachable"));
}

function shownState({ fault, positions, lsn, lagMaxMs }: State): ReplicaState {
  const lagMs = Math.ceil(performance.now() - positions.shownAt(lsn));
  const isBehind = fault === null && lagMs > lagMaxMs;
  return {
    fault: isBehind ? "behind" : fault,
    lagMs: fault === null && lagMs < Infinity ? lagMs : null,
  };
}

function assertShows(state: State, facts: ServerFacts, { notBefore, after }: Bounds): number {
  const fault = faultOf(state, facts);
  if (fault !== null) throw new Unfit(fault);
  const shown = state.positions.shownAt(facts.lsn);
  if (performance.now() - shown > state.lagMaxMs) throw new Unfit("behind");
  if (shown < notBefore) throw new Unfit("newer");
  if (after === undefined) return shown;
  if (facts.lsn < after.lsn) throw new Unfit("newer");
  return Math.max(shown, after.at);
}

async function catchUp(state: State): Promise<Position | null> {
  const began = performance.now();
  if (shownState(state).fault !== null || began < state.hurriedUntil) return null;
  try {
    const { position } = await state.sample();
    for (let waitMs = CATCH_UP_FIRST_MS;; waitMs *= 2) {
      const { lsn } = await state.ask();
      if (state.fault !== null) return null;
      if (lsn >= position.lsn) return position;
      if (performance.now() - began + waitMs > CATCH_UP_MAX_MS) break;
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
    state.hurriedUntil = performance.now() + CATCH_UP_PAUSE_MS;
    return null;
  } catch {
    return null; // the next probe says why
  }
}
