/**
 * The runner: claims jobs of each realm under a lease, runs them between steps, puts failures back
 * with a growing pause, and looks after the table. Woken in process after a commit; otherwise it
 * looks by itself from time to time. On an edge platform, a tick drains what is due and returns.
 * @module
 */
import type { Database, Pool } from "../db/database.ts";
import {
  claimJobs,
  deleteOldJobs,
  extendLease,
  type JobRow,
  markDone,
  markFailed,
  reapJobs,
  releaseJob,
} from "../db/jobs.ts";
import { type RealmRow, selectRealms, selectRealmsById } from "../db/realms.ts";
import { reading, serializable, writing } from "../db/transaction.ts";
import type { Actor } from "../domain/actor.ts";
import type { JobName } from "../domain/jobs.ts";
import { placeOf } from "../domain/realms.ts";
import type { Log } from "../log.ts";
import type { Bench } from "./bench.ts";
import type { Chains } from "./chains/registry.ts";
import type { Signer } from "./signer.ts";
import { TASKS } from "./tasks.ts";

/** The running workers of a process. */
export interface Runner {
  /** Says that a realm has something to do now. */
  wake(realm: string): void;
  /** Runs everything that is due, in every realm, until the time is up. */
  drain(budgetMs: number): Promise<void>;
  /** Finishes what runs, releases what waits, and returns. */
  stop(): Promise<void>;
}

/** How the runner works. */
export interface RunnerOptions {
  database: Database;
  log: Log;
  chains: Chains;
  signer: Signer;
  now: () => number;
  /** How often every realm is looked at without being woken. */
  pollMs: number;
}

const LEASE_S = 60;
const CLAIMED_AT_ONCE = 20;
const REALMS_AT_ONCE = 4;
const REALMS_PAGE = 200;
const HOUSEKEEPING_MS = 60_000;

/** Starts the workers. With `loop: false` they work only when drained, `only` for one realm. */
export function startRunner(
  options: RunnerOptions,
  how: { loop?: boolean; only?: string } = {},
): Runner {
  const leaving = new AbortController();
  const woken = new Set<string>();
  let nudge = Promise.withResolvers<void>();
  let housekeptAt = 0;

  async function loopBody(): Promise<void> {
    let lookAt = 0;
    while (!leaving.signal.aborted) {
      const everything = options.now() >= lookAt;
      if (everything) lookAt = options.now() + options.pollMs;
      const wanted = everything ? null : new Set(woken);
      woken.clear();
      nudge = Promise.withResolvers<void>();
      await round(wanted).catch((error) =>
        options.log("error", "a round of jobs failed", { error })
      );
      if (woken.size === 0) await rest(Math.max(0, lookAt - options.now()));
    }
  }

  async function rest(ms: number): Promise<void> {
    const timer = setTimeout(() => nudge.resolve(), ms);
    await nudge.promise;
    clearTimeout(timer);
  }

  /** Works through the given realms, or all, until the time is up. */
  async function round(only: Set<string> | null, until = Infinity): Promise<void> {
    const over = () => leaving.signal.aborted || options.now() >= until;
    const housekeep = only === null && options.now() - housekeptAt >= HOUSEKEEPING_MS;
    if (housekeep) housekeptAt = options.now();
    for await (const batch of realmPages(options.database, only)) {
      for (let i = 0; i < batch.length && !over(); i += REALMS_AT_ONCE) {
        await Promise.all(
          batch.slice(i, i + REALMS_AT_ONCE)
            .map((realm) => workThrough(options, leaving.signal, realm, { housekeep, over })),
        );
      }
    }
  }

  const looping = how.loop ?? true ? loopBody() : Promise.resolve();
  return {
    wake(realm) {
      woken.add(realm);
      nudge.resolve();
    },
    async drain(budgetMs) {
      await round(how.only === undefined ? null : new Set([how.only]), options.now() + budgetMs);
    },
    async stop() {
      leaving.abort();
      nudge.resolve();
      await looping;
    },
  };
}

/** Runs what is due in one realm. */
async function workThrough(
  options: RunnerOptions,
  leaving: AbortSignal,
  realm: RealmRow,
  how: { housekeep: boolean; over: () => boolean },
): Promise<void> {
  const pool = options.database.realm(placeOf(realm));
  if (how.housekeep) {
    await writing(pool, reapJobs);
    await writing(pool, deleteOldJobs);
  }
  while (!how.over()) {
    const jobs = await writing(pool, (db) => claimJobs(db, CLAIMED_AT_ONCE, LEASE_S));
    if (jobs.length === 0) return;
    await Promise.all(jobs.map((job) => runJob(options, leaving, realm, pool, job)));
  }
}

async function* realmPages(
  database: Database,
  only: Set<string> | null,
): AsyncGenerator<RealmRow[]> {
  if (only !== null) {
    yield await reading(database.platform, (db) => selectRealmsById(db, [...only]));
    return;
  }
  for (let after: string | null = null;;) {
    const page: RealmRow[] = await readPage(database, after);
    if (page.length === 0) return;
    yield page;
    after = page[page.length - 1].id;
  }
}

async function readPage(database: Database, after: string | null): Promise<RealmRow[]> {
  return await reading(database.platform, (db) => selectRealms(db, after, REALMS_PAGE));
}

/** Runs one attempt at a job and writes down how it ended. */
async function runJob(
  options: RunnerOptions,
  signal: AbortSignal,
  realm: RealmRow,
  pool: Pool,
  job: JobRow,
): Promise<void> {
  const start = options.now();
  const line = { realm: realm.id, job: job.name, id: job.id, attempt: job.attempts };
  if (signal.aborted) return await writing(pool, (db) => releaseJob(db, job));
  const heartbeat = setInterval(
    () => writing(pool, (db) => extendLease(db, job, LEASE_S)).catch(() => {}),
    LEASE_S * 1000 / 3,
  );
  try {
    const task = TASKS[job.name as JobName];
    if (task === undefined) throw new TypeError(`there is no job ${job.name}`);
    const bench: Bench = {
      realm,
      pool,
      log: options.log,
      chains: options.chains,
      signer: options.signer,
      signal,
      actor: workerActor(realm, job.id, start),
      step: (work, how) => serializable(pool, work, how),
    };
    await task(bench, job.payload as never);
    await writing(pool, (db) => markDone(db, job));
    options.log("debug", "job", { ...line, outcome: "done", duration_ms: options.now() - start });
  } catch (error) {
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    await writing(pool, (db) => markFailed(db, job, text.slice(0, 2000), backoffMs(job.attempts)));
    options.log("warn", "job", { ...line, outcome: "failed", error });
  } finally {
    clearInterval(heartbeat);
  }
}

/** Grows from a second to an hour, with jitter so that failures do not march in step. */
function backoffMs(attempts: number): number {
  return Math.min(3_600_000, 500 * 2 ** attempts) * (0.5 + Math.random() / 2);
}

/** The actor that stands for the service itself. */
export function workerActor(realm: RealmRow, requestId: string, at: number): Actor {
  return {
    user: realm.id,
    kind: "worker",
    realm: {
      id: realm.id,
      country: realm.country,
      accountingCurrency: realm.accounting_currency,
    },
    roles: ["admin", "manage", "user"],
    scopes: ["realm", "own"],
    at,
    requestId,
    address: null,
  };
}
