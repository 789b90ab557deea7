/** Jobs as administrators of a realm see them: ids of what they are about, and never a secret or a content. @module */
import { z } from "zod";
import {
  selectDeadJobs,
  selectJob,
  selectOpenJobs,
  type ShownJobRow,
} from "../../db/jobs/shown_jobs.ts";
import type { DeadRow } from "../../db/jobs.ts";
import type { Db } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { invalidQuery } from "../collections/filter.ts";
import { Id } from "../entity.ts";
import { isId } from "../ids.ts";
import type { JobName, JobPayloads } from "../jobs.ts";
import { assertRealmAdmin, notFound } from "../permissions.ts";
import { shownText } from "../shown_texts.ts";

/** The fields of a payload that are shown: all of them, while all are ids, numbers and names of chains. */
const SHOWN: { readonly [N in JobName]: readonly (keyof JobPayloads[N] & string)[] } = {
  "account.enable": ["account"],
  "deposit.rescan": ["chain", "testnet", "hash", "from", "to"],
  "deposit.sweep": ["account"],
  "deposit.swept": ["sweep"],
  "exchange.advance": ["transfer"],
  "exchange.check": ["ramp"],
  "message.send": ["message", "attempt"],
  "order.advance": ["order", "version"],
  "persons.sync": ["sync"],
  "ramp.open": ["account"],
  "ramp.reserve": ["account"],
  "token.check": ["token"],
};
const NAMES = Object.keys(SHOWN) as [JobName, ...JobName[]];

/** Which jobs are listed. */
export const JobList = z.strictObject({
  state: z.enum(["dead", "late", "running", "ready"]).default("dead").meta({
    description: "`late`: ready, and due for over a minute.",
  }),
  name: z.enum(NAMES).optional(),
  after: Id.optional().meta({ description: "The last job of the page before." }),
  limit: z.string().regex(/^([1-9]\d{0,2}|1000)$/, "from 1 to 1000 is allowed").optional().meta({
    type: "integer",
    minimum: 1,
    maximum: 1000,
  }),
});
/** Which jobs are listed. */
export type JobList = z.infer<typeof JobList>;

const Payload = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).meta({
  description: "What it is about: ids.",
});

/** A job as shown. */
export const JobView = z.object({
  id: z.string(),
  name: z.string(),
  payload: Payload,
  state: z.enum(["ready", "running", "done", "dead", "discarded"]),
  late: z.boolean().meta({ description: "Ready, and due for over a minute." }),
  attempts: z.number().int(),
  attempts_max: z.number().int(),
  error: z.string().nullable().meta({
    description: "How the last attempt failed, without addresses of hosts.",
  }),
  due_at: z.number().int().nullable().meta({ description: "Of one that is ready." }),
  leased_until: z.number().int().nullable().meta({
    description: "Until when the worker that runs it holds it; workers prolong that.",
  }),
  discarded: z.object({ by: z.string().nullable(), reason: z.string() }).nullable(),
  finished_at: z.number().int().nullable(),
  created_at: z.number().int(),
}).meta({ id: "Job" });

/** A dead job as its event tells of it. */
export const DeadJobView = z.object({
  id: z.string(),
  name: z.string(),
  payload: Payload,
  attempts: z.number().int(),
});

/** Jobs of a list unless it is asked for others. */
export const JOBS_USUAL = 100;
/** Of jobs that are ready or run, so many are listed: those that are due longest. */
const OPEN_MAX = 1000;

/**
 * Lists jobs by their ids, oldest first.
 *
 * @throws {DomainError} permission.role, permission.scope, query.invalid
 */
export async function listJobs(
  db: Db,
  actor: Actor,
  { state, name, after, limit }: JobList,
): Promise<Record<string, unknown>[]> {
  assertRealmAdmin(actor);
  if (after !== undefined && !isId(after)) {
    throw invalidQuery("/after", "the id of a job is expected");
  }
  const part = {
    name: name ?? null,
    after: after ?? null,
    limit: limit === undefined ? JOBS_USUAL : parseInt(limit, 10),
  };
  const rows = state === "dead"
    ? await selectDeadJobs(db, part)
    : await selectOpenJobs(db, state, { ...part, among: OPEN_MAX });
  return rows.map(viewJob);
}

/**
 * Reads a job.
 *
 * @throws {DomainError} permission.role, permission.scope, job.not_found
 */
export async function findJob(db: Db, actor: Actor, id: string): Promise<ShownJobRow> {
  assertRealmAdmin(actor);
  const row = isId(id) ? await selectJob(db, id) : null;
  if (row === null) throw notFound("job.not_found");
  return row;
}

/** Shows a job. */
export function viewJob(row: ShownJobRow): Record<string, unknown> {
  return {
    id: row.id,
    name: row.name,
    payload: shownPayload(row),
    state: row.state,
    late: row.late,
    attempts: row.attempts,
    attempts_max: row.attempts_max,
    error: row.last_error === null ? null : shownText(row.last_error),
    due_at: row.state === "ready" ? row.run_at : null,
    leased_until: row.state === "running" ? row.locked_until : null,
    discarded: row.discard_reason === null
      ? null
      : { by: row.discarded_by, reason: row.discard_reason },
    finished_at: row.finished_at,
    created_at: row.created_at,
  };
}

/** Shows a job that has just died. */
export function viewDeadJob(row: DeadRow): Record<string, unknown> {
  const { id, name, attempts } = row;
  return { id, name, payload: shownPayload(row), attempts };
}

function shownPayload(
  { name, payload }: Pick<DeadRow, "name" | "payload">,
): Record<string, unknown> {
  const fields: readonly string[] = SHOWN[name as JobName] ?? [];
  return Object.fromEntries(
    fields.filter((field) => isPlain(payload[field])).map((field) => [field, payload[field]]),
  );
}

/** Longest text in a payload: the hash of a transaction on Solana has 88 characters. */
const TEXT_MAX = 100;

function isPlain(value: unknown): boolean {
  if (typeof value === "string") return value.length <= TEXT_MAX;
  return typeof value === "number" || typeof value === "boolean";
}
