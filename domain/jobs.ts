/**
 * Jobs: work that a worker does after the answer. A job is a row written with its cause. @module
 */
import type { Tx } from "../db/database.ts";
import { insertJob, insertJobs, type NewJobRow } from "../db/jobs.ts";
import type { ChainId } from "./assets.ts";
import { newId } from "./ids.ts";

/** Every job and its parameters. */
export interface JobPayloads {
  "account.enable": { account: string };
  "exchange.advance": { transfer: string };
  "exchange.check": { ramp: string };
  "order.advance": { order: string; version: number };
  "ramp.open": { account: string };
  "ramp.reserve": { account: string };
  "persons.sync": { sync: string };
  "token.check": { token: string };
  "deposit.sweep": { account: string };
  "message.send": { message: string; attempt: number };
  "deposit.swept": { sweep: string };
  "deposit.rescan": {
    /** The rescan that notes what is found, if somebody asked for it. */
    rescan?: string;
    chain: ChainId;
    testnet: boolean;
    hash?: string;
    from?: number;
    to?: number;
  };
}

/** The name of a job. */
export type JobName = keyof JobPayloads;

/** How a job waits. */
export interface JobOptions {
  /** That of the entity that the job is about; a new one unless given. */
  id?: string;
  /** Jobs with one serial key run one at a time, oldest first. */
  serialKey?: string;
  /** While a job of this name and mark waits or runs, another is not added. */
  dedupe?: string;
  /** Of a job for exchanges: `user/record`, by which slots are shared out. */
  share?: string;
  /** Not before, in milliseconds since the epoch. */
  runAt?: number;
}

/** Adds a job in the caller's transaction; it runs after the commit, or not at all. */
export async function enqueue<N extends JobName>(
  tx: Tx,
  by: { at: number },
  name: N,
  payload: JobPayloads[N],
  options: JobOptions = {},
): Promise<void> {
  await insertJob(tx, jobOf(by, name, payload, options));
}

/** Makes the row of a job that is added together with its cause. */
export function jobOf<N extends JobName>(
  by: { at: number },
  name: N,
  payload: JobPayloads[N],
  options: JobOptions = {},
): NewJobRow {
  return {
    id: options.id ?? newId(by.at),
    name,
    payload,
    serialKey: options.serialKey ?? null,
    dedupe: options.dedupe ?? null,
    share: options.share ?? null,
    run_at: options.runAt ?? null,
  };
}

/** Adds jobs of one name, in their order, as {@link enqueue} adds one. */
export async function enqueueAll<N extends JobName>(
  tx: Tx,
  by: { at: number },
  name: N,
  jobs: readonly { payload: JobPayloads[N]; serialKey?: string; dedupe?: string; share?: string }[],
): Promise<void> {
  if (jobs.length === 0) return;
  await insertJobs(tx, name, jobs.map((job) => ({ id: newId(by.at), ...job })));
}
