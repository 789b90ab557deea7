/** Seals what was posted, realm by realm, a batch at a time, beside the traffic. @module */
import type { Pool } from "../db/database.ts";
import { locking } from "../db/transaction.ts";
import { sealNext } from "../domain/seals.ts";

/** Transactions sealed together: enough to share the cost, few enough to be done in milliseconds. */
const BATCH = 1000;

/**
 * Seals a realm's transactions until none is left or the time is up; tells how many. While another
 * process seals the same realm there is nothing to do here.
 */
export async function sealRealm(
  pool: Pool,
  now: () => number,
  over: () => boolean = () => false,
): Promise<number> {
  let sealed = 0;
  while (!over()) {
    const count = await locking(pool, (tx) => sealNext(tx, { at: now() }, BATCH));
    sealed += count ?? 0;
    if (count === null || count < BATCH) return sealed;
  }
  return sealed;
}
