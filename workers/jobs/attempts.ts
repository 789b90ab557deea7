/** One attempt at a job: runs under a lease that is prolonged meanwhile, and ends under its own token. @module */
import type { Pool, Tx } from "../../db/database.ts";
import { extendLease, holdJob, type JobRow, markDone, releaseJob } from "../../db/jobs.ts";
import { locking, serializable, writing } from "../../db/transaction.ts";
import type { JobName } from "../../domain/jobs.ts";
import { failJob } from "../../domain/jobs/dead_jobs.ts";
import { takeRealmStep } from "../installation/attestation.ts";
import { type Heartbeat, startHeartbeat } from "../lease_heartbeat.ts";
import {
  type RealmTarget,
  type WorkerContext,
  workerContext,
  type WorkerDependencies,
} from "../worker_context.ts";
import { annotate, traced } from "../../tracing.ts";
import { ChainError } from "../chains/chain.ts";
import { TASKS } from "./handlers.ts";

/** Dependencies of attempts. */
export interface RunnerDependencies extends WorkerDependencies {
  /** Seconds after which another worker takes a job whose worker is lost. */
  leaseS: number;
}

/** Jobs that advance chain orders: their steps take the order lock, and lose no race against each other. */
const ORDER_JOBS: ReadonlySet<string> = new Set<JobName>([
  "order.advance",
  "deposit.sweep",
  "deposit.swept",
]);

/** Jobs that nothing asks for again, and that only a node keeps from their end: they wait for it, however long it is away. */
const NODE_JOBS: ReadonlySet<string> = new Set<JobName>(["ramp.open", "token.check"]);
/** Longest pause of a job that waits for a node. */
const NODE_PAUSE_MS = 60_000;

/** Another attempt holds the job: this one may write nothing more. */
class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** Runs one attempt and records how it ended, in the trace of what caused the job. */
export async function attemptJob(
  dependencies: RunnerDependencies,
  target: RealmTarget,
  job: JobRow,
): Promise<void> {
  const attributes = {
    ...{ "purser.realm": target.realm.id, "purser.job": job.id, "purser.attempt": job.attempts },
  };
  const { traceparent } = job;
  await traced(
    `job ${job.name}`,
    { attributes, kind: "consumer", traceparent },
    () => attempt(dependencies, target, job),
  );
}

async function attempt(
  dependencies: RunnerDependencies,
  target: RealmTarget,
  job: JobRow,
): Promise<void> {
  const { log, now, leaseS } = dependencies;
  const { realm, pool, signal } = target;
  const start = now();
  const fields = { realm: realm.id, job: job.name, id: job.id, attempt: job.attempts };
  if (signal.aborted) return await writing(pool, (db) => releaseJob(db, job));
  const heartbeat = keepLease(pool, job, leaseS);
  try {
    const task = TASKS[job.name as JobName];
    if (task === undefined) throw new TypeError(`there is no job ${job.name}`);
    const plain = workerContext(dependencies, target, job.id);
    const isElsewhere = realm.database_url_encrypted !== null;
    const context: WorkerContext = {
      ...plain,
      ...isElsewhere && { noteRealm: () => takeRealmStep(plain, dependencies.database.platform) },
      signal: AbortSignal.any([signal, heartbeat.lost]),
      step: (work, ...options) => {
        const given = [{ ...options[0], lockOrders: ORDER_JOBS.has(job.name) }] as typeof options;
        return serializable(pool, (tx) => fenced(tx, job, work), ...given);
      },
    };
    await task(context, job.payload as never);
    await writing(pool, (db) => markDone(db, job));
    log("debug", "job", { ...fields, outcome: "done", duration_ms: now() - start });
  } catch (error) {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    const waits = NODE_JOBS.has(job.name) && error instanceof ChainError &&
      error.fault === "unavailable";
    const pauseMs = backoffMs(job.attempts);
    const delayMs = waits ? Math.min(NODE_PAUSE_MS, pauseMs) : pauseMs;
    const failure = { error: text.slice(0, 2000), delayMs, waits };
    await locking(pool, (tx) => failJob(tx, { at: now() }, job, failure));
    annotate({}, error instanceof Error ? error.name : "Error");
    log("warn", "job", { ...fields, outcome: "failed", error });
  } finally {
    heartbeat.end();
  }
}

/** Runs a step of an attempt, in a transaction that holds the job. */
async function fenced<T, Fenced extends Tx>(
  tx: Fenced,
  job: JobRow,
  work: (tx: Fenced) => Promise<T>,
): Promise<T> {
  if (!await holdJob(tx, job)) throw new LeaseLost(`attempt ${job.attempts} has lost its lease`);
  return await work(tx);
}

/** Each step checks the lease, so a failure to prolong it ends nothing. */
function keepLease(pool: Pool, job: JobRow, leaseS: number): Heartbeat {
  const prolong = () => writing(pool, (db) => extendLease(db, job, leaseS));
  return startHeartbeat(leaseS * 1000, prolong, { failureEnds: false });
}

/**
 * Gives the pause before the next attempt: from a second to an hour, with jitter so that failed jobs
 * do not all return at once.
 */
function backoffMs(attempts: number): number {
  return Math.min(3_600_000, 500 * 2 ** attempts) * (0.5 + Math.random() / 2);
}
