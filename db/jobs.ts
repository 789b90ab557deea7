/** Statements of the job table: enqueue, claim under a lease, finish under the fencing token. @module */
import type postgres from "postgres";
import type { Db, Pool, Tx } from "./database.ts";
import { peeking } from "./transaction.ts";
import { traceparent } from "../tracing.ts";

/** A job as its worker sees it. */
export interface JobRow {
  id: string;
  name: string;
  payload: Record<string, unknown>;
  /** Which attempt this is, from 1; also the token that finishing must show. */
  attempts: number;
  attempts_max: number;
  /** The trace of what caused it, as W3C's `traceparent` writes it; null where none was recorded. */
  traceparent: string | null;
}

/** Fields of a new job. */
export interface NewJobRow {
  id: string;
  name: string;
  payload: Record<string, unknown>;
  /** Jobs with one serial key run one at a time, oldest first. */
  serialKey?: string | null;
  /** While a job of this name and mark waits or runs, another is not added. */
  dedupe?: string | null;
  /** Of a job for exchanges: `user/record`, who caused it and at which account; slots are shared out by both. */
  share?: string | null;
  /** Not before, in milliseconds since the epoch. */
  run_at?: number | null;
}

/** Adds a job in the caller's transaction. */
export async function insertJob(tx: Tx, job: NewJobRow): Promise<void> {
  await tx`${insertOf(tx, job)}`;
}

/** Writes the statement that adds a job, to stand in a statement that adds its cause. */
export function insertOf(tx: Tx, job: NewJobRow): postgres.PendingQuery<postgres.Row[]> {
  return tx`
    insert into jobs (id, name, payload, traceparent, serial_key, dedupe, share, run_at)
    values (${job.id}, ${job.name}, ${tx.json(job.payload as never)}, ${traceparent()},
      ${job.serialKey ?? null}, ${job.dedupe ?? null}, ${job.share ?? null}, coalesce(${
    job.run_at ?? null
  }::timestamptz, now()))
    on conflict (name, dedupe) where state in ('ready', 'running') do nothing`;
}

/** Adds jobs of one name that are due at once, in the caller's transaction. */
export async function insertJobs(
  tx: Tx,
  name: string,
  jobs: readonly Pick<NewJobRow, "id" | "payload" | "serialKey" | "dedupe" | "share">[],
): Promise<void> {
  await tx`
    insert into jobs (id, name, payload, traceparent, serial_key, dedupe, share, run_at)
    select j.id, ${name}, j.payload, ${traceparent()}, j."serialKey", j.dedupe, j.share, now()
    from jsonb_to_recordset(${tx.json(jobs as never)})
      j(id uuid, payload jsonb, "serialKey" text, dedupe text, share text)
    order by j.id
    on conflict (name, dedupe) where state in ('ready', 'running') do nothing`;
}

/**
 * Tells of which serial keys a job of a name waits that is due by a time. It is not claimed until the transaction ends, so
 * it sees what that has done.
 */
export async function holdWaiting(
  tx: Tx,
  name: string,
  of: { serialKeys: readonly string[]; by: number | null },
): Promise<ReadonlySet<string>> {
  const rows = await tx<{ serial_key: string }[]>`
    select serial_key from jobs where name = ${name} and state = 'ready'
      and serial_key = any (${of
    .serialKeys as string[]}) and run_at <= coalesce(${of.by}::timestamptz, now())
    order by id for share`;
  return new Set(rows.map(({ serial_key }) => serial_key));
}

/** Prolongs a lease; false when it was lost. */
export async function extendLease(db: Db, job: JobRow, leaseS: number): Promise<boolean> {
  const rows = await db`
    update jobs set locked_until = now() + make_interval(secs => ${leaseS})
    where ${isAttempt(db, job)} returning id`;
  return rows.length > 0;
}

/**
 * Whether an attempt still holds its job, which then stays its own until the transaction ends. Writes
 * of an attempt whose job another one has claimed are rolled back.
 */
export async function holdJob(tx: Tx, job: JobRow): Promise<boolean> {
  const rows = await tx`
    select id from jobs where ${isAttempt(tx, job)} for share`;
  return rows.length > 0;
}

/** Closes a job that succeeded. */
export async function markDone(db: Db, job: JobRow): Promise<void> {
  await db`
    update jobs set state = 'done', finished_at = now(), locked_until = null, last_error = null
    where ${isAttempt(db, job)}`;
}

/**
 * Selects a job by its id while an attempt holds it. As a plain condition the state would have PostgreSQL read an index of
 * all that run while the table is empty.
 */
function isAttempt(db: Db, { id, attempts }: JobRow): postgres.PendingQuery<postgres.Row[]> {
  return db`id = ${id} and attempts = ${attempts} and case state when 'running' then true end`;
}

/** A job that has just died. */
export type DeadRow = Pick<JobRow, "id" | "name" | "payload" | "attempts">;

/** Attempts that a job which waits for others has left at least: workers may be lost meanwhile. */
const LEFT_MIN = 6;

/**
 * Schedules a failed job again, or marks it dead after its last attempt; gives it where it is dead. One that waits for
 * others is given more attempts. None is taken back from the count, by which attempts whose lease ran out are known.
 */
export async function markFailed(
  db: Db,
  job: JobRow,
  error: string,
  delayMs: number,
  waits = false,
): Promise<DeadRow | null> {
  if (waits) {
    await db`
      update jobs set state = 'ready', attempts_max = greatest(attempts_max, attempts + ${LEFT_MIN}),
        last_error = ${error}, locked_until = null,
        run_at = now() + make_interval(secs => ${delayMs / 1000}::double precision)
      where ${isAttempt(db, job)}`;
    return null;
  }
  const [row] = await db<(DeadRow & { state: string })[]>`
    update jobs set state = case when attempts >= attempts_max then 'dead' else 'ready' end,
      finished_at = case when attempts >= attempts_max then now() end,
      last_error = ${error}, locked_until = null,
      run_at = now() + make_interval(secs => ${delayMs / 1000}::double precision)
    where ${isAttempt(db, job)}
    returning id, name, payload, attempts, state`;
  return row?.state === "dead" ? row : null;
}

/** Makes a job ready again at once, because its worker is stopping. */
export async function releaseJob(db: Db, job: JobRow): Promise<void> {
  await db`
    update jobs set state = 'ready', locked_until = null, attempts = attempts - 1
    where ${isAttempt(db, job)}`;
}

/** Makes jobs ready again whose workers were lost; gives those that had their last attempt. */
export async function reapJobs(db: Db): Promise<DeadRow[]> {
  return await db<DeadRow[]>`
    with reaped as (update jobs set state = case when attempts >= attempts_max then 'dead' else 'ready' end,
      finished_at = case when attempts >= attempts_max then now() end,
      locked_until = null, last_error = 'the lease ran out'
    where state = 'running' and locked_until < now()
    returning id, name, payload, attempts, state)
    select id, name, payload, attempts from reaped where state = 'dead' order by id`;
}

/**
 * Deletes some jobs that ended a while ago, and gives their number; dead and discarded ones stay longer, so that operators
 * can read them.
 */
export async function deleteOldJobs(db: Db, limit: number): Promise<number> {
  const gone = await db`
    delete from jobs where id = any(array(
      (select id from jobs where state = 'done' and finished_at < now() - interval '7 days' limit ${limit})
      union all
      (select id from jobs where state in ('dead', 'discarded') and finished_at < now() - interval '90 days'
        limit ${limit})))`;
  return gone.count;
}

/** Whether a job is due, as far as one read over shared connections can tell. */
export async function selectDue(pool: Pool): Promise<boolean> {
  const { due } = await peeking<{ due: boolean }>(
    pool,
    "select exists (select 1 from jobs where state = 'ready' and run_at <= now()) as due",
  );
  return due;
}
