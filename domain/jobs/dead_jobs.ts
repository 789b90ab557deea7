/**
 * Dead jobs: those whose last attempt failed. An administrator retries them; those for which no value waits may be
 * discarded instead. Jobs that wait or run are a worker's alone.
 * @module
 */
import { z } from "zod";
import type { Tx } from "../../db/database.ts";
import { brokenConstraint } from "../../db/errors.ts";
import { type DeadRow, type JobRow, markFailed, reapJobs } from "../../db/jobs.ts";
import { discardDeadJob, retryDeadJob, type ShownJobRow } from "../../db/jobs/shown_jobs.ts";
import type { Actor } from "../actor.ts";
import { text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { emitAll } from "../events.ts";
import type { JobName } from "../jobs.ts";
import { findJob, viewDeadJob } from "./job_views.ts";

/** Why a job is discarded. */
export const Discard = z.strictObject({ reason: text(500) }).meta({ id: "DiscardJob" });
/** Why a job is discarded. */
export type Discard = z.infer<typeof Discard>;

/**
 * Jobs that may be discarded: what they do is asked for again through the API, or repeats by itself. Value waits for
 * all others: a payment to be sent, a deposit to be credited or swept, an address that a payment is on its way to.
 * The database has the same list (`jobs_discarded`).
 */
const DISCARDABLE: ReadonlySet<string> = new Set<JobName>([
  "exchange.check",
  "message.send",
  "persons.sync",
]);

/** Records a failed attempt, and tells of the job if it was the last; one that `waits` never dies. */
export async function failJob(
  tx: Tx,
  by: { at: number },
  job: JobRow,
  failure: { error: string; delayMs: number; waits?: boolean },
): Promise<void> {
  const { error, delayMs, waits } = failure;
  const dead = await markFailed(tx, job, error, delayMs, waits);
  if (dead !== null) await tellDead(tx, by, [dead]);
}

/** Makes jobs ready again whose workers were lost, and tells of those that had their last attempt. */
export async function recoverJobs(tx: Tx, by: { at: number }): Promise<void> {
  await tellDead(tx, by, await reapJobs(tx));
}

async function tellDead(tx: Tx, by: { at: number }, rows: readonly DeadRow[]): Promise<void> {
  const told = rows.map((row) => ({ id: row.id, owner: null, view: viewDeadJob(row) }));
  await emitAll(tx, by, "job.dead", told);
}

/**
 * Makes a dead job due now, with as many attempts as a new one.
 *
 * @throws {DomainError} permission.role, permission.scope, job.not_found, version.conflict where it is not dead, or
 *   the same work waits or runs already
 */
export async function retryJob(tx: Tx, actor: Actor, id: string): Promise<ShownJobRow> {
  assertDead(await findJob(tx, actor, id));
  try {
    await retryDeadJob(tx, id);
  } catch (error) {
    if (brokenConstraint(error) !== "jobs_dedupe") throw error;
    throw new DomainError("version.conflict", "another job does the same work already");
  }
  return await findJob(tx, actor, id);
}

/**
 * Gives a dead job up.
 *
 * @throws {DomainError} permission.role, permission.scope, job.not_found, version.conflict where it is not dead,
 *   condition.failed where value waits for it
 */
export async function discardJob(
  tx: Tx,
  actor: Actor,
  { id, reason }: Discard & { id: string },
): Promise<ShownJobRow> {
  const row = await findJob(tx, actor, id);
  if (!DISCARDABLE.has(row.name)) {
    const why = `value waits for jobs ${row.name}: they are retried, and never discarded`;
    throw new DomainError("condition.failed", why);
  }
  assertDead(row);
  await discardDeadJob(tx, id, { by: actor.user, reason });
  return await findJob(tx, actor, id);
}

const WHY_NOT: Readonly<Record<ShownJobRow["state"], string>> = {
  ready: "it waits for its next attempt, which needs no one",
  running: "a worker holds it",
  done: "it is done",
  dead: "",
  discarded: "it was discarded",
};

function assertDead({ state }: ShownJobRow): void {
  if (state === "dead") return;
  throw new DomainError("version.conflict", `the job is not dead: ${WHY_NOT[state]}`);
}
