/**
 * The runner claims jobs of each realm under a lease and runs them between steps, as many at a time as its
 * limits allow; a job that ends makes room for the next. A commit of this process wakes it; otherwise it
 * polls. On an edge platform, a tick drains the due jobs and returns.
 * @module
 */
import { type JobRow, releaseJob, selectDue } from "../../db/jobs.ts";
import {
  claimDueJobs,
  type ClaimedRow,
  type ClaimLimits,
  EXCHANGE_JOBS,
} from "../../db/jobs/claims.ts";
import { realmPages } from "../../db/realms/realm_pages.ts";
import { type RealmRow, selectRealmsById } from "../../db/realms/realms.ts";
import { locking, reading, writing } from "../../db/transaction.ts";
import { recoverJobs } from "../../domain/jobs/dead_jobs.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { confirmRealm } from "../installation/attestation.ts";
import { openRunningTasks, type RunningTasks } from "../task_queue.ts";
import { withTimeout } from "../timers.ts";
import { type RealmTarget, workerContext } from "../worker_context.ts";
import { attemptJob, type RunnerDependencies } from "./attempts.ts";
import {
  claimsLeft,
  JOBS_MAX,
  kindShare,
  REALMS_AT_ONCE,
  realmShare,
  type RunningClaim,
} from "./shares.ts";

/** The running workers of a process. */
export interface Runner {
  /** Tells the runner that a realm has a job now. */
  wake(realm: string): void;
  /** Runs everything that is due, in every realm, until the time is up. */
  drain(budgetMs: number): Promise<void>;
  /** Finishes the running jobs, releases those that wait, and returns. */
  stop(): Promise<void>;
}

/** Options of a runner. */
export interface RunnerOptions extends Omit<RunnerDependencies, "leaseS"> {
  /** How often every realm is polled without being woken. */
  pollMs: number;
  leaseS?: number;
}

const LEASE_S = 60;
/**
 * Jobs that wait for exchanges have slots of their own in a realm: its customers choose the exchanges, which may be slow,
 * and how much they are asked.
 */
const EXCHANGE_JOBS_MAX = 8;
/** So many in the process leave each realm one, and other work its slots: hanging exchanges of many realms are many. */
const EXCHANGES_CROWDED = 40;
const EXCHANGE_KIND = "exchanges";
/** Longest that slow realms keep the next ones waiting. */
const PAGE_WAIT_MAX_MS = 3000;
/** A claim that takes longer gives up its place: its server may hang for a minute. */
const CLAIM_WAIT_MAX_MS = 3000;
const HOUSEKEEPING_MS = 60_000;
/** Pause after a failed poll of a realm. */
const BACKOFF_MS = 10_000;

/** State of a runner. */
interface RunnerState {
  dependencies: RunnerDependencies;
  signal: AbortSignal;
  only: string | null;
  /** Realms as of the last poll or wake-up. */
  realms: Map<string, RealmRow>;
  woken: Set<string>;
  /** Number of running jobs, by realm and kind. */
  jobs: Map<string, Map<string, number>>;
  /** Jobs that claims in flight may add to the running ones. */
  reserved: number;
  /** Claims that run, by realm. */
  claims: Map<string, RunningClaim>;
  /** Polls, claims and attempts that run. */
  tasks: RunningTasks;
  housekeptAt: number;
  /** When a realm with an unreachable database is polled again. */
  awayUntil: Map<string, number>;
  /** Functions that end the sleep of the loops. */
  sleepers: Set<() => void>;
}

/** Starts the workers. With `loop: false` they work only when drained, `only` for one realm. */
export function startRunner(
  options: RunnerOptions,
  how: { loop?: boolean; only?: string } = {},
): Runner {
  const leaving = new AbortController();
  const state = openState(options, leaving.signal, how.only ?? null);
  async function loop(): Promise<void> {
    for (let pollAt = 0; !state.signal.aborted;) {
      if (options.now() >= pollAt) {
        pollAt = options.now() + options.pollMs;
        state.tasks.start("poll all", () => pollAll(state));
      }
      const slept = sleepUntilNotified(state, pollAt - options.now());
      claimWoken(state);
      await slept;
    }
  }
  const looping = how.loop ?? true ? loop() : Promise.resolve();
  return {
    wake(realm) {
      state.woken.add(realm);
      notify(state);
    },
    drain: (budgetMs) => drain(state, options.now() + budgetMs),
    async stop() {
      leaving.abort();
      notify(state);
      await looping;
      await state.tasks.settled();
    },
  };
}

function openState(
  options: RunnerOptions,
  signal: AbortSignal,
  only: string | null,
): RunnerState {
  const state: RunnerState = {
    ...{ signal, only },
    dependencies: { ...options, leaseS: options.leaseS ?? LEASE_S },
    realms: new Map(),
    woken: new Set(),
    jobs: new Map(),
    reserved: 0,
    claims: new Map(),
    tasks: openRunningTasks({
      ...{ log: options.log, signal },
      failure: "runner task failed",
      onEnd: () => notify(state),
    }),
    housekeptAt: -Infinity,
    awayUntil: new Map(),
    sleepers: new Set(),
  };
  return state;
}

/** Runs due jobs until none is left, or the time is up, and waits for those that run then. */
async function drain(state: RunnerState, until: number): Promise<void> {
  const { dependencies: { now }, tasks, woken } = state;
  tasks.start("poll all", () => pollAll(state));
  while (!state.signal.aborted && now() < until) {
    const slept = sleepUntilNotified(state, until - now());
    claimWoken(state);
    if (tasks.size === 0 && woken.size === 0) notify(state);
    await slept;
    if (tasks.size === 0 && woken.size === 0) return;
  }
  await tasks.settled();
}

/** Sleeps until `notify` is called, or so many milliseconds. */
async function sleepUntilNotified(state: RunnerState, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  state.sleepers.add(resolve);
  const timer = setTimeout(resolve, Math.max(0, ms));
  await promise;
  clearTimeout(timer);
  state.sleepers.delete(resolve);
}

function notify(state: RunnerState): void {
  for (const resolve of state.sleepers) resolve();
}

/** Polls every realm over shared connections, and wakes the realms with due jobs. */
async function pollAll(state: RunnerState): Promise<void> {
  const { dependencies: { database, now }, only, signal, tasks } = state;
  const housekeep = now() - state.housekeptAt >= HOUSEKEEPING_MS;
  if (housekeep) state.housekeptAt = now();
  const known = new Map<string, RealmRow>();
  for await (const page of realmPages(database.platform, { only })) {
    for (let i = 0; i < page.length && !signal.aborted;) {
      const polls = page.slice(i, i += REALMS_AT_ONCE).map((realm) => {
        known.set(realm.id, realm);
        return tasks.run(`poll ${realm.id}`, () => pollRealm(state, realm, housekeep));
      });
      await withTimeout(Promise.all(polls), PAGE_WAIT_MAX_MS);
    }
    if (signal.aborted) return;
  }
  if (!signal.aborted) state.realms = known;
}

async function pollRealm(state: RunnerState, realm: RealmRow, housekeep: boolean): Promise<void> {
  const { database, now } = state.dependencies;
  if (now() < (state.awayUntil.get(realm.id) ?? 0)) return;
  state.awayUntil.set(realm.id, now() + BACKOFF_MS);
  const shared = database.sharedPool(locationOf(realm));
  if (housekeep) {
    await locking(shared, (tx) => recoverJobs(tx, { at: now() }));
  }
  const due = await selectDue(shared);
  state.awayUntil.delete(realm.id);
  if (!due) return;
  state.realms.set(realm.id, realm);
  state.woken.add(realm.id);
}

/** Starts to claim jobs of the realms that were woken, as far as the limits allow. */
function claimWoken(state: RunnerState): void {
  for (const id of state.woken) {
    if (state.tasks.has(claimOf(id))) continue; // its end, which comes a little later, notifies once more
    if (claimsLeft(state.claims.values(), null) <= 0 || jobsLeft(state) <= 0) return;
    const server = serverOf(state, id);
    if (claimsLeft(state.claims.values(), server) <= 0) continue;
    state.woken.delete(id);
    startClaim(state, id, server);
  }
}

/** Names the server of a realm's own database. In the platform's one a realm that hangs, by its locks, hangs alone. */
function serverOf({ dependencies, realms }: RunnerState, id: string): string {
  const realm = realms.get(id);
  if (!realm?.database_url_encrypted) return id;
  return dependencies.database.serverOf(locationOf(realm));
}

function startClaim(state: RunnerState, id: string, server: string): void {
  const running: RunningClaim = { server, late: false };
  state.claims.set(id, running);
  state.tasks.start(claimOf(id), async () => {
    try {
      await claim(state, id, running);
    } finally {
      state.claims.delete(id);
    }
  });
}

function claimOf(id: string): string {
  return `claim ${id}`;
}

/** Claims jobs of a realm, and starts them. */
async function claim(state: RunnerState, id: string, running: RunningClaim): Promise<void> {
  const { database, leaseS } = state.dependencies;
  const realm = state.realms.get(id) ?? await findRealm(state, id);
  if (realm === null) return;
  const limits = limitsOf(state, id);
  const most = limits.limit + limits.exchanges;
  if (most <= 0) return; // a job that ends wakes the realm again
  const target = { realm, pool: database.working(locationOf(realm)), signal: state.signal };
  state.reserved += most;
  const late = setTimeout(() => {
    running.late = true;
    state.reserved -= most;
    notify(state);
  }, CLAIM_WAIT_MAX_MS);
  try {
    const jobs = await claimDueJobs(target.pool, leaseS, limits);
    await confirm(state, target, jobs);
    // Others may have started jobs in the place of those that come late.
    const room = running.late ? Math.max(0, jobsLeft(state)) : jobs.length;
    for (const job of jobs.slice(0, room)) startJob(state, target, job);
    await release(target, jobs.slice(room));
    const asked = jobs.filter(({ name }) => kindOf(name) === EXCHANGE_KIND).length;
    const isFull = (claimed: number, limit: number) => limit > 0 && claimed === limit;
    if (
      room < jobs.length || isFull(jobs.length - asked, limits.limit) ||
      isFull(asked, limits.exchanges)
    ) {
      state.woken.add(id);
    }
  } finally {
    clearTimeout(late);
    if (!running.late) state.reserved -= most;
  }
}

/** How many jobs of a realm may be claimed, and of which kinds there are enough. */
function limitsOf(state: RunnerState, id: string): ClaimLimits {
  const kinds = new Map(state.jobs.get(id));
  const asking = kinds.get(EXCHANGE_KIND) ?? 0;
  kinds.delete(EXCHANGE_KIND);
  const counts = [...kinds.values()];
  const ofRealm = realmShare(runningJobs(state));
  const ofKind = kindShare(ofRealm);
  const except = [...kinds.keys()].filter((kind) => kinds.get(kind)! >= ofKind);
  const most = Math.max(0, ...counts.filter((count) => count < ofKind));
  const left = ofRealm - counts.reduce((sum, count) => sum + count, 0);
  const limit = Math.max(0, Math.min(left, jobsLeft(state), ofKind - most));
  const share = exchangeJobs(state) < EXCHANGES_CROWDED ? EXCHANGE_JOBS_MAX : 1;
  const exchanges = Math.max(0, Math.min(share - asking, jobsLeft(state) - limit));
  return { limit, except, exchanges };
}

/** How many jobs wait for exchanges, in all realms. */
function exchangeJobs({ jobs }: RunnerState): number {
  return [...jobs.values()].reduce((sum, kinds) => sum + (kinds.get(EXCHANGE_KIND) ?? 0), 0);
}

function kindOf(name: string): string {
  return EXCHANGE_JOBS.includes(name) ? EXCHANGE_KIND : name;
}

/** Compares the realm before its claimed jobs start; releases them where that fails. */
async function confirm(
  { dependencies }: RunnerState,
  target: RealmTarget,
  jobs: readonly ClaimedRow[],
): Promise<void> {
  if (jobs.length === 0) return;
  try {
    const context = workerContext(dependencies, target);
    await confirmRealm(context, dependencies.database.platform, jobs[0].token);
  } catch (error) {
    await release(target, jobs);
    throw error;
  }
}

async function release({ pool }: RealmTarget, jobs: readonly ClaimedRow[]): Promise<void> {
  for (const job of jobs) await writing(pool, (db) => releaseJob(db, job));
}

async function findRealm(state: RunnerState, id: string): Promise<RealmRow | null> {
  const { platform } = state.dependencies.database;
  const [realm] = await reading(platform, (db) => selectRealmsById(db, [id]));
  if (realm === undefined) return null;
  state.realms.set(id, realm);
  return realm;
}

/** Gives the number of jobs that the process may still start. */
function jobsLeft(state: RunnerState): number {
  return JOBS_MAX - state.reserved - runningJobs(state);
}

function runningJobs({ jobs }: RunnerState): number {
  return [...jobs.values()].flatMap((kinds) => [...kinds.values()])
    .reduce((sum, count) => sum + count, 0);
}

function startJob(state: RunnerState, target: RealmTarget, job: JobRow): void {
  const { id } = target.realm;
  count(state, id, job.name, 1);
  state.tasks.start(`job ${job.id} ${job.attempts}`, async () => {
    try {
      await attemptJob(state.dependencies, target, job);
    } finally {
      count(state, id, job.name, -1);
      state.woken.add(id);
    }
  });
}

function count(state: RunnerState, realm: string, name: string, change: number): void {
  const kind = kindOf(name);
  const kinds = state.jobs.get(realm) ?? new Map<string, number>();
  const now = (kinds.get(kind) ?? 0) + change;
  if (now > 0) kinds.set(kind, now);
  else kinds.delete(kind);
  if (kinds.size > 0) state.jobs.set(realm, kinds);
  else state.jobs.delete(realm);
}
