/** A lane that leads nowhere: moves are posted by the ledger's own function, answered, and taken back. @module */
import type { Pool, Tx } from "./database.ts";
import type { Lane, LaneOptions } from "./lane.ts";
import { applyMoves } from "./ledger.ts";
import type { Move } from "./moves.ts";
import { trial } from "./transaction.ts";

/** Opens a lane whose every batch is taken back. No idempotency key is claimed. */
export function openTrialLane(
  pool: Pool,
  newIds: LaneOptions["newIds"],
): Pick<Lane, "post" | "postBulk"> {
  async function run(moves: readonly Omit<Move, "id">[], atomic: boolean) {
    if (moves.length === 0) return [];
    const { ids, at } = newIds(moves.length);
    const whole = moves.map((move, i) => ({ ...move, id: ids[i] }));
    const work = (tx: Tx) => applyMoves(tx, whole, { type: "transfer", at, atomic });
    return await trial(pool, work, { gate: true });
  }
  return {
    post: async (move) => (await run([move], false))[0],
    postBulk: async ({ moves, atomic }) => ({ outcomes: await run(moves, atomic) }),
  };
}
