/**
 * One moment of a database, read by several transactions one after another: each has its locks for as long
 * as it copies one schema, so the table of locks does not limit the number of realms.
 * @module
 */
import type { Pool, Tx } from "../database.ts";
import { VALUES_AS_TEXT } from "../session_settings.ts";
import { building } from "../transaction.ts";

const READS = "isolation level repeatable read read only";
/**
 * A copy lasts as long as the disk and the network need, and one that waits for a slow disk reads nothing
 * meanwhile.
 */
const LIMITS = "set local statement_timeout = 0; set local lock_timeout = 0;" +
  " set local idle_in_transaction_session_timeout = '24h'; set local tcp_user_timeout = 0; " +
  VALUES_AS_TEXT;

/** Keeps a moment readable while the work runs. */
export async function holdMoment<T>(
  pool: Pool,
  work: (moment: string) => Promise<T>,
): Promise<T> {
  return await building(
    pool,
    async (sql) =>
      await sql.begin(READS, async (tx) => {
        await tx.unsafe(`${pool.settings} ${LIMITS}`);
        const [{ moment }] = await tx<
          { moment: string }[]
        >`select pg_export_snapshot() as moment`;
        return await work(moment);
      }),
  ) as T;
}

/** Reads a moment that is kept. */
export async function readMoment<T>(
  pool: Pool,
  moment: string,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return await building(
    pool,
    async (sql) =>
      await sql.begin(READS, async (tx) => {
        await tx.unsafe(`set transaction snapshot '${moment}'`);
        await tx.unsafe(`${pool.settings} ${LIMITS}`);
        return await work(tx);
      }),
  ) as T;
}

/** Reads one moment of a database by one transaction. */
export async function readOnce<T>(
  pool: Pool,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return await building(
    pool,
    async (sql) =>
      await sql.begin(READS, async (tx) => {
        await tx.unsafe(`${pool.settings} ${LIMITS}`);
        return await work(tx);
      }),
  ) as T;
}

/** Builds what a backup holds, in one transaction. */
export async function rebuild<T>(
  pool: Pool,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  return await building(pool, async (sql) =>
    await sql.begin(async (tx) => {
      await tx.unsafe(`${pool.settings} ${LIMITS}`);
      return await work(tx);
    })) as T;
}
