/**
 * The delivery of one webhook's queue, under its lease: of each entity one delivery at a time, of
 * different entities many at once. Results are stored together; what is sent and not stored yet when
 * the process dies is sent again.
 * @module
 */
import type { Pool } from "../../db/database.ts";
import {
  failPending,
  keepQueue,
  markAttempts,
  type QueueRow,
  releaseQueue,
  retryQueueNow,
  selectDueDeliveries,
  updateQueue,
} from "../../db/webhooks/queue.ts";
import { locking, reading, serializable, writing } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";
import { disableWebhook } from "../../domain/webhooks/disabling.ts";
import { DISABLE_AFTER_MS, DOWN_AFTER, resumeAt } from "../../domain/webhooks/schedule.ts";
import type { Log } from "../../log.ts";
import type { WebhookClient } from "../gateways/outbound/webhook_client.ts";
import { type RealmTarget, workerActor } from "../worker_context.ts";
import { attempt, type Attempted, openSigners, type Signers } from "./attempts.ts";
import type { Slots } from "./slots.ts";

/** What the runs of a process share. */
export interface RunDependencies {
  log: Log;
  secrets: Secrets;
  client: WebhookClient;
  slots: Slots;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Name of this run in leases: also another run of the same process holds none of them. */
  process: string;
  /** Requests at once to receivers that were slow or failed, by the webhook. */
  widths: Map<string, number>;
}

/** Length of a lease, and how often it is prolonged. */
export const LEASE_MS = 60_000;
const KEEP_MS = 2000;
/** Requests to one receiver at once: at first, and at most. */
const WIDTH_FIRST = 16;
const WIDTH_MAX = 128;
/** A receiver that answers more slowly gets fewer requests at once: each holds a slot of its realm. */
const SLOW_MS = 2000;
/** Receivers whose width is remembered. */
const WIDTHS_MAX = 10_000;
/** Results that are stored together come within so long. */
const TOGETHER_MS = 10;
const WAIT_MAX_MS = 5000;
/** Waiting deliveries of a disabled webhook that one statement ends. */
const ENDED_AT_ONCE = 5000;

interface Run {
  given: RunDependencies;
  target: RealmTarget;
  queue: QueueRow;
  signers: Signers;
  /** Requests to this receiver at once. */
  width: number;
  inFlight: Set<string>;
  results: Attempted[];
  /** When the lease was last taken, by this process's own timer. */
  leasedAt: number;
  /** Ends the pause of the loop. */
  wake: () => void;
}

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
    ...{ given, target, queue, signers, wake: () => {} },
    width: given.widths.get(queue.webhook) ?? WIDTH_FIRST,
    ...{ inFlight: new Set(), results: [], leasedAt },
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
  const { target: { pool, signal }, queue: { webhook }, inFlight } = run;
  for (let more = true; more || inFlight.size > 0 || run.results.length > 0;) {
    if (!await keep(run)) more = false;
    if (run.results.length > 0 && !await store(run)) more = false;
    if (signal.aborted) more = false;
    const width = isDown(run) ? 1 : run.width;
    if (more && inFlight.size <= width / 2) {
      const at = run.given.now();
      const limit = Math.max(1, Math.ceil(width - inFlight.size));
      // What was answered while others were stored is due until it is stored itself.
      const except = [...inFlight, ...run.results.map(({ event }) => event)];
      const due = await reading(pool, (db) => {
        return selectDueDeliveries(db, { webhook, at, limit, except });
      });
      for (const one of due) start(run, one);
      // Deliveries that came meanwhile are found by the next run.
      if (due.length === 0) more = inFlight.size > 0;
    }
    if (inFlight.size > 0 && run.results.length === 0) await pause(run);
  }
}

/** Prolongs the lease in time; tells whether it is still held. */
async function keep(run: Run): Promise<boolean> {
  const { given: { process, secrets }, target: { pool, realm }, queue: { webhook } } = run;
  const leasedAt = performance.now();
  if (leasedAt - run.leasedAt < KEEP_MS) return true;
  const by = { webhook, process, leaseMs: LEASE_MS };
  const kept = await writing(pool, (db) => keepQueue(db, by));
  if (kept === null) return false;
  const signers = openSigners(secrets, realm.id, kept);
  if (signers === null) return false;
  Object.assign(run, { signers, leasedAt });
  Object.assign(run.queue, kept, {
    failures: run.queue.failures,
    failing_since: run.queue.failing_since,
  });
  return true;
}

function isDown({ queue }: Run): boolean {
  return queue.failures >= DOWN_AFTER;
}

function start(run: Run, due: Parameters<typeof attempt>[1]): void {
  const { given: { slots, client, now, log }, target: { realm, signal }, inFlight } = run;
  inFlight.add(due.event);
  const tried = async () => {
    const leave = await slots.take(realm.id, run.queue.webhook);
    try {
      // Another process may deliver once the lease has run out.
      if (signal.aborted || performance.now() - run.leasedAt >= LEASE_MS) return;
      const result = await attempt({ queue: run.queue, signers: run.signers, client, now }, due);
      // At the end of the process connections are cut: that is no failure of the receiver.
      if (!signal.aborted || result.taken) run.results.push(result);
    } finally {
      leave();
    }
  };
  tried().catch((error) => {
    log("error", "delivery failed", { webhook: run.queue.webhook, event: due.event, error });
  }).finally(() => {
    inFlight.delete(due.event);
    run.wake();
  });
}

/** Waits for results, and then a moment for more of them. */
async function pause(run: Run): Promise<void> {
  await sleepOf(run, WAIT_MAX_MS);
  if (run.inFlight.size > 0 && run.results.length > 0) {
    await new Promise((resolve) => setTimeout(resolve, TOGETHER_MS));
  }
}

async function sleepOf(run: Run, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  run.wake = resolve;
  const timer = setTimeout(resolve, ms);
  await promise;
  clearTimeout(timer);
}

/** Stores results; tells whether the queue goes on. */
async function store(run: Run): Promise<boolean> {
  const { given: { now, process }, target: { pool }, queue } = run;
  const { webhook } = queue;
  const results = run.results.splice(0);
  const at = now();
  const wasDown = isDown(run);
  let gone = false;
  for (const { taken, gone: isGone, latency_ms } of results) {
    gone ||= isGone;
    if (taken === null) continue;
    const isQuick = taken && latency_ms! < SLOW_MS;
    run.width = isQuick ? Math.min(WIDTH_MAX, run.width + 1) : Math.max(1, run.width / 2);
    queue.failures = taken ? 0 : queue.failures + 1;
    queue.failing_since = taken ? null : queue.failing_since ?? at;
  }
  const succeeded = results.some(({ taken }) => taken === true);
  const { failures, failing_since } = queue;
  const resume_at = resumeAt(failures, at);
  const by = { webhook, process, at };
  await locking(pool, async (tx) => {
    await markAttempts(tx, by, results);
    await updateQueue(tx, by, { failures, failing_since, resume_at, succeeded });
    if (succeeded && wasDown) await retryQueueNow(tx, webhook, at);
  });
  const failedFor = failing_since === null ? 0 : at - failing_since;
  if (gone) return await disable(run, "gone");
  if (failedFor >= DISABLE_AFTER_MS) return await disable(run, "failing");
  return resume_at === null;
}

/** Deactivates the webhook and ends what waits for it; false: its queue does not go on. */
async function disable(run: Run, reason: "failing" | "gone"): Promise<false> {
  const { given: { now, log, secrets }, target: { pool, realm }, queue: { webhook } } = run;
  const at = now();
  const actor = workerActor(realm, newId(at), at);
  const isNew = await serializable(
    pool,
    (tx) => disableWebhook(tx, actor, { id: webhook, reason, secrets }),
  );
  if (isNew) log("warn", "webhook disabled", { realm: realm.id, webhook, reason });
  await endPending(pool, webhook);
  return false;
}

async function endPending(pool: Pool, webhook: string): Promise<void> {
  const of = { webhook, failure: "the webhook was deactivated", limit: ENDED_AT_ONCE };
  let ended: number;
  do ended = await locking(pool, (tx) => failPending(tx, of)); while (ended === ENDED_AT_ONCE);
}
