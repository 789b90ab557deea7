/** Expiry of blocks, a slice at a time. @module */
import type { Pool } from "../../db/database.ts";
import { serializable } from "../../db/transaction.ts";
import { EXPIRED_MAX, expireDueBlocks } from "../../domain/ledger/blocks.ts";

/**
 * Expires a realm's blocks until none is due or the time is up; gives their number. Between two slices
 * other transactions get the ledger lock.
 */
export async function expireRealm(
  pool: Pool,
  over: () => boolean = () => false,
): Promise<number> {
  for (let expired = 0;;) {
    const count = await serializable(pool, expireDueBlocks, { lockLedger: true });
    expired += count;
    if (count < EXPIRED_MAX || over()) return expired;
  }
}
