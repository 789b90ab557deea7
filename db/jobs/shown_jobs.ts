/** Statements on jobs for administrators: lists that read no more than they show, and changes of dead jobs. @module */
import type { Db, Tx } from "../database.ts";

/** A job as an administrator sees it. */
export interface ShownJobRow {
  id: string;
  name: string;
  payload: Record<string, unknown>;
  state: "ready" | "running" | "done" | "dead" | "discarded";
  /** Ready, and due for over a minute. */
  late: boolean;
  attempts: number;
  attempts_max: number;
  last_error: string | null;
  run_at: number;
  locked_until: number | null;
  discarded_by: string | null;
  discard_reason: string | null;
  finished_at: number | null;
  created_at: number;
}

const COLUMNS = [
  ...["id", "name", "payload", "state", "attempts", "attempts_max", "last_error", "run_at"],
  ...["locked_until", "discarded_by", "discard_reason", "finished_at", "created_at"],
] as const;

/** A part of a list of jobs. */
export interface JobPart {
  name: string | null;
  after: string | null;
  limit: number;
}

/** Reads dead jobs in the order of their ids. */
export async function selectDeadJobs(db: Db, part: JobPart): Promise<ShownJobRow[]> {
  return await db<ShownJobRow[]>`
    select ${columns(db)} from jobs where state = 'dead' and ${within(db, part)}
    order by id limit ${part.limit}`;
}

/**
 * Reads jobs that are ready, late or running in the order of their ids: among so many of them that are due longest.
 */
export async function selectOpenJobs(
  db: Db,
  state: "ready" | "late" | "running",
  { among, ...part }: JobPart & { among: number },
): Promise<ShownJobRow[]> {
  const some = state === "running"
    ? db`where state = 'running' order by locked_until, id`
    : state === "ready"
    ? db`where state = 'ready' order by run_at, id`
    : db`where state = 'ready' and run_at < now() - interval '1 minute' order by run_at, id`;
  return await db<ShownJobRow[]>`
    select ${columns(db)} from (select ${db(COLUMNS)} from jobs ${some} limit ${among}) jobs
    where ${within(db, part)} order by id limit ${part.limit}`;
}

/** Reads a job. */
export async function selectJob(db: Db, id: string): Promise<ShownJobRow | null> {
  const [row] = await db<ShownJobRow[]>`select ${columns(db)} from jobs where id = ${id}`;
  return row ?? null;
}

/** Makes a dead job due now; false where it is not dead. */
export async function retryDeadJob(tx: Tx, id: string): Promise<boolean> {
  const [row] = await tx<{ retried: boolean }[]>`select retry_job(${id}) as retried`;
  return row.retried;
}

/** Gives a dead job up; false where it is not dead. */
export async function discardDeadJob(
  tx: Tx,
  id: string,
  { by, reason }: { by: string; reason: string },
): Promise<boolean> {
  const [row] = await tx<{ discarded: boolean }[]>`
    select discard_job(${id}, ${by}, ${reason}) as discarded`;
  return row.discarded;
}

function columns(db: Db) {
  return db`${db(COLUMNS)}, state = 'ready' and run_at < now() - interval '1 minute' as late`;
}

function within(db: Db, { name, after }: JobPart) {
  return db`${name === null ? db`true` : db`name = ${name}`}
    and ${after === null ? db`true` : db`id > ${after}`}`;
}
