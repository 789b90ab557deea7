/**
 * Withdrawal batches: one transaction pays several withdrawals of a ramp. Each withdrawal keeps its
 * own record and order; the end of the batch is the end of all of them.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { Tx } from "../../db/database.ts";
import { lockBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import type { Actor } from "../actor.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { progressWithdrawals, settleWithdrawals } from "./withdrawal_settlement.ts";
import { endWithBatch, noteBatchStatus } from "../sending/order_states.ts";

/** Records the progress of a batch in its withdrawals. */
export async function progressBatch(tx: Tx, actor: Actor, batch: OrderRow): Promise<void> {
  const { hash, height, confirmations } = batch;
  const members = await lockBatched(tx, batch.id);
  const noted = await noteBatchStatus(tx, members, { hash, height, confirmations });
  await progressWithdrawals(tx, actor, noted);
}

/** Ends the withdrawals of a batch; each books its share of the chain's fee. */
export async function settleBatch(tx: LedgerTx, actor: Actor, batch: OrderRow): Promise<void> {
  const members = await lockBatched(tx, batch.id);
  const shares = batch.fee === null ? [] : divideFee(BigInt(batch.fee), members.length);
  const ending = members.map((member, at) => ({
    ...member,
    share: shares.length === 0 ? null : `${shares[at]}`,
  }));
  await settleWithdrawals(tx, actor, await endWithBatch(tx, ending, batch));
}

/** Divides a fee evenly to the last base unit; the first shares take the remainder. */
export function divideFee(fee: bigint, batched: number): bigint[] {
  const count = BigInt(batched);
  return Array.from(
    { length: batched },
    (_, at) => fee / count + (BigInt(at) < fee % count ? 1n : 0n),
  );
}
