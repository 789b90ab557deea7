/**
 * The delivery of one webhook's queue, under its lease: of each entity one delivery at a time, of
 * different entities many at once. While some are under way the next are read, and the results of
 * others are stored together; what is sent and not stored yet when the process dies is sent again.
 * @module
 */
import {
  type DueRow,
  keepQueue,
  type QueueRow,
  releaseQueue,
  selectDueDeliveries,
} from "../../db/webhooks/queue.ts";
import { reading, writing } from "../../db/transaction.ts";
import type { RealmTarget } from "../worker_context.ts";
import { attempt, openSigners, unsent } from "./attempts.ts";
import { account, isDown, store } from "./queue_results.ts";
import type { Run, RunDependencies } from "./runs.ts";

/** Length of a lease, and how often it is prolonged. */
export const LEASE_MS = 60_000;
const KEEP_MS = 2000;
/** Requests to one receiver at once, at first. */
const WIDTH_FIRST = 16;
/** Deliveries that are read before they can be sent. */
const AHEAD_MAX = 64;
/** Receivers whose width is remembered. */
const WIDTHS_MAX = 10_000;
/** Results are stored when so many wait, or the first of them for so long. */
const TOGETHER = 64;
const TOGETHER_MS = 20;
/** The same while all that is due is in hand: the next of an entity waits for the one before. */
const DRY_MS = 5;
const WAIT_MAX_MS = 5000;

/**
 * Delivers what is due in a queue until nothing is, its receiver is down, or the process ends.
 *
 * @param leasedAt when the lease was asked for, by `performance.now()`
 */
export async function runQueue(
  given: RunDependencies,
  target: RealmTarget,
  queue: QueueRow,
  leasedAt: number,
): Promise<void> {
  const { pool, realm, signal } = target;
  const { process, log, secrets } = given;
  const signers = openSigners(secrets, realm.id, queue);
  if (signers === null) {
    log("error", "the secret of a webhook cannot be decrypted", { webhook: queue.webhook });
    return; // the lease runs out, and it is tried again
  }
  const run: Run = {
    ...{ given, target, queue, signers, leasedAt, wake: () => {} },
    width: given.widths.get(queue.webhook) ?? WIDTH_FIRST,
    ...{ ahead: [], inFlight: new Map(), results: [], resultAt: 0, storing: [], stored: 0 },
    ...{ more: true, isDry: false, recovered: false, gone: false },
  };
  const stop = () => run.wake();
  signal.addEventListener("abort", stop);
  try {
    await deliver(run);
  } finally {
    signal.removeEventListener("abort", stop);
    keepWidth(run);
    await writing(pool, (db) => releaseQueue(db, queue.webhook, process));
  }
}

function keepWidth({ given: { widths }, queue: { webhook }, width }: Run): void {
  if (width >= WIDTH_FIRST) widths.delete(webhook);
  else if (widths.size < WIDTHS_MAX) widths.set(webhook, width);
}

async function deliver(run: Run): Promise<void> {
  const [reads, stores] = [openBackground(run), openBackground(run)];
  const pause = openPauses(run);
  for (;;) {
    // Reads and stores go on beside requests; after a failure what is under way ends first.
    const failure = reads.failure ?? stores.failure;
    if (failure !== null || !await keep(run) || run.target.signal.aborted) run.more = false;
    if (!run.more) run.ahead.length = 0;
    const width = isDown(run) ? 1 : run.width;
    while (run.ahead.length > 0 && run.inFlight.size < width) start(run, run.ahead.shift()!);
    if (!reads.isBusy && isToBeRead(run)) reads.start(() => readAhead(run));
    if (failure === null && !stores.isBusy && isToBeStored(run)) stores.start(() => store(run));
    const isBusy = run.inFlight.size > 0 || reads.isBusy || stores.isBusy;
    if (!run.more && !isBusy) {
      if (failure !== null) throw failure;
      if (run.results.length === 0) return;
    }
    await pause(run.results.length > 0 ? togetherMs(run) : WAIT_MAX_MS);
  }
}

/** Work that goes on beside the loop of a run, one piece at a time. */
interface Background {
  isBusy: boolean;
  failure: unknown;
  start(work: () => Promise<void>): void;
}

function openBackground(run: Run): Background {
  const one: Background = {
    ...{ isBusy: false, failure: null },
    start(work) {
      one.isBusy = true;
      work().catch((error) => one.failure = error).finally(() => {
        one.isBusy = false;
        run.wake();
      });
    },
  };
  return one;
}

/** Gives a function that waits for the run to be woken; also while nobody waited. */
function openPauses(run: Run): (ms: number) => Promise<void> {
  let isWoken = false;
  let resume = () => {};
  run.wake = () => {
    isWoken = true;
    resume();
  };
  return async (ms) => {
    if (!isWoken) {
      const { promise, resolve } = Promise.withResolvers<void>();
      resume = resolve;
      const timer = setTimeout(resolve, ms);
      await promise;
      clearTimeout(timer);
    }
    isWoken = false;
  };
}

function inHand({ ahead, inFlight, results, storing }: Run): string[] {
  return [...inFlight.keys(), ...[ahead, results, storing].flat().map(({ event }) => event)];
}

function isToBeRead(run: Run): boolean {
  if (!run.more || run.ahead.length > Math.min(AHEAD_MAX, run.width) / 2) return false;
  return !run.isDry || inHand(run).length === 0;
}

/** Reads deliveries that are due and not in hand: what was answered is due until it is stored. */
async function readAhead(run: Run): Promise<void> {
  const { target: { pool }, queue: { webhook }, given, stored } = run;
  const [at, except] = [given.now(), inHand(run)];
  const limit = Math.ceil(Math.min(AHEAD_MAX, run.width));
  const rows = await reading(pool, (db) => {
    return selectDueDeliveries(db, { webhook, at, limit, except });
  });
  const taken = run.more ? takeIn(run, rows) : 0;
  run.isDry = (rows.length < limit || taken === 0) && stored === run.stored;
  // Deliveries that came meanwhile are found by the next run.
  if (rows.length === 0 && except.length === 0) run.more = false;
}

/**
 * Takes in what was read, of each entity the oldest alone: one that is sent again may be older than what
 * is in hand. It goes before what has not begun, and is read again after what is under way.
 */
function takeIn(run: Run, rows: readonly DueRow[]): number {
  const underWay = new Set(run.inFlight.values());
  const first = rows.filter(({ entity }) => !underWay.has(entity));
  const entities = new Set(first.map(({ entity }) => entity));
  run.ahead = [...run.ahead.filter(({ entity }) => !entities.has(entity)), ...first];
  return first.length;
}

function togetherMs({ isDry }: Run): number {
  return isDry ? DRY_MS : TOGETHER_MS;
}

function isToBeStored(run: Run): boolean {
  const [first] = run.results;
  if (first === undefined) return false;
  if (run.results.length >= TOGETHER) return true;
  if (run.inFlight.size === 0 && run.ahead.length === 0) return true;
  return performance.now() - run.resultAt >= togetherMs(run);
}

/** Prolongs the lease in time; tells whether it is still held. */
async function keep(run: Run): Promise<boolean> {
  const { given: { process, secrets }, target: { pool, realm }, queue: { webhook } } = run;
  const leasedAt = performance.now();
  if (leasedAt - run.leasedAt < KEEP_MS) return true;
  await run.given.compare?.();
  if (await run.given.isApart?.(run.target)) return false;
  const by = { webhook, process, leaseMs: LEASE_MS };
  const kept = await writing(pool, (db) => keepQueue(db, by));
  if (kept === null) return false;
  const signers = openSigners(secrets, realm.id, kept);
  if (signers === null) return false;
  Object.assign(run, { signers, leasedAt });
  const { failures, failing_since } = run.queue;
  Object.assign(run.queue, kept, { failures, failing_since });
  return true;
}

function start(run: Run, due: DueRow): void {
  const { given: { slots, client, now, log }, target: { realm, signal }, inFlight } = run;
  inFlight.set(due.event, due.entity);
  const tried = async () => {
    const leave = await slots.take(realm.id, run.queue.webhook);
    try {
      // Another process may deliver once the lease has run out.
      if (!run.more || signal.aborted || performance.now() - run.leasedAt >= LEASE_MS) return;
      const result = await attempt({ queue: run.queue, signers: run.signers, client, now }, due);
      // At the end of the process connections are cut: that is no failure of the receiver.
      if (!signal.aborted || result.taken) account(run, result);
    } finally {
      leave();
    }
  };
  tried().catch((error) => {
    log("error", "delivery failed", { webhook: run.queue.webhook, event: due.event, error });
    account(run, unsent(due, now()));
  }).finally(() => {
    inFlight.delete(due.event);
    run.wake();
  });
}
