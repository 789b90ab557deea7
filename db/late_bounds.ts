/**
 * The demand of a cut of the ledger's parts that was not done by its time (migrations/realm/0022_parts.sql): it refuses
 * every posting, until somebody takes it back.
 * @module
 */
import type { Db, Pool } from "./pool_types.ts";
import { brokenConstraint, Contention, isTimeout } from "./errors.ts";

/** Whether a posting was refused by the demand of a cut whose time has come. */
export function isPastBound(error: unknown): boolean {
  return brokenConstraint(error) === "newest_bound";
}

const releasing = new WeakMap<Pool, Promise<void>>();

/**
 * Takes the demand back; who comes meanwhile waits for the same.
 *
 * @throws {Contention} where other transactions have the tables
 */
export function releaseBound(
  pool: Pool,
  write: (pool: Pool, work: (db: Db) => Promise<void>) => Promise<void>,
): Promise<void> {
  const work = async () => {
    try {
      await write(pool, async (db) => void await db`select release_bound()`);
    } catch (error) {
      if (!isTimeout(error)) throw error;
      throw new Contention("the ledger is being cut into parts", { cause: error });
    } finally {
      releasing.delete(pool);
    }
  };
  const running = releasing.get(pool) ?? work();
  releasing.set(pool, running);
  return running;
}
