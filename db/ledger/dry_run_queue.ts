/** A lane that leads nowhere: moves are posted by the ledger's own function, answered, and taken back. @module */
import type { Pool } from "../database.ts";
import type { Lane } from "./posting_queue.ts";
import { applyWritten } from "./posting.ts";
import { type Move, readOutcomes, writeMoves } from "./posting_protocol.ts";
import { type LedgerTx, trial } from "../transaction.ts";

/** Opens a lane whose every batch is taken back. No idempotency key is claimed. */
export function openTrialLane(pool: Pool): Pick<Lane, "post" | "postBulk"> {
  async function run(moves: readonly Move[], atomic: boolean) {
    if (moves.length === 0) return [];
    const written = await writeMoves(moves);
    const work = (tx: LedgerTx) => applyWritten(tx, written, { type: "transfer", atomic });
    return await readOutcomes(written, await trial(pool, work, { lockLedger: true }));
  }
  return {
    post: async (move) => (await run([move], false))[0],
    postBulk: async ({ moves, atomic }) => ({ outcomes: await run(moves, atomic) }),
  };
}
