/**
 * Plans of which a block has another transaction in their place before they are signed: one of a newer database, where this
 * one was restored. Signed, they would be its bytes once more, which are stored already, or never be mined.
 * @module
 */
import { selectOvertaker } from "../../db/sending/overtaken_plans.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { markAttemptsDropped } from "../../db/sending/order_attempts.ts";
import { reading } from "../../db/transaction.ts";
import { type OrderRow, releaseInputs } from "../../domain/sending/chain_orders.ts";
import { PURPOSE_RULES } from "../../domain/sending/order_purposes.ts";
import { refuseOrder } from "../../domain/sending/order_states.ts";
import { unplanOrder } from "../../domain/sending/signing_holds.ts";
import { endInTurn } from "./departures.ts";
import { type OrderWork, stepInTurn } from "./order_work.ts";

/**
 * Gives up the plan of an order that a transaction in a block has overtaken: it is planned anew, or has ended where its
 * purpose knows one plan alone. Payments of withdrawals are left to the reconciliation, which asks about them. Gives the
 * order as it is then; null where it goes on.
 *
 * @throws {ChainError} `held` while nothing ends unpaid
 */
export async function giveUpOvertaken(
  work: OrderWork,
  order: OrderRow,
): Promise<OrderRow | null> {
  const { isBatch, isReplanned } = PURPOSE_RULES[order.purpose];
  if (order.state !== "planned" || isBatch || order.purpose === "withdrawal") return null;
  const { pool } = work.context;
  if (await reading(pool, (db) => selectOvertaker(db, order)) === null) return null;
  return isReplanned ? await planAnew(work) : await end(work);
}

async function planAnew(work: OrderWork): Promise<OrderRow | null> {
  return await stepInTurn(work, async (tx, current) => {
    const isFree = await unplanOrder(tx, work.context.actor, current);
    return isFree ? await selectOrder(tx, current.id) : null;
  });
}

async function end(work: OrderWork): Promise<OrderRow | null> {
  const { context: { actor }, handlers, onCheckpoint } = work;
  const ended = await endInTurn(work, "failed", async (tx, current) => {
    const by = await selectOvertaker(tx, current);
    if (current.state !== "planned" || by === null) return null;
    const why = `${by} spent its ${
      current.nonce === null ? "coins" : "nonce"
    } before it was signed`;
    await markAttemptsDropped(tx, current.id, { proof: "unsigned", by: null, height: null });
    const failed = await refuseOrder(tx, current, why, null);
    await releaseInputs(tx, actor, failed);
    await handlers[failed.purpose].settle(tx, actor, failed);
    return failed;
  });
  if (ended !== null) await onCheckpoint("settled");
  return ended;
}
