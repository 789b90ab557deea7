/**
 * Claims of due jobs. However many are due, a claim reads a bounded number of them: of each kind the oldest, and of jobs
 * for exchanges those of some users, so that after a long outage one user's many delay no other's.
 * @module
 */
import { brokenConstraint } from "../errors.ts";
import type { JobRow } from "../jobs.ts";
import type { Db, Pool } from "../pool_types.ts";
import { writing } from "../transaction.ts";

/** A claimed job, with the token that the realm's schema had at the claim. */
export interface ClaimedRow extends JobRow {
  token: string | null;
}

/** The jobs that wait for exchanges; an index finds those that are due. */
export const EXCHANGE_JOBS: readonly string[] = ["exchange.advance", "exchange.check"];

/**
 * Jobs for exchanges that run at once of one user: fewer than a process has slots, so that an exchange that hangs keeps no
 * other user waiting. Of one account at an exchange one runs in all processes together, whoever ordered it: its requests
 * are numbered, and a payment that another's request overtakes is refused, or in doubt.
 */
const OWNER_JOBS_MAX = 5;
const ACCOUNT_JOBS_MAX = 1;
/**
 * Of each kind, so many of the oldest that may run are looked at: more than processes claim at once. Those that wait for
 * another with their serial key are passed over; of one key few wait.
 */
const KIND_WINDOW = 60;
/** Of these, so many are next: of each kind in turn. */
const NEXT_WINDOW = 240;
/** Of jobs for exchanges, so many of the oldest, and where more are due, so many users and accounts of each. */
const OLDEST_WINDOW = 100;
const OWNERS_WINDOW = 50;
const ACCOUNTS_WINDOW = 20;

/** How many jobs are claimed. */
export interface ClaimLimits {
  /** Of those that do not wait for exchanges. */
  limit: number;
  /** Names of jobs that are not claimed. */
  except: readonly string[];
  /** Of {@link EXCHANGE_JOBS}. */
  exchanges: number;
}

/**
 * Claims due jobs as {@link claimJobs} does. Where another process has just claimed a job of the same account at an
 * exchange, which the table refuses, no job for exchanges is claimed this time.
 */
export async function claimDueJobs(
  pool: Pool,
  leaseS: number,
  limits: ClaimLimits,
): Promise<ClaimedRow[]> {
  try {
    return await writing(pool, (db) => claimJobs(db, leaseS, limits));
  } catch (error) {
    if (brokenConstraint(error) !== "jobs_exchange_account") throw error;
    return await writing(pool, (db) => claimJobs(db, leaseS, { ...limits, exchanges: 0 }));
  }
}

/**
 * Claims due jobs under a lease. Of one serial key only the oldest is claimed, and only when none runs. Kinds take turns,
 * and a random one is first: however long the oldest jobs of some have waited, they keep no other kind waiting.
 */
export async function claimJobs(
  db: Db,
  leaseS: number,
  { limit, except, exchanges }: ClaimLimits,
): Promise<ClaimedRow[]> {
  const next = exchanges > 0 ? await selectExchangeTurns(db, exchanges) : [];
  // As a plain condition it would have PostgreSQL 15 read an index of all that is ready.
  const isReady = db`case j.state when 'ready' then true end`;
  return await db<ClaimedRow[]>`
    with recursive kinds as (
      (select name from jobs where state = 'ready' order by name limit 1)
      union all
      select (select j.name from jobs j where j.state = 'ready' and j.name > k.name order by j.name limit 1)
      from kinds k where k.name is not null),
    due as (
      select j.id, row_number() over (partition by k.name order by j.run_at, j.id) as turn
      from kinds k cross join lateral (
        select d.id, d.run_at from jobs d
        where d.state = 'ready' and d.name = k.name and d.run_at <= now()
          and (d.serial_key is null
            or not exists (select from jobs o where o.serial_key = d.serial_key and o.state = 'running')
              and not exists (select from jobs o
                where o.serial_key = d.serial_key and o.state = 'ready' and o.id < d.id))
        order by d.run_at, d.id limit ${KIND_WINDOW}) j
      where k.name <> all (${except as string[]}) and k.name not in ('exchange.advance', 'exchange.check')
        and ${limit}::integer > 0),
    next as materialized (
      select array(select id from due order by turn, random() limit ${NEXT_WINDOW}) as ids)
    update jobs set state = 'running', attempts = attempts + 1,
      locked_until = now() + make_interval(secs => ${leaseS})
    where id = any (array(
      select j.id from jobs j where j.id = any ((select ids from next)::uuid[]) and ${isReady}
      order by array_position((select ids from next), j.id) limit ${limit} for update skip locked)
      || array(
      select j.id from jobs j where j.id = any (${next}::uuid[]) and ${isReady}
      for update skip locked))
    returning id, name, payload, attempts, attempts_max, traceparent, (select token from attestations)`;
}

/**
 * Finds the jobs for exchanges that are next. They go round the users, and round the accounts of each: whose fewest jobs
 * run is next. Where very many are due, these are the oldest, and those of some users from a random one on.
 */
async function selectExchangeTurns(db: Db, most: number): Promise<string[]> {
  const oldest = await db<DueJob[]>`
    select id, run_at, coalesce(share, '') as share from jobs
    where state = 'ready' and run_at <= now() and name in ('exchange.advance', 'exchange.check')
    order by run_at, id limit ${OLDEST_WINDOW}`;
  if (oldest.length === 0) return [];
  const others = oldest.length < OLDEST_WINDOW ? [] : await selectOfSomeUsers(db);
  const due = [...new Map([...oldest, ...others].map((job) => [job.id, job])).values()];
  const running = await db<{ share: string; jobs: number }[]>`
    select coalesce(share, '') as share, count(*)::integer as jobs from jobs
    where state = 'running' and name in ('exchange.advance', 'exchange.check') group by 1`;
  return inTurns(due, running).slice(0, most);
}

/** A job for exchanges that is due. */
interface DueJob {
  id: string;
  run_at: number;
  share: string;
}

/** The oldest due jobs of some users, and of some accounts of each: both are walked along an index, one step for each. */
async function selectOfSomeUsers(db: Db): Promise<DueJob[]> {
  return await db<DueJob[]>`
    with recursive first as materialized (select md5(random()::text) as lot),
    owners as (
      select lot, false as wrapped, 0 as place from first
      union all
      select step.lot, step.wrapped, o.place + 1 from owners o cross join lateral (
        (select ${lotOf(db)} as lot, o.wrapped from jobs j where ${isReady(db)} and ${
    lotOf(db)
  } > o.lot
          order by 1 limit 1)
        union all
        (select ${lotOf(db)}, true from jobs j where ${
    isReady(db)
  } and not o.wrapped order by 1 limit 1)
        order by 2, 1 limit 1) step
      where o.place < ${OWNERS_WINDOW} and not (step.wrapped and step.lot > (select lot from first)))
    select j.id, j.run_at, a.share from owners o
    cross join lateral (
      with recursive accounts as (
        (select coalesce(j.share, '') as share, 1 as place from jobs j
          where ${isReady(db)} and ${lotOf(db)} = o.lot order by coalesce(j.share, '') limit 1)
        union all
        select (select coalesce(j.share, '') from jobs j
          where ${isReady(db)} and ${lotOf(db)} = o.lot and coalesce(j.share, '') > a.share
          order by coalesce(j.share, '') limit 1), a.place + 1
        from accounts a where a.share is not null and a.place < ${ACCOUNTS_WINDOW})
      select share from accounts where share is not null) a
    cross join lateral (
      select j.id, j.run_at from jobs j
      where ${isReady(db)} and ${
    lotOf(db)
  } = o.lot and coalesce(j.share, '') = a.share and j.run_at <= now()
      order by j.run_at, j.id limit ${ACCOUNT_JOBS_MAX}) j
    where o.place > 0`;
}

/** The place of a job's owner in the order of `jobs_exchange_turns`, which tells nothing of when it came or who it is. */
function lotOf(db: Db) {
  return db`md5(split_part(coalesce(j.share, ''), '/', 1))`;
}

function isReady(db: Db) {
  return db`j.state = 'ready' and j.name in ('exchange.advance', 'exchange.check')`;
}

/** Puts due jobs into the order in which they are claimed, without those of whom enough run. */
function inTurns(due: readonly DueJob[], running: readonly { share: string; jobs: number }[]) {
  const ofAccount = countsBy(running, ({ share }) => accountOf(share));
  const ofOwner = countsBy(running, ({ share }) => ownerOf(share));
  const older = (a: DueJob, b: DueJob) => a.run_at - b.run_at || (a.id < b.id ? -1 : 1);
  const numbered = due.toSorted(older).map((job) => ({
    job,
    account: next(ofAccount, accountOf(job.share)),
  }));
  const turns = numbered.filter(({ account }) => account <= ACCOUNT_JOBS_MAX)
    .sort((a, b) => a.account - b.account || older(a.job, b.job))
    .map((one) => ({ ...one, turn: next(ofOwner, ownerOf(one.job.share)) }))
    .filter(({ turn }) => turn <= OWNER_JOBS_MAX);
  return turns
    .sort((a, b) => a.turn - b.turn || a.account - b.account || older(a.job, b.job))
    .map(({ job }) => job.id);
}

function ownerOf(share: string): string {
  return share.split("/", 1)[0];
}

function accountOf(share: string): string {
  return share.split("/")[1] ?? "";
}

function countsBy(
  running: readonly { share: string; jobs: number }[],
  of: (one: { share: string }) => string,
): Map<string, number> {
  const counts = new Map<string, number>();
  for (const one of running) counts.set(of(one), (counts.get(of(one)) ?? 0) + one.jobs);
  return counts;
}

/** The number of the next one. */
function next(counts: Map<string, number>, of: string): number {
  const number = (counts.get(of) ?? 0) + 1;
  counts.set(of, number);
  return number;
}
