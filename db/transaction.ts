/**
 * Database transactions. All that writes runs at isolation level serializable; a transaction that loses
 * a race is run again here, and its caller does not notice.
 * @module
 */
import {
  Contention,
  isContention,
  isDisconnect,
  isLeftOpen,
  isOfOther,
  isReadOnly,
  isRefusedThere,
} from "./errors.ts";
import { isPastBound, releaseBound } from "./late_bounds.ts";
import { atOnce } from "./one_caller.ts";
import type { Db, Pool, Sql, Tx } from "./pool_types.ts";
import { isRoleRefused, renewAfterRefusal } from "./role_refusals.ts";

/** Marks the type of a transaction that took the ledger lock; there is no such value. */
export declare const ledgerLock: unique symbol;

/**
 * A transaction that took the ledger lock before its snapshot. Functions that change account rows demand one,
 * so a transaction without the lock does not compile there.
 */
export type LedgerTx = Tx & { readonly [ledgerLock]: true };

/** The transaction that work is given, by whether it takes the ledger lock. */
export type TxFor<Locked extends boolean> = [Locked] extends [true] ? LedgerTx : Tx;

/**
 * Takes the ledger lock before the snapshot is taken. Every transaction that changes an account row
 * needs it: it then sees all earlier commits, and cannot fail against another one that does the same.
 * Work that is given a {@link LedgerTx} cannot leave the option out.
 */
export type LockOption<Locked extends boolean> = [Locked] extends [true] ? { lockLedger: true }
  : { lockLedger?: Locked };

/** The lock option alone, of options that say more. */
export function lockOf<Locked extends boolean>(options: LockOption<Locked>): LockOption<Locked> {
  return { lockLedger: options.lockLedger } as LockOption<Locked>;
}

/** The last argument of a function with options: required where one of them is the ledger lock. */
export type OptionsFor<Locked extends boolean, Options> =
  | [options: Options]
  | ([Locked] extends [true] ? never : [options?: undefined]);

/** The options of a call; none where they could be left out. */
export function optionsOf<Locked extends boolean, Options>(
  given: OptionsFor<Locked, Options>,
): Options {
  return (given[0] ?? {}) as Options;
}

/** How a transaction begins. */
export type TransactionOptions<Locked extends boolean> = LockOption<Locked> & {
  /**
   * Takes the order lock before the snapshot is taken: transactions that advance chain orders read many of the same
   * rows, so two at once nearly always fail against each other.
   */
  lockOrders?: boolean;
  /** Told of every run that lost a race. */
  onRetry?: () => void;
};

const ATTEMPTS_MAX = 12;
/**
 * The server ends a statement after 30 s and a silent transaction after 4 s, so a caller that waits longer
 * waits for an answer that was lost with its connection.
 */
const DEADLINE_MS = 60_000;
/** A check of a whole realm reads for as long as that takes; a migration changes it for as long. */
const LONG_DEADLINE_MS = 24 * 3_600_000;
const BEGIN = "begin isolation level serializable";
const LOCK_LEDGER = "lock table ledger_lock in exclusive mode";
/** Taken before the ledger lock by all that take both, so no posting waits while an order waits for its turn. */
const LOCK_ORDERS = "lock table order_lock in exclusive mode";

/**
 * Runs `work` in a serializable transaction, again where it lost a race.
 *
 * @throws {Contention} when it lost a dozen times in a row
 */
export async function serializable<T, Locked extends boolean = false>(
  pool: Pool,
  work: (tx: TxFor<Locked>) => Promise<T>,
  ...given: OptionsFor<Locked, TransactionOptions<Locked>>
): Promise<T> {
  const options = optionsOf<Locked, TransactionOptions<Locked>>(given);
  const run = () => using(pool, (sql) => insist(pool, sql, work, options));
  return await (options.lockOrders ? inTurn(pool, run) : run());
}

/** The last transaction of a pool that takes the order lock. */
const lastInTurn = new WeakMap<Pool, Promise<unknown>>();

/** Runs transactions of a process that take the order lock one by one: none holds a connection while it waits. */
async function inTurn<T>(pool: Pool, run: () => Promise<T>): Promise<T> {
  const before = lastInTurn.get(pool) ?? Promise.resolve();
  const turn = before.then(run);
  lastInTurn.set(pool, turn.catch(() => {}));
  return await turn;
}

async function insist<T, Locked extends boolean>(
  pool: Pool,
  sql: Sql,
  work: (tx: TxFor<Locked>) => Promise<T>,
  options: { lockLedger?: boolean; lockOrders?: boolean; onRetry?: () => void },
): Promise<T> {
  const opening = [
    pool.settings,
    options.lockOrders ? LOCK_ORDERS : "",
    options.lockLedger ? LOCK_LEDGER : "",
  ].filter((text) => text !== "").join("; ");
  for (let attempt = 1;; attempt++) {
    try {
      return await sql.begin("isolation level serializable", async (tx) => {
        // Sent together with the first statement; the driver reports its failure in the place of what follows from it.
        if (opening !== "") tx.unsafe(opening).catch(() => {});
        return await work(tx as Tx as TxFor<Locked>);
      }) as T;
    } catch (error) {
      if (!isContention(error)) throw error;
      if (attempt >= ATTEMPTS_MAX) {
        throw new Contention("a transaction lost every race", { cause: error });
      }
      options.onRetry?.();
      const pauseMs = Math.random() * Math.min(200, 2 ** attempt);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** Carries the result of a dry run out of the transaction that it rolls back. */
class Undo extends Error {
  constructor(readonly result: unknown) {
    super("taken back");
  }
}

/** Runs `work` as {@link serializable} does, gives its result, and rolls back all that it did. */
export async function dryRun<T, Locked extends boolean = false>(
  pool: Pool,
  work: (tx: TxFor<Locked>) => Promise<T>,
  options: LockOption<Locked>,
): Promise<T> {
  const run = async (tx: TxFor<Locked>): Promise<T> => {
    throw new Undo(await work(tx));
  };
  try {
    return await using(pool, (sql) => insist(pool, sql, run, options));
  } catch (error) {
    if (error instanceof Undo) return error.result as T;
    throw error;
  }
}

/** Runs `work` in a savepoint of a transaction, which holds the locks of the transaction around it. */
export async function savepoint<T, Outer extends Tx>(
  tx: Outer,
  work: (tx: Outer) => Promise<T>,
): Promise<T> {
  return await tx.savepoint((inner) => work(inner as Outer)) as T;
}

/** Runs `work` at isolation level read committed: for what one row lock keeps apart. */
export async function locking<T>(pool: Pool, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await using(pool, (sql) =>
    sql.begin(async (tx) => {
      if (pool.settings !== "") await tx.unsafe(pool.settings);
      return await work(tx);
    })) as T;
}

/** Runs reads: plain statements on the pool, or one transaction where settings must be said. */
export async function reading<T>(pool: Pool, work: (db: Db) => Promise<T>): Promise<T> {
  if (pool.settings === "") return await using(pool, work);
  return await using(pool, (sql) =>
    sql.begin("read only", async (tx) => {
      await tx.unsafe(pool.settings);
      return await work(tx);
    })) as T;
}

/** How reads that may be slow run. */
export interface BriefReading {
  /** Ends the statement that runs when it is aborted. */
  signal?: AbortSignal;
  /** Columns that the transaction's first message reads; the check may refuse them. */
  facts?: { columns: string; check: (row: Readonly<Record<string, unknown>>) => void };
}

/** Runs reads that may be slow, each of whose statements ends after so many milliseconds. */
export async function readingBriefly<T>(
  pool: Pool,
  limitMs: number,
  work: (db: Db) => Promise<T>,
  { signal, facts }: BriefReading = {},
): Promise<T> {
  const columns = [BACKEND_COLUMNS, facts?.columns ?? []].flat().join();
  const read = (sql: Sql) =>
    sql.begin("read only", async (tx) => {
      const opening = `${pool.settings} set local statement_timeout = ${Math.trunc(limitMs)};`;
      const said = await tx.unsafe(`${opening} select ${columns}`).simple();
      const row = said.at(-1)![0] as unknown as Backend;
      facts?.check(row as unknown as Record<string, unknown>);
      if (signal === undefined) return await work(tx);
      return await cancelable(pool, row, () => work(tx), signal);
    });
  // Its statements end by themselves: after twice that time the answer was lost.
  return await using(pool, read, DEADLINE_MS, 2 * limitMs) as T;
}

/** A server's process that answers, and when the server was started: there are such numbers on every server. */
interface Backend {
  pid: number;
  started: string;
}

const STARTED = "extract(epoch from pg_postmaster_start_time())::text";
const BACKEND_COLUMNS = `pg_backend_pid() as pid, ${STARTED} as started`;

/**
 * Runs reads on the connection of a backend, until they end or are aborted. The connection that ends them may lead to another
 * server of the same address, where it ends nothing.
 */
async function cancelable<T>(
  pool: Pool,
  { pid, started }: Backend,
  work: () => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  signal.throwIfAborted();
  let canceled: Promise<unknown> = Promise.resolve();
  // All connections may be in use so. Where the role may not end statements, they end by their time-out.
  const cancel = () => {
    const ending = pool.sql`
      select pg_cancel_backend(${pid}) where ${started} = ${pool.sql.unsafe(STARTED)}`;
    canceled = atOnce(ending).catch(() => {});
  };
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return await work();
  } finally {
    signal.removeEventListener("abort", cancel);
    await canceled; // before the connection is another's
  }
}

/**
 * Reads one row by one statement without parameters, sent in one message with what must be said
 * before it: for frequent reads.
 */
export async function peeking<T>(pool: Pool, statement: string): Promise<T> {
  return await using(pool, async (sql) => {
    const answers = await sql.unsafe(`${pool.settings} ${statement}`).simple();
    const last = (pool.settings === "" ? answers : answers.at(-1)) as unknown as T[];
    return last[0];
  });
}

/** Runs single statements that write: on the pool, or in one transaction where settings must be said. */
export async function writing<T>(pool: Pool, work: (db: Db) => Promise<T>): Promise<T> {
  return pool.settings === "" ? await using(pool, work) : await locking(pool, work);
}

/** Runs reads that must all see one moment. */
export async function snapshot<T>(pool: Pool, work: (tx: Tx) => Promise<T>): Promise<T> {
  return await using(
    pool,
    (sql) =>
      sql.begin("isolation level repeatable read read only", async (tx) => {
        if (pool.settings !== "") await tx.unsafe(pool.settings);
        return await work(tx);
      }),
    LONG_DEADLINE_MS,
  ) as T;
}

/** Runs a transaction that builds, copies or migrates, without a time limit of the process. */
export async function buildingIn<T>(
  pool: Pool,
  work: (tx: Tx) => Promise<T>,
  isolation: "read committed" | "repeatable read" = "read committed",
): Promise<T> {
  return await building(pool, (sql) =>
    sql.begin(`isolation level ${isolation}`, async (tx) => {
      if (pool.settings !== "") await tx.unsafe(pool.settings);
      return await work(tx);
    })) as T;
}

/** Runs work that builds or migrates, without a time limit of the process. */
export async function building<T>(pool: Pool, work: (sql: Sql) => Promise<T>): Promise<T> {
  return await using(pool, work, LONG_DEADLINE_MS);
}

/**
 * Runs `work` with connections that stay as long as it runs.
 *
 * @param waitMaxMs how long the caller waits, where it is less than the work may take: the connections stay
 * @throws {Contention} when the database did not answer in time; the outcome may be unknown
 */
export async function using<T>(
  pool: Pool,
  work: (sql: Sql) => Promise<T>,
  deadlineMs = DEADLINE_MS,
  waitMaxMs = deadlineMs,
): Promise<T> {
  const run = wherever(pool, work, deadlineMs);
  if (waitMaxMs >= deadlineMs) return await run;
  run.catch(() => {}); // no caller waits for it any more
  const { promise: late, reject } = Promise.withResolvers<never>();
  const tell = () =>
    reject(new Contention("the database did not answer in time", { mayBeDone: true }));
  const timer = setTimeout(tell, waitMaxMs);
  return await Promise.race([run, late]).finally(() => clearTimeout(timer));
}

/**
 * Runs work where the realm lives; again in its new place, where it moved meanwhile and the old one refused, again
 * without the demand of a cut that nobody ended in time, and once more where a session did not know the realm's role.
 */
async function wherever<T>(
  pool: Pool,
  work: (sql: Sql) => Promise<T>,
  deadlineMs: number,
): Promise<T> {
  let [released, refused] = [false, false];
  for (let moves = 0;; moves++) {
    const from = pool.place;
    const leave = await pool.enter();
    const { sql } = pool;
    try {
      return await untilDeadline(pool, sql, work, deadlineMs).finally(leave);
    } catch (error) {
      if (isOfOther(error, sql.options)) throw error;
      if (isPastBound(error) && !released) {
        released = true;
        await releaseBound(pool, writing);
        continue;
      }
      if (isRoleRefused(error) && !refused) {
        refused = true;
        continue;
      }
      if (from === undefined || moves >= MOVES_MAX || !isRefusedThere(error)) throw error;
      if (!await pool.follow!(from)) throw error;
    }
  }
}

/** Most moves of a realm that a caller follows. */
const MOVES_MAX = 3;
/** Statements that run on connections now, so that none is cut off when they are given up. */
const running = new WeakMap<Sql, Set<Promise<unknown>>>();

async function untilDeadline<T>(
  pool: Pool,
  sql: Sql,
  work: (sql: Sql) => Promise<T>,
  deadlineMs: number,
): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    pool.renew(sql);
    late.reject(new Contention("the database did not answer in time", { mayBeDone: true }));
  }, deadlineMs);
  const beside = running.get(sql) ?? new Set();
  running.set(sql, beside);
  const run = Promise.race([(async () => await work(sql))(), late.promise]);
  beside.add(run);
  try {
    return await run;
  } catch (error) {
    beside.delete(run);
    if (isOfOther(error, sql.options)) throw error; // as of a transaction to another server within this one
    // After a failover its connections lead to a standby: the next ones find the primary.
    if (isReadOnly(error)) pool.renew(sql);
    // When the driver opens a shared connection anew, it takes what the server says first for the answer to the statement
    // that was lost there. Where that refuses the login, the next statement would wait, while the driver tries for ever.
    else if (isDisconnect(error) || isLeftOpen(error)) {
      pool.renew(sql, Promise.allSettled(beside));
    } else if (isRoleRefused(error)) renewAfterRefusal(pool, sql, Promise.allSettled(beside));
    throw error;
  } finally {
    beside.delete(run);
    clearTimeout(timer);
  }
}

/** Beginning of a serializable transaction under the ledger lock, in one message. */
export function lockedBegin(pool: Pool): string {
  return `${BEGIN}; ${pool.settings} ${LOCK_LEDGER}`;
}
