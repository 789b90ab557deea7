/**
 * The timetable runs repeated work. The extension of hash chains and the expiry of blocks poll every
 * realm several times a second; other work runs once per interval, in the process that takes its
 * lease.
 * @module
 */
import type { Pool } from "../../db/database.ts";
import { selectWaiting } from "../../db/housekeeping.ts";
import { endLease, takeLease } from "../../db/leases.ts";
import { allRealms } from "../../db/realms/realm_pages.ts";
import { locking } from "../../db/transaction.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { extendHashChain } from "../audit/hash_chain.ts";
import type { Deliverer } from "../webhooks/deliverer.ts";
import { publishEvents } from "../webhooks/publishing.ts";
import { openRunningTasks, type RunningTasks } from "../task_queue.ts";
import { sleep, withTimeout } from "../timers.ts";
import { type RealmTarget, workerContext, type WorkerDependencies } from "../worker_context.ts";
import { expireRealm } from "./expiry.ts";
import {
  PLATFORM_REPEATS,
  REALM_REPEATS,
  type Repeat,
  type RepeatDependencies,
  SLOW_REPEATS,
} from "./repeats.ts";

/** The running timetable of a process. */
export interface Timetable {
  /** Does due work until none is left or the time is up. */
  drain(budgetMs: number): Promise<void>;
  /** Finishes the running work and returns. */
  stop(): Promise<void>;
}

/** Options of the timetable. */
export type TimetableOptions =
  & WorkerDependencies
  & Pick<RepeatDependencies, "rates" | "migrations" | "partRows">
  & {
    /** Sends webhooks; null: another process does. */
    deliverer?: Deliverer | null;
  };

/** A realm, with connections of its own and the connections that all realms share. */
interface TimetableTarget extends RealmTarget {
  shared: Pool;
}

/** Pause between two polls of all realms: hash chains then follow within about a second. */
export const POLL_MS = 400;
const REALM_LIST_MS = 1000;
const PAGE_SIZE = 500;
const REALMS_AT_ONCE = 4;
/** Longest that one realm's backlog keeps the others waiting. */
const SLICE_MS = 2000;
/** Longest that slow realms keep the next ones waiting. */
export const PAGE_WAIT_MAX_MS = 3000;
/** Pause after a failure of repeated work. */
const BACKOFF_MS = 5000;

/** State of a timetable. */
interface TimetableState extends RepeatDependencies {
  deliverer?: Deliverer | null;
  /** Name of this process in leases. */
  owner: string;
  targets: Map<string, TimetableTarget>;
  /** When each piece of work is due again in this process. */
  dueAt: Map<string, number>;
  listedAt: number;
  /** Running passes through realms. */
  tasks: RunningTasks;
  /** The latest reading of the list of realms, which all loops await. */
  listing: Promise<unknown>;
}

/** Works in one realm; tells whether any work was due. */
type Pass = (state: TimetableState, target: TimetableTarget) => Promise<boolean>;

// Each pass has a loop of its own: the hash chain does not wait for a slow node, nor other work for a
// search of coins.
const PASSES: readonly Pass[] = [pollRealm, repeatAll, repeatSlow];

/** Starts the timetable. With `loop: false` it works only when drained, `only` for one realm. */
export function startTimetable(
  options: TimetableOptions,
  how: { loop?: boolean; only?: string } = {},
): Timetable {
  const leaving = new AbortController();
  const { signal } = leaving;
  const state: TimetableState = {
    ...options,
    only: how.only ?? null,
    signal,
    owner: crypto.randomUUID(),
    targets: new Map(),
    dueAt: new Map(),
    listedAt: -Infinity,
    tasks: openRunningTasks({ log: options.log, signal, failure: "repeated work failed" }),
    listing: Promise.resolve(),
    ratesUpTo: new Map(),
  };
  const looping = how.loop ?? true ? Promise.all(PASSES.map((pass) => loop(state, pass))) : null;
  return {
    async drain(budgetMs) {
      const until = state.now() + budgetMs;
      const over = () => signal.aborted || state.now() >= until;
      const all = () => Promise.all(PASSES.map((pass) => passRealms(state, pass, over)));
      while (!over()) {
        const busy = (await all()).includes(true);
        // A slow pass delays no other realm, but it belongs to the due work.
        if (!busy && state.tasks.size === 0) return;
        if (!busy) await withTimeout(state.tasks.settled(), until - state.now());
      }
    },
    async stop() {
      leaving.abort();
      await looping;
      await state.tasks.settled();
    },
  };
}

async function loop(state: TimetableState, pass: Pass): Promise<void> {
  while (!state.signal.aborted) {
    await passRealms(state, pass, () => state.signal.aborted);
    await sleep(POLL_MS, state.signal);
  }
}

/** Passes through every realm once; tells whether any work was due. */
async function passRealms(
  state: TimetableState,
  pass: Pass,
  over: () => boolean,
): Promise<boolean> {
  const { platform } = state.database;
  let busy = pass === repeatAll &&
    await repeat(state, { name: "", at: platform, pool: platform }, PLATFORM_REPEATS);
  if (state.now() - state.listedAt >= REALM_LIST_MS) {
    state.listedAt = state.now();
    state.listing = attempt(state, "list realms", () => listRealms(state));
  }
  await state.listing;
  const all = [...state.targets.values()];
  for (let i = 0; i < all.length && !over();) {
    const some = all.slice(i, i += REALMS_AT_ONCE);
    const found = await withTimeout(
      Promise.all(some.map((target) => runOnce(state, pass, target))),
      PAGE_WAIT_MAX_MS,
    );
    busy = found?.includes(true) || busy;
  }
  return busy;
}

/** Passes through a realm unless its last pass still runs: its database may be slow, or unreachable. */
async function runOnce(
  state: TimetableState,
  pass: Pass,
  target: TimetableTarget,
): Promise<boolean> {
  const name = `${pass.name} ${target.realm.id}`;
  if (state.tasks.has(name)) return false;
  let busy = false;
  await state.tasks.run(name, async () => {
    busy = await pass(state, target);
  });
  return busy;
}

async function listRealms(state: TimetableState): Promise<void> {
  const { database, only, signal, targets } = state;
  const gone = new Set(targets.keys());
  for await (const realm of allRealms(database.platform, { only, size: PAGE_SIZE })) {
    gone.delete(realm.id);
    const location = locationOf(realm);
    const [pool, shared] = [database.working(location), database.sharedPool(location)];
    targets.set(realm.id, { realm, pool, shared, signal });
  }
  for (const id of gone) targets.delete(id);
}

/** Extends a realm's hash chain, expires its blocks, publishes its events and has them delivered. */
async function pollRealm(state: TimetableState, target: TimetableTarget): Promise<boolean> {
  const done = await attempt(state, `poll ${target.realm.id}`, async () => {
    const { pool, shared, signal } = target;
    const waiting = await selectWaiting(shared);
    const over = overAfter(SLICE_MS, signal);
    // Deliveries run beside the passes: neither delays the other.
    if (waiting.deliverable) state.deliverer?.deliver(target);
    const linked = waiting.unsealed ? await extendHashChain(pool, state.now, over) : 0;
    if (waiting.expired) await expireRealm(pool, overAfter(SLICE_MS, signal));
    const published = waiting.unpublished
      ? await publishEvents(pool, state.now, overAfter(SLICE_MS, signal))
      : 0;
    if (linked + published > 0) state.deliverer?.deliver(target);
    return waiting.unsealed || waiting.expired || published > 0;
  });
  return done === true;
}

async function repeatAll(state: TimetableState, target: TimetableTarget): Promise<boolean> {
  return await repeat(state, whereOf(state, target), REALM_REPEATS);
}

async function repeatSlow(state: TimetableState, target: TimetableTarget): Promise<boolean> {
  return await repeat(state, whereOf(state, target), SLOW_REPEATS);
}

/** Gives the shared connections: repeated work is small. */
function whereOf(state: TimetableState, { realm, shared: pool, signal }: TimetableTarget) {
  return { name: realm.id, at: workerContext(state, { realm, pool, signal }), pool };
}

/** Runs the repeated work that is due and that no other process runs; tells whether any ran. */
async function repeat<P>(
  state: TimetableState,
  where: { name: string; at: P; pool: Pool },
  work: readonly Repeat<P>[],
): Promise<boolean> {
  let busy = false;
  for (const one of work) {
    const name = `${one.name} ${where.name}`;
    if (state.signal.aborted || state.now() < (state.dueAt.get(name) ?? 0)) continue;
    state.dueAt.set(name, state.now() + one.everyMs);
    const done = await attempt(state, name, () => underLease(state, where, one));
    busy = done === true || busy;
  }
  return busy;
}

async function underLease<P>(
  state: TimetableState,
  { at, pool }: { at: P; pool: Pool },
  { name, leaseMs, everyMs, run }: Repeat<P>,
): Promise<boolean> {
  const { owner } = state;
  if (!await locking(pool, (tx) => takeLease(tx, { name, owner, leaseMs }))) return false;
  try {
    await run(at, state);
  } finally {
    // A little early, so that the next pass of this process finds it due.
    const againMs = everyMs - everyMs / 20;
    await locking(pool, (tx) => endLease(tx, { name, owner, againMs }));
  }
  return true;
}

/** Runs work, logs its failure, and delays its next run; a failure stops no other work. */
async function attempt<T>(
  state: TimetableState,
  name: string,
  work: () => Promise<T>,
): Promise<T | null> {
  const backoff = `backoff ${name}`;
  if (state.now() < (state.dueAt.get(backoff) ?? 0)) return null;
  try {
    return await work();
  } catch (error) {
    state.dueAt.set(backoff, state.now() + BACKOFF_MS);
    if (!state.signal.aborted) state.log("warn", "repeated work failed", { work: name, error });
    return null;
  }
}

function overAfter(ms: number, signal: AbortSignal): () => boolean {
  const until = performance.now() + ms;
  return () => signal.aborted || performance.now() > until;
}
