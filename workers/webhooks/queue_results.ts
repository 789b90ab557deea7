/** What the answers of a queue's receiver mean for the queue: stored together, and acted on. @module */
import type { Pool } from "../../db/database.ts";
import {
  failPending,
  holdQueue,
  markAttempts,
  retryQueueNow,
  updateQueue,
} from "../../db/webhooks/queue.ts";
import { locking, serializable } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import { disableWebhook } from "../../domain/webhooks/disabling.ts";
import { DISABLE_AFTER_MS, DOWN_AFTER, resumeAt } from "../../domain/webhooks/schedule.ts";
import { workerActor } from "../worker_context.ts";
import type { Attempted } from "./attempts.ts";
import type { Run } from "./runs.ts";

/** A receiver that answers more slowly gets fewer requests at once: each holds a slot of its realm. */
const SLOW_MS = 2000;
/** Requests to one receiver at once, at most. */
const WIDTH_MAX = 128;
/** Waiting deliveries of a disabled webhook that one statement ends. */
const ENDED_AT_ONCE = 5000;

/** Whether a receiver is asked by one delivery at a time. */
export function isDown({ queue }: Run): boolean {
  return queue.failures >= DOWN_AFTER;
}

/** Takes a result in: it is stored later, and what it says of the receiver holds at once. */
export function account(run: Run, result: Attempted): void {
  const { queue } = run;
  const { taken, gone, latency_ms, at } = result;
  if (run.results.push(result) === 1) run.resultAt = performance.now();
  run.gone ||= gone;
  if (taken !== null) {
    const isQuick = taken && latency_ms! < SLOW_MS;
    run.width = isQuick ? Math.min(WIDTH_MAX, run.width + 1) : Math.max(1, run.width / 2);
    run.recovered ||= taken && isDown(run);
    queue.failures = taken ? 0 : queue.failures + 1;
    queue.failing_since = taken ? null : queue.failing_since ?? at;
  }
  if (run.gone || resumeAt(queue.failures, at) !== null) run.more = false;
}

/**
 * Stores results, and disables a webhook whose receiver is gone or has failed for too long. Without the
 * lease nothing is stored and nothing concluded: the queue is another's, or its webhook was changed.
 */
export async function store(run: Run): Promise<void> {
  const { given: { now, process }, target: { pool }, queue } = run;
  const { webhook, failures, failing_since } = queue;
  const { recovered, gone } = run;
  const results = run.results.splice(0);
  run.recovered = false;
  const at = now();
  const state = {
    ...{ failures, failing_since, resume_at: resumeAt(failures, at) },
    succeeded: results.some(({ taken }) => taken === true),
  };
  const by = { webhook, process, at };
  run.storing = results;
  const isHeld = await locking(pool, async (tx) => {
    if (!await updateQueue(tx, by, state)) return false;
    await markAttempts(tx, by, results);
    if (recovered) await retryQueueNow(tx, webhook, at);
    return true;
  });
  run.storing = [];
  run.stored++;
  run.isDry = false;
  if (!isHeld) {
    run.more = false;
    return;
  }
  const failedFor = failing_since === null ? 0 : at - failing_since;
  if (gone) await disable(run, "gone");
  else if (failedFor >= DISABLE_AFTER_MS) await disable(run, "failing");
}

/** Deactivates the webhook and ends what waits for it. */
async function disable(run: Run, reason: "failing" | "gone"): Promise<void> {
  const { given: { now, log, secrets, process }, target: { pool, realm }, queue: { webhook } } =
    run;
  run.more = false;
  const at = now();
  const actor = workerActor(realm, newId(at), at);
  const isNew = await serializable(pool, async (tx) => {
    if (!await holdQueue(tx, webhook, process)) return false;
    return await disableWebhook(tx, actor, { id: webhook, reason, secrets });
  });
  if (isNew) log("warn", "webhook disabled", { realm: realm.id, webhook, reason });
  await endPending(pool, webhook);
}

async function endPending(pool: Pool, webhook: string): Promise<void> {
  const of = { webhook, failure: "the webhook was deactivated", limit: ENDED_AT_ONCE };
  let ended: number;
  do ended = await locking(pool, (tx) => failPending(tx, of)); while (ended === ENDED_AT_ONCE);
}
