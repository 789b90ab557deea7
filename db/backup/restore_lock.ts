/**
 * Locks that keep restores of one database apart. The lock of a whole restore belongs to a transaction of a session of its own,
 * so it ends with the process. Each step takes a second one in its own transaction: a step that outlives its process keeps it.
 * @module
 */
import type { Db, Tx } from "../database.ts";

const RESTORE = "purser restore";
const STEP = "purser restore step";
/** The server's code for a lock that was not had in time. */
const LOCK_NOT_HAD = "55P03";

/** A session that has a lock. */
export interface LockHolder {
  pid: number;
  /** Name of its login; null where it has ended meanwhile. */
  login: string | null;
}

/** Takes the lock of a whole restore; gives the session's process id, null where others have it. */
export async function takeRestore(tx: Tx): Promise<number | null> {
  const [{ taken, pid }] = await tx<{ taken: boolean; pid: number }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${RESTORE}, 0)) as taken,
      pg_backend_pid() as pid`;
  return taken ? pid : null;
}

/** Keeps restores away until the transaction ends; false where one runs. */
export async function keepRestoresAway(tx: Tx): Promise<boolean> {
  const [{ taken }] = await tx<{ taken: boolean }[]>`
    select pg_try_advisory_xact_lock_shared(hashtextextended(${RESTORE}, 0)) as taken`;
  return taken;
}

/** Names a session that has the lock of a whole restore, or keeps restores away. */
export async function selectRestoreHolder(db: Db): Promise<LockHolder | null> {
  return await selectHolder(db, RESTORE);
}

/** Tells whether a session still has the lock of a whole restore. */
export async function holdsRestore(db: Db, pid: number): Promise<boolean> {
  return (await selectHolder(db, RESTORE))?.pid === pid;
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
  const name = `${STEP} ${what}`;
  const [{ taken }] = await tx<{ taken: boolean }[]>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as taken`;
  if (taken) return null;
  const holder = await selectHolder(tx, name);
  try {
    await tx.savepoint(async (inner) => {
      await inner.unsafe(`set local lock_timeout = ${Math.trunc(waitMaxMs)}`);
      await inner`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`;
      await inner`set local lock_timeout = 0`;
    });
    return null;
  } catch (error) {
    if ((error as { code?: string }).code !== LOCK_NOT_HAD) throw error;
    return holder ?? { pid: 0, login: null };
  }
}

async function selectHolder(db: Db, name: string): Promise<LockHolder | null> {
  const [row] = await db<LockHolder[]>`
    select l.pid, a.usename::text as login
    from pg_locks l left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and l.database = (select oid from pg_database where datname = current_database())
      and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(${name}, 0)
    limit 1`;
  return row ?? null;
}

/** Names the kinds of sessions by which processes serve this database, or work in it, and counts them. */
export async function selectServing(db: Db): Promise<{ name: string; count: number }[]> {
  return await db<{ name: string; count: number }[]>`
    select application_name as name, count(*)::integer as count from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and application_name like 'purser %' and application_name <> 'purser owner'
    group by application_name order by application_name`;
}
