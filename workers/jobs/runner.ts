/**
 * The runner: claims jobs of each realm under a lease and runs them between steps, as many at a time
 * as there is room for; whoever ends makes room for the next. Woken in process after a commit;
 * otherwise it looks by itself from time to time. On an edge platform, a tick drains what is due and
 * returns.
 * @module
 */
import {
  type ClaimedRow,
  claimJobs,
  deleteOldJobs,
  type JobRow,
  reapJobs,
  releaseJob,
  selectDue,
} from "../../db/jobs.ts";
import { type RealmRow, selectRealms, selectRealmsById } from "../../db/realms/realms.ts";
import { reading, writing } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import { placeOf } from "../../domain/realms/realms.ts";
import { confirmRealm } from "../installation/attestation.ts";
import { attemptJob, contextFor, type Site, type Workshop } from "./attempts.ts";
import { patiently } from "../timers.ts";

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
export interface RunnerOptions extends Omit<Workshop, "leaseS"> {
  /** How often every realm is looked at without being woken. */
  pollMs: number;
  leaseS?: number;
}

const LEASE_S = 60;
/** Jobs that run at a time in the process, in a realm, and of one kind in a realm. */
const JOBS_MAX = 200;
const REALM_JOBS_MAX = 20;
const KIND_JOBS_MAX = 15;
/** Realms whose jobs are claimed at a time. */
const VISITS_MAX = 4;
const REALMS_PAGE = 200;
/** Longest that looks at some realms keep the next ones waiting. */
const PATIENCE_MS = 3000;
const HOUSEKEEPING_MS = 60_000;
/** After a look that failed a realm is left alone for so long. */
const REST_MS = 10_000;

/** What the runner keeps in mind. */
interface Floor {
  shop: Workshop;
  signal: AbortSignal;
  only: string | null;
  /** Realms as of the last look around, or as they were woken. */
  realms: Map<string, RealmRow>;
  woken: Set<string>;
  /** Jobs in hand, by realm and kind. */
  inHand: Map<string, Map<string, number>>;
  /** Room that claims in flight have taken, besides the jobs in hand. */
  reserved: number;
  /** What runs: visits, looks and attempts, by their names. */
  running: Map<string, Promise<void>>;
  housekeptAt: number;
  /** Until when realms are left alone whose database is away. */
  awayUntil: Map<string, number>;
  /** What ends the rests of those who wait for something to do. */
  resting: Set<() => void>;
}

/** Starts the workers. With `loop: false` they work only when drained, `only` for one realm. */
export function startRunner(
  options: RunnerOptions,
  how: { loop?: boolean; only?: string } = {},
): Runner {
  const leaving = new AbortController();
  const floor: Floor = {
    shop: { ...options, leaseS: options.leaseS ?? LEASE_S },
    signal: leaving.signal,
    only: how.only ?? null,
    realms: new Map(),
    woken: new Set(),
    inHand: new Map(),
    reserved: 0,
    running: new Map(),
    housekeptAt: -Infinity,
    awayUntil: new Map(),
    resting: new Set(),
  };
  async function loop(): Promise<void> {
    for (let lookAt = 0; !floor.signal.aborted;) {
      if (options.now() >= lookAt) {
        lookAt = options.now() + options.pollMs;
        begin(floor, "look around", () => lookAround(floor));
      }
      const rested = rest(floor, lookAt - options.now());
      visitWoken(floor);
      await rested;
    }
  }
  const looping = how.loop ?? true ? loop() : Promise.resolve();
  return {
    wake(realm) {
      floor.woken.add(realm);
      nudge(floor);
    },
    drain: (budgetMs) => drain(floor, options.now() + budgetMs),
    async stop() {
      leaving.abort();
      nudge(floor);
      await looping;
      await settled(floor);
    },
  };
}

/** Runs what is due until nothing is, or the time is up; what runs then is waited for. */
async function drain(floor: Floor, until: number): Promise<void> {
  const { now } = floor.shop;
  begin(floor, "look around", () => lookAround(floor));
  while (!floor.signal.aborted && now() < until) {
    const rested = rest(floor, until - now());
    visitWoken(floor);
    if (floor.running.size === 0 && floor.woken.size === 0) nudge(floor);
    await rested;
    if (floor.running.size === 0 && floor.woken.size === 0) return;
  }
  await settled(floor);
}

async function settled(floor: Floor): Promise<void> {
  while (floor.running.size > 0) await Promise.all(floor.running.values());
}

/** Waits until somebody nudges, or so many milliseconds. */
async function rest(floor: Floor, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  floor.resting.add(resolve);
  const timer = setTimeout(resolve, Math.max(0, ms));
  await promise;
  clearTimeout(timer);
  floor.resting.delete(resolve);
}

function nudge(floor: Floor): void {
  for (const resolve of floor.resting) resolve();
}

/** Begins a piece of work unless one of its name runs; its end is an occasion to look anew. */
function begin(floor: Floor, name: string, work: () => Promise<void>): void {
  if (floor.running.has(name)) return;
  const flight = work().catch((error) => {
    if (!floor.signal.aborted) {
      floor.shop.log("error", "the runner stumbled", { work: name, error });
    }
  }).finally(() => {
    floor.running.delete(name);
    nudge(floor);
  });
  floor.running.set(name, flight);
}

/** Looks at every realm over connections that all share, and wakes those where a job is due. */
async function lookAround(floor: Floor): Promise<void> {
  const { database, now } = floor.shop;
  const housekeep = now() - floor.housekeptAt >= HOUSEKEEPING_MS;
  if (housekeep) floor.housekeptAt = now();
  const known = new Map<string, RealmRow>();
  for (let after: string | null = null, more = true; more && !floor.signal.aborted;) {
    const page: RealmRow[] = floor.only === null
      ? await reading(database.platform, (db) => selectRealms(db, after, REALMS_PAGE))
      : await reading(database.platform, (db) => selectRealmsById(db, [floor.only!]));
    for (let i = 0; i < page.length && !floor.signal.aborted;) {
      const looks = page.slice(i, i += VISITS_MAX).map((realm) => {
        known.set(realm.id, realm);
        const name = `look ${realm.id}`;
        begin(floor, name, () => look(floor, realm, housekeep));
        return floor.running.get(name);
      });
      await patiently(Promise.all(looks), PATIENCE_MS);
    }
    more = floor.only === null && page.length === REALMS_PAGE;
    if (more) after = page[page.length - 1].id;
  }
  if (!floor.signal.aborted) floor.realms = known;
}

async function look(floor: Floor, realm: RealmRow, housekeep: boolean): Promise<void> {
  const { database, now } = floor.shop;
  if (now() < (floor.awayUntil.get(realm.id) ?? 0)) return;
  floor.awayUntil.set(realm.id, now() + REST_MS);
  const watch = database.watch(placeOf(realm));
  if (housekeep) {
    await writing(watch, reapJobs);
    await writing(watch, deleteOldJobs);
  }
  const due = await selectDue(watch);
  floor.awayUntil.delete(realm.id);
  if (!due) return;
  floor.realms.set(realm.id, realm);
  floor.woken.add(realm.id);
}

/** Begins to claim jobs where somebody has woken us, as far as there is room. */
function visitWoken(floor: Floor): void {
  for (const id of floor.woken) {
    const name = `visit ${id}`;
    if (floor.running.has(name)) continue;
    const visits = [...floor.running.keys()].filter((one) => one.startsWith("visit ")).length;
    if (visits >= VISITS_MAX || roomOf(floor) <= 0) return;
    floor.woken.delete(id);
    begin(floor, name, () => visit(floor, id));
  }
}

/** Claims jobs of a realm, and begins them. */
async function visit(floor: Floor, id: string): Promise<void> {
  const { database, leaseS } = floor.shop;
  const realm = floor.realms.get(id) ?? await findRealm(floor, id);
  if (realm === null) return;
  const kinds = floor.inHand.get(id) ?? new Map<string, number>();
  const counts = [...kinds.values()];
  const crowded = [...kinds.keys()].filter((kind) => kinds.get(kind)! >= KIND_JOBS_MAX);
  const most = Math.max(0, ...counts.filter((count) => count < KIND_JOBS_MAX));
  const room = REALM_JOBS_MAX - counts.reduce((sum, count) => sum + count, 0);
  const limit = Math.min(room, roomOf(floor), KIND_JOBS_MAX - most);
  if (limit <= 0) return; // whoever ends wakes the realm again
  const pool = database.working(placeOf(realm));
  floor.reserved += limit;
  try {
    const jobs = await writing(pool, (db) => claimJobs(db, limit, leaseS, crowded));
    await confirm(floor, { realm, pool, signal: floor.signal }, jobs);
    for (const job of jobs) take(floor, { realm, pool, signal: floor.signal }, job);
    if (jobs.length === limit) floor.woken.add(id);
  } finally {
    floor.reserved -= limit;
  }
}

/** Compares the realm before what was claimed begins; claims that cannot be confirmed are given up. */
async function confirm(floor: Floor, site: Site, jobs: readonly ClaimedRow[]): Promise<void> {
  if (jobs.length === 0) return;
  const { database, now } = floor.shop;
  try {
    const context = contextFor(floor.shop, site, newId(now()));
    await confirmRealm(context, database.platform, jobs[0].token);
  } catch (error) {
    for (const job of jobs) await writing(site.pool, (db) => releaseJob(db, job));
    throw error;
  }
}

async function findRealm(floor: Floor, id: string): Promise<RealmRow | null> {
  const { platform } = floor.shop.database;
  const [realm] = await reading(platform, (db) => selectRealmsById(db, [id]));
  if (realm === undefined) return null;
  floor.realms.set(id, realm);
  return realm;
}

/** Jobs that may still be begun in the process. */
function roomOf(floor: Floor): number {
  const jobs = [...floor.inHand.values()].flatMap((kinds) => [...kinds.values()]);
  return JOBS_MAX - floor.reserved - jobs.reduce((sum, count) => sum + count, 0);
}

function take(floor: Floor, site: Site, job: JobRow): void {
  const { id } = site.realm;
  count(floor, id, job.name, 1);
  begin(floor, `job ${job.id} ${job.attempts}`, async () => {
    try {
      await attemptJob(floor.shop, site, job);
    } finally {
      count(floor, id, job.name, -1);
      floor.woken.add(id);
    }
  });
}

function count(floor: Floor, realm: string, kind: string, change: number): void {
  const kinds = floor.inHand.get(realm) ?? new Map<string, number>();
  const now = (kinds.get(kind) ?? 0) + change;
  if (now > 0) kinds.set(kind, now);
  else kinds.delete(kind);
  if (kinds.size > 0) floor.inHand.set(realm, kinds);
  else floor.inHand.delete(realm);
}
