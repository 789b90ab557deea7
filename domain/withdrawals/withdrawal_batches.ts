/**
 * Withdrawal batches: one transaction pays several withdrawals of a ramp. Each withdrawal keeps its
 * own record and order; the end of the batch is the end of all of them.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { Tx } from "../../db/database.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import type { Actor } from "../actor.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { progressWithdrawal, settleWithdrawal } from "./withdrawal_settlement.ts";
import { endWithBatch, noteBatchStatus } from "../sending/order_states.ts";

/** Records the progress of a batch in its withdrawals. */
export async function progressBatch(tx: Tx, actor: Actor, batch: OrderRow): Promise<void> {
  const { hash, height, confirmations } = batch;
  for (const { id } of await selectBatched(tx, batch.id)) {
    const member = await noteBatchStatus(tx, id, { hash, height, confirmations });
    await progressWithdrawal(tx, actor, member);
  }
}

/** Ends the withdrawals of a batch; each books its share of the chain's fee. */
export async function settleBatch(tx: LedgerTx, actor: Actor, batch: OrderRow): Promise<void> {
  const batched = await selectBatched(tx, batch.id);
  const shares = batch.fee === null ? [] : divideFee(BigInt(batch.fee), batched.length);
  for (const [at, member] of batched.entries()) {
    const fee = shares.length === 0 ? null : `${shares[at]}`;
    await settleWithdrawal(tx, actor, await endWithBatch(tx, member, batch, fee));
  }
}

/** Divides a fee evenly to the last base unit; the first shares take the remainder. */
export function divideFee(fee: bigint, batched: number): bigint[] {
  const count = BigInt(batched);
  return Array.from(
    { length: batched },
    (_, at) => fee / count + (BigInt(at) < fee % count ? 1n : 0n),
  );
}
