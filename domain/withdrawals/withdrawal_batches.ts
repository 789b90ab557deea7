/**
 * Payouts: one transaction that pays several withdrawals of a ramp. Each of them stays a record and
 * an order of its own; what becomes of the batch becomes of all that it carries.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { Tx } from "../../db/database.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import type { Actor } from "../actor.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { progressWithdrawal, settleWithdrawal } from "./withdrawal_settlement.ts";
import { endWithBatch, noteBatchStatus } from "../sending/order_states.ts";

/** Tells the withdrawals that a batch carries how far it is. */
export async function progressBatch(tx: Tx, actor: Actor, batch: OrderRow): Promise<void> {
  const { hash, height, confirmations } = batch;
  for (const { id } of await selectBatched(tx, batch.id)) {
    const member = await noteBatchStatus(tx, id, { hash, height, confirmations });
    await progressWithdrawal(tx, actor, member);
  }
}

/** Ends the withdrawals that a batch carried; each books its share of what the chain took. */
export async function settleBatch(tx: LedgerTx, actor: Actor, batch: OrderRow): Promise<void> {
  const batched = await selectBatched(tx, batch.id);
  const shares = batch.fee === null ? [] : divideFee(BigInt(batch.fee), batched.length);
  for (const [at, member] of batched.entries()) {
    const fee = shares.length === 0 ? null : `${shares[at]}`;
    await settleWithdrawal(tx, actor, await endWithBatch(tx, member, batch, fee));
  }
}

/** Divides a fee evenly to the last base unit; what is left over is borne by the first. */
export function divideFee(fee: bigint, batched: number): bigint[] {
  const count = BigInt(batched);
  return Array.from(
    { length: batched },
    (_, at) => fee / count + (BigInt(at) < fee % count ? 1n : 0n),
  );
}
