/**
 * Plans that are kept until they are signed, and whose coins another transaction has spent before: one of a newer database,
 * where this one was restored. Signed, they would be its bytes once more, or never be mined.
 * @module
 */
import { selectOvertaker } from "../../db/sending/utxos.ts";
import { markAttemptsDropped } from "../../db/sending/order_attempts.ts";
import { reading } from "../../db/transaction.ts";
import { type OrderRow, releaseInputs } from "../../domain/sending/chain_orders.ts";
import { PURPOSE_RULES } from "../../domain/sending/order_purposes.ts";
import { refuseOrder } from "../../domain/sending/order_states.ts";
import { endInTurn } from "./departures.ts";
import type { OrderWork } from "./order_work.ts";

/**
 * Ends a planned order that is never planned anew, if a block has a transaction that spends one of its coins. Gives it as
 * it is then; null where it goes on.
 *
 * @throws {ChainError} `held` while nothing ends unpaid
 */
export async function endOvertaken(work: OrderWork, order: OrderRow): Promise<OrderRow | null> {
  const { isBatch, isReplanned, fillsNonce } = PURPOSE_RULES[order.purpose];
  if (order.state !== "planned" || isBatch || isReplanned || fillsNonce) return null;
  const { context: { actor, pool }, handlers, onCheckpoint } = work;
  if (await reading(pool, (db) => selectOvertaker(db, order.id)) === null) return null;
  const ended = await endInTurn(work, "failed", async (tx, current) => {
    const by = await selectOvertaker(tx, current.id);
    if (current.state !== "planned" || by === null) return null;
    await markAttemptsDropped(tx, current.id, { proof: "unsigned", by: null, height: null });
    const failed = await refuseOrder(
      tx,
      current,
      `${by} spent its coins before it was signed`,
      null,
    );
    await releaseInputs(tx, actor, failed);
    await handlers[failed.purpose].settle(tx, actor, failed);
    return failed;
  });
  if (ended !== null) await onCheckpoint("settled");
  return ended;
}
