/** Posting queue of a dry run: moves are posted by the ledger's own function, answered, and rolled back. @module */
import type { Pool } from "../database.ts";
import type { PostingQueue } from "./posting_queue.ts";
import { applyWritten } from "./posting.ts";
import { type Move, readOutcomes, writeMoves } from "./posting_protocol.ts";
import { dryRun, type LedgerTx } from "../transaction.ts";

/** Opens a queue that rolls every batch back. No idempotency key is claimed. */
export function openDryRunQueue(pool: Pool): Pick<PostingQueue, "post" | "postBulk"> {
  async function run(moves: readonly Move[], atomic: boolean) {
    if (moves.length === 0) return [];
    const written = await writeMoves(moves);
    const work = (tx: LedgerTx) => applyWritten(tx, written, { type: "transfer", atomic });
    return await readOutcomes(written, await dryRun(pool, work, { lockLedger: true }));
  }
  return {
    post: async (move) => (await run([move], false))[0],
    postBulk: async ({ moves, atomic }) => ({ outcomes: await run(moves, atomic) }),
  };
}
