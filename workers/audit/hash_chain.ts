/** Extends the hash chains of realms in batches, beside the traffic. @module */
import type { Pool } from "../../db/database.ts";
import { extendChain } from "../../domain/audit/hash_chain.ts";

/**
 * Links appended in one database transaction: enough to share its cost, few enough to take
 * milliseconds.
 */
const BATCH = 1000;

/**
 * Adds a realm's transactions and events to its hash chain until none is left or the time is up; gives the
 * number of transactions. Returns at once while another process does the same for this realm.
 */
export async function extendHashChain(
  pool: Pool,
  now: () => number,
  over: () => boolean = () => false,
): Promise<number> {
  let linked = 0;
  while (!over()) {
    const turn = await extendChain(pool, { at: now() }, BATCH);
    linked += turn?.transactions ?? 0;
    if (turn === null || !turn.more) return linked;
  }
  return linked;
}
