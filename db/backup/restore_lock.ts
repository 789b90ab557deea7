/**
 * Locks that keep restores of one database apart. The lock of a whole restore belongs to a transaction of a session of its own,
 * so it ends with the process. Each step takes a second one in its own transaction: a step that outlives its process keeps it.
 * Where there is an installation they are locks of its tables, to which no realm's role may write: any session could keep an
 * advisory lock.
 * @module
 */
import type { Db, Tx } from "../database.ts";
import { codeOf } from "../errors.ts";

/** A lock: of a table, or an advisory one where that table is not made yet. */
interface Lock {
  readonly name: string;
  readonly table: string | null;
}

const RESTORE: Lock = { name: "purser restore", table: "platform.installation" };
/** Excludes itself and the upkeep of the table; rows are read and written on. */
const MODE = "share update exclusive";
const MODE_HELD = "ShareUpdateExclusiveLock";
/** The upkeep of a small table ends sooner. */
const RESTORE_WAIT_MS = 1_000;
/** The server's code for a lock that was not had in time. */
const LOCK_NOT_HAD = "55P03";

function stepLock(what: string): Lock {
  return {
    name: `purser restore step ${what}`,
    table: what === "platform" ? "platform.tiers" : null,
  };
}

/** A session that has a lock. */
export interface LockHolder {
  pid: number;
  /** Name of its login; null where it has ended meanwhile. */
  login: string | null;
}

/** Takes the lock of a whole restore; gives the session's process id, null where others have it. */
export async function takeRestore(tx: Tx): Promise<number | null> {
  const taken = await isTable(tx, RESTORE)
    ? await lockTable(tx, RESTORE, RESTORE_WAIT_MS)
    : await tryLock(tx, RESTORE);
  if (!taken) return null;
  const [{ pid }] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return pid;
}

/** Keeps restores away from an empty database until the transaction ends; false where one runs. */
export async function keepRestoresAway(tx: Tx): Promise<boolean> {
  const [{ taken }] = await tx<{ taken: boolean }[]>`
    select pg_try_advisory_xact_lock_shared(hashtextextended(${RESTORE.name}, 0)) as taken`;
  return taken;
}

/** Names a session that has the lock of a whole restore, or keeps restores away. */
export async function selectRestoreHolder(db: Db): Promise<LockHolder | null> {
  return await selectHolder(db, RESTORE);
}

/** Tells whether a session still has the lock of a whole restore, in whichever form it took it. */
export async function holdsRestore(db: Db, pid: number): Promise<boolean> {
  const [{ holds }] = await db<{ holds: boolean }[]>`
    select exists (select from pg_locks l where l.pid = ${pid}
      and (${isTableLock(db, RESTORE)} or ${isAdvisory(db, RESTORE)})) as holds`;
  return holds;
}

/**
 * Takes the lock of a step, and waits for it for a while.
 *
 * @param what names the steps that exclude each other in this database
 * @returns the session that has it; null where it was taken
 */
export async function lockStep(
  tx: Tx,
  what: string,
  waitMaxMs: number,
): Promise<LockHolder | null> {
  const lock = stepLock(what);
  const isOfTable = await isTable(tx, lock);
  if (!isOfTable && await tryLock(tx, lock)) return null;
  const holder = await selectHolder(tx, lock);
  const taken = isOfTable
    ? await lockTable(tx, lock, waitMaxMs)
    : await waiting(tx, waitMaxMs, (inner) =>
      inner`select pg_advisory_xact_lock(hashtextextended(${lock.name}, 0))`);
  return taken ? null : holder ?? { pid: 0, login: null };
}

async function isTable(db: Db, { table }: Lock): Promise<boolean> {
  const [{ there }] = await db<{ there: boolean }[]>`
    select to_regclass(${table}) is not null as there`;
  return there;
}

async function tryLock(tx: Tx, { name }: Lock): Promise<boolean> {
  const [{ taken }] = await tx<{ taken: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as taken`;
  return taken;
}

async function lockTable(tx: Tx, { table }: Lock, waitMaxMs: number): Promise<boolean> {
  return await waiting(
    tx,
    waitMaxMs,
    (inner) => inner.unsafe(`lock table ${table} in ${MODE} mode`),
  );
}

/** Waits for a lock for a while; false where it was not had. */
async function waiting(
  tx: Tx,
  waitMaxMs: number,
  take: (tx: Tx) => Promise<unknown>,
): Promise<boolean> {
  try {
    await tx.savepoint(async (inner) => {
      await inner.unsafe(`set local lock_timeout = ${Math.trunc(waitMaxMs)}`);
      await take(inner);
      await inner`set local lock_timeout = 0`;
    });
    return true;
  } catch (error) {
    if (codeOf(error) !== LOCK_NOT_HAD) throw error;
    return false;
  }
}

async function selectHolder(db: Db, lock: Lock): Promise<LockHolder | null> {
  const isLock = await isTable(db, lock) ? isTableLock(db, lock) : isAdvisory(db, lock);
  const [row] = await db<LockHolder[]>`
    select l.pid, a.usename::text as login
    from pg_locks l left join pg_stat_activity a on a.pid = l.pid where ${isLock} limit 1`;
  return row ?? null;
}

function isTableLock(db: Db, { table }: Lock) {
  return db`(l.locktype = 'relation' and l.granted and l.mode = ${MODE_HELD}
    and l.relation = to_regclass(${table})
    and l.database = (select oid from pg_database where datname = current_database()))`;
}

function isAdvisory(db: Db, { name }: Lock) {
  return db`(l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
    and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(${name}, 0))`;
}

/** Names the kinds of sessions by which processes serve this database, or work in it, and counts them. */
export async function selectServing(db: Db): Promise<{ name: string; count: number }[]> {
  return await db<{ name: string; count: number }[]>`
    select application_name as name, count(*)::integer as count from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and application_name like 'purser %' and application_name <> 'purser owner'
    group by application_name order by application_name`;
}
