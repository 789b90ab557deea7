/** Routes of jobs: what workers do after an answer, for administrators. @module */
import { z } from "zod";
import { Discard, discardJob, retryJob } from "../domain/jobs/dead_jobs.ts";
import {
  findJob,
  JobList,
  JOBS_USUAL,
  JobView,
  listJobs,
  viewJob,
} from "../domain/jobs/job_views.ts";
import type { JobPayloads } from "../domain/jobs.ts";
import { recordDiscarded } from "../domain/messages/sending.ts";
import { command, query, search } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const TAG = "Operations";
const ADMIN = ["permission.role", "permission.scope"] as const;

/** The routes of jobs. */
export const jobRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/jobs",
    tag: TAG,
    summary: "List the jobs of workers: dead ones, late ones, running ones",
    description: "For administrators of the realm, by id, oldest first. A job is dead after its " +
      "last attempt. Of jobs that are ready, late or running, the thousand that are due longest " +
      "are listed.",
    access: "user",
    query: JobList,
    status: 200,
    answer: z.array(JobView),
    continues: { cursor: "id", usual: JOBS_USUAL },
    errors: ADMIN,
    handle: (call) => search(call, (db) => listJobs(db, call.actor, call.query), false, JOBS_USUAL),
  }),
  route({
    method: "GET",
    path: "/v1/jobs/{id}",
    tag: TAG,
    summary: "Read a job",
    description: "For administrators of the realm. Jobs that are done are kept for 7 days, dead " +
      "and discarded ones for 90.",
    access: "user",
    params: ById,
    status: 200,
    answer: JobView,
    errors: [...ADMIN, "job.not_found"],
    handle: (call) =>
      query(call, async (db) => viewJob(await findJob(db, call.actor, call.params.id))),
  }),
  route({
    method: "POST",
    path: "/v1/jobs/{id}/retry",
    tag: TAG,
    summary: "Retry a dead job now",
    description: "For administrators of the realm. It is due at once, with as many attempts as a " +
      "new job. One that waits or runs is a worker's: `version.conflict`.",
    access: "user",
    params: ById,
    status: 200,
    answer: JobView,
    errors: [...ADMIN, "job.not_found", "version.conflict"],
    handle: (call) =>
      command(call, async (tx) => viewJob(await retryJob(tx, call.actor, call.params.id))),
  }),
  route({
    method: "POST",
    path: "/v1/jobs/{id}/discard",
    tag: TAG,
    summary: "Discard a dead job, with a reason",
    description: "For administrators of the realm. Only jobs that are asked for again or repeat " +
      "by themselves: `exchange.check`, `message.send`, `persons.sync`. Value waits for all " +
      "others, such as payments to be sent and deposits to be credited or swept: " +
      "`condition.failed`.",
    access: "user",
    params: ById,
    body: Discard,
    status: 200,
    answer: JobView,
    errors: [...ADMIN, "job.not_found", "version.conflict", "condition.failed"],
    handle: (call) => {
      const input = { ...call.params, ...call.body };
      return command(call, async (tx) => {
        const job = await discardJob(tx, call.actor, input);
        // Its message would keep its content, and wait for ever.
        if (job.name === "message.send") {
          await recordDiscarded(tx, call.actor, job.payload as JobPayloads["message.send"]);
        }
        return viewJob(job);
      });
    },
  }),
];
