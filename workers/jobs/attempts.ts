/** One attempt at a job: under a lease that is kept while it runs, ended under its own token. @module */
import type { Database, Pool, Tx } from "../../db/database.ts";
import {
  extendLease,
  holdJob,
  type JobRow,
  markDone,
  markFailed,
  releaseJob,
} from "../../db/jobs.ts";
import type { RealmRow } from "../../db/realms/realms.ts";
import { serializable, writing } from "../../db/transaction.ts";
import type { JobName } from "../../domain/jobs.ts";
import type { Log } from "../../log.ts";
import { workerActor, type WorkerContext } from "../worker_context.ts";
import type { Chains } from "../chains/registry.ts";
import type { Signer } from "../keys/signer.ts";
import { TASKS } from "./handlers.ts";

/** What attempts take. */
export interface Workshop {
  database: Database;
  log: Log;
  chains: Chains;
  signer: Signer;
  now: () => number;
  /** Seconds after which a job whose worker is lost is taken by another. */
  leaseS: number;
}

/** Where a job is from, and who ran it. */
export interface Site {
  realm: RealmRow;
  pool: Pool;
  /** Given when the process is leaving. */
  signal: AbortSignal;
}

/** Another attempt has the job: this one may write nothing more. */
class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** Runs one attempt and writes down how it ended. */
export async function attemptJob(shop: Workshop, site: Site, job: JobRow): Promise<void> {
  const { realm, pool, signal } = site;
  const start = shop.now();
  const line = { realm: realm.id, job: job.name, id: job.id, attempt: job.attempts };
  if (signal.aborted) return await writing(pool, (db) => releaseJob(db, job));
  const lease = keepLease(shop, pool, job);
  try {
    const task = TASKS[job.name as JobName];
    if (task === undefined) throw new TypeError(`there is no job ${job.name}`);
    const context: WorkerContext = {
      ...contextFor(shop, site, job.id),
      signal: AbortSignal.any([signal, lease.lost]),
      step: (work, how) => serializable(pool, (tx) => fenced(tx, job, work), how),
    };
    await task(context, job.payload as never);
    await writing(pool, (db) => markDone(db, job));
    shop.log("debug", "job", { ...line, outcome: "done", duration_ms: shop.now() - start });
  } catch (error) {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    await writing(pool, (db) => markFailed(db, job, text.slice(0, 2000), backoffMs(job.attempts)));
    shop.log("warn", "job", { ...line, outcome: "failed", error });
  } finally {
    lease.end();
  }
}

/** What is worked with in a realm, outside of any attempt. */
export function contextFor(
  { log, chains, signer, now }: Workshop,
  { realm, pool, signal }: Site,
  requestId: string,
): WorkerContext {
  return {
    ...{ realm, pool, log, chains, signer, signal },
    actor: workerActor(realm, requestId, now()),
    step: (work, how) => serializable(pool, work, how),
  };
}

/** Runs a step of an attempt, in a transaction that holds the job. */
async function fenced<T>(tx: Tx, job: JobRow, work: (tx: Tx) => Promise<T>): Promise<T> {
  if (!await holdJob(tx, job)) throw new LeaseLost(`attempt ${job.attempts} has lost its lease`);
  return await work(tx);
}

/** Prolongs a job's lease while it runs; tells when another has it. */
function keepLease(shop: Workshop, pool: Pool, job: JobRow): { lost: AbortSignal; end(): void } {
  const lost = new AbortController();
  const heartbeat = setInterval(() => {
    writing(pool, (db) => extendLease(db, job, shop.leaseS)).then(
      (held) => held || lost.abort(),
      () => {}, // the database is away: the lease may outlive that, and ending is fenced
    );
  }, shop.leaseS * 1000 / 3);
  return { lost: lost.signal, end: () => clearInterval(heartbeat) };
}

/** Grows from a second to an hour, with jitter so that failures do not march in step. */
function backoffMs(attempts: number): number {
  return Math.min(3_600_000, 500 * 2 ** attempts) * (0.5 + Math.random() / 2);
}
