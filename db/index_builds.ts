/**
 * The making of an index while its table is used. No transaction of the service is open meanwhile: one that waited for
 * the index, idle, would itself be waited for. Each statement begins under the lock of the realm's migrations, which is
 * let go as soon as the statement holds its table; from then on every process sees it there.
 * @module
 */
import {
  concurrentStatement,
  dropStatement,
  type IndexStep,
  selectValidity,
} from "./index_steps.ts";
import {
  noteWaits,
  selectBlockers,
  selectBuilds,
  selectHolders,
  selectOpenTransactions,
  type WaitedFor,
} from "./index_waits.ts";
import type { IndexWaits, Sql } from "./pool_types.ts";

/** Where and how an index is made. */
export interface IndexBuild {
  /** Connections for short transactions. */
  sql: Sql;
  /** One connection without limits of time. */
  index: Sql;
  schema: string;
  step: IndexStep;
  waits: IndexWaits;
  /** Told once of each transaction that is waited for. */
  say: (waited: WaitedFor) => void;
}

type Kind = "create" | "drop";

/** A statement that runs outside of transactions. */
interface Running {
  /** Gives its error, or null. */
  done: Promise<unknown>;
  cancel: () => Promise<void>;
}

const POLL_MS = 250;
const START_POLL_MS = 20;
/** Longest wait of a statement for its table, behind a `vacuum` or an alteration. Readers and writers pass meanwhile. */
const START_MS = 3_000;
/** Longest wait for the end of a canceled statement. */
const CANCEL_MS = 5_000;
const LOCK_WAIT_MAX = "set local lock_timeout = '2s'";
const PENDING = Symbol();

/**
 * Makes the index of a step where it is missing; one that a stopped build has left is dropped and made anew, and one that
 * another session makes now is waited for. Leaves a valid index, or none, or says that it leaves one that is not valid.
 *
 * @throws {IndexWait} when another transaction stays open for too long
 */
export async function makeIndex(build: IndexBuild): Promise<void> {
  const said = new Set<string>();
  const saying: IndexBuild = {
    ...build,
    say(one) {
      if (!said.has(one.transaction)) build.say(one);
      said.add(one.transaction);
    },
  };
  try {
    while (await selectValidity(build.sql, build.schema, build.step) !== true) {
      await advance(saying, await kindNow(build));
    }
  } catch (error) {
    const left = await dropLeft(saying);
    if (left === true) return; // another process has made it meanwhile
    throw left === null ? error : leftBehind(build, error);
  }
}

async function kindNow({ sql, schema, step }: IndexBuild): Promise<Kind> {
  return await selectValidity(sql, schema, step) === null ? "create" : "drop";
}

/**
 * Drops the index that a failed build has left: it costs writes, and one that is unique refuses some. Gives whether the
 * index that is there is valid; null where there is none.
 */
async function dropLeft(build: IndexBuild): Promise<boolean | null> {
  const { sql, schema, step } = build;
  try {
    while (await selectValidity(sql, schema, step) === false) await advance(build, "drop");
    return await selectValidity(sql, schema, step);
  } catch {
    return false;
  }
}

function leftBehind({ step, schema }: IndexBuild, error: unknown): Error {
  const reason = error instanceof Error ? error.message : `${error}`;
  return new Error(
    `${reason}; index ${step.name} of ${schema} may be left, not valid: the next migration drops it`,
    { cause: error },
  );
}

/** Runs one statement, when nothing keeps it from its end; returns early where the index is in another state by then. */
async function advance(build: IndexBuild, kind: Kind): Promise<void> {
  await untilFree(build, kind);
  const running = await begin(build, kind);
  if (running === null) await pause(POLL_MS);
  else await untilDone(build, running);
}

/**
 * Waits until no other index of the database is made, and until the transactions that were open have ended. Nothing is
 * held meanwhile, and nothing is left where it takes too long.
 */
async function untilFree(build: IndexBuild, kind: Kind): Promise<void> {
  const { sql, schema, step } = build;
  let first: Set<string> | null = null;
  for (;;) {
    const builds = await selectBuilds(sql, schema, step);
    if (builds.length > 0) note(build, await selectBlockers(sql, builds));
    else {
      const open = await selectOpenTransactions(sql, schema, step, kind);
      const known: Set<string> = first ??= new Set(open.map(({ transaction }) => transaction));
      const left = open.filter(({ transaction }) => known.has(transaction));
      if (left.length === 0) return;
      note(build, left);
    }
    await pause(POLL_MS);
  }
}

function note({ waits, step, say }: IndexBuild, found: readonly WaitedFor[]): void {
  for (const one of noteWaits(waits, step, found)) say(one);
}

/**
 * Begins a statement under the lock of the migrations, which two processes do not have at once. Gives null where the
 * index is in another state by then, or where its table was not to be had.
 */
async function begin(build: IndexBuild, kind: Kind): Promise<Running | null> {
  const { sql, index, schema, step } = build;
  // The connection is open before the lock is taken. After a lost one the driver may give its error to the next statement.
  await index`select 1`.catch(() => index`select 1`);
  return await sql.begin("isolation level read committed", async (tx) => {
    await tx.unsafe(LOCK_WAIT_MAX);
    await tx.unsafe(`lock table "${schema}".migrations in share row exclusive mode`);
    const valid = await selectValidity(tx, schema, step);
    if (valid !== (kind === "create" ? null : false)) return null;
    if ((await selectBuilds(tx, schema, step)).length > 0) return null;
    const text = kind === "create" ? concurrentStatement : dropStatement;
    const running = run(index, text(schema, step));
    for (const end = performance.now() + START_MS; performance.now() < end;) {
      if (await within(START_POLL_MS, running.done) !== PENDING) return running;
      await tx`select pg_stat_clear_snapshot()`; // a transaction sees the progress of others as it first was
      if ((await selectBuilds(tx, schema, step)).length > 0) return running;
    }
    await tx`select pg_stat_clear_snapshot()`;
    const holders = await selectHolders(tx, schema, step);
    await running.cancel();
    note(build, holders);
    return null;
  }) as Running | null;
}

/** Waits for the end of a statement; cancels it when it waits for too long. */
async function untilDone(build: IndexBuild, running: Running): Promise<void> {
  const { sql, schema, step } = build;
  for (;;) {
    const error = await within(POLL_MS, running.done);
    if (error === null) return;
    if (error !== PENDING) throw error;
    const blockers = await selectBlockers(sql, await selectBuilds(sql, schema, step));
    try {
      note(build, blockers);
    } catch (error) {
      await running.cancel();
      throw error;
    }
  }
}

function run(index: Sql, text: string): Running {
  const query = index.unsafe(text).simple();
  const done = query.then(() => null, (error: unknown) => error);
  return {
    done,
    async cancel() {
      query.cancel();
      await within(CANCEL_MS, done);
    },
  };
}

/** What a promise gives within some time, or that it is pending. */
async function within(ms: number, promise: Promise<unknown>): Promise<unknown> {
  const { promise: late, resolve } = Promise.withResolvers<typeof PENDING>();
  const timer = setTimeout(() => resolve(PENDING), ms);
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
