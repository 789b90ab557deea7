/**
 * Payouts: one transaction that pays several withdrawals of a ramp. Each of them stays a record and
 * an order of its own; what becomes of the payout becomes of all that it carries.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { Tx } from "../../db/database.ts";
import { selectCarried } from "../../db/withdrawals/withdrawal_batches.ts";
import type { Actor } from "../actor.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { progressWithdrawal, settleWithdrawal } from "./withdrawal_settlement.ts";
import { endWithBatch, noteBatchStatus } from "../sending/order_states.ts";

/** Tells the withdrawals that a payout carries how far it is. */
export async function progressPayout(tx: Tx, actor: Actor, payout: OrderRow): Promise<void> {
  const { hash, height, confirmations } = payout;
  for (const { id } of await selectCarried(tx, payout.id)) {
    const member = await noteBatchStatus(tx, id, { hash, height, confirmations });
    await progressWithdrawal(tx, actor, member);
  }
}

/** Ends the withdrawals that a payout carried; each books its share of what the chain took. */
export async function settlePayout(tx: LedgerTx, actor: Actor, payout: OrderRow): Promise<void> {
  const members = await selectCarried(tx, payout.id);
  const shares = payout.fee === null ? [] : divideFee(BigInt(payout.fee), members.length);
  for (const [at, member] of members.entries()) {
    const fee = shares.length === 0 ? null : `${shares[at]}`;
    await settleWithdrawal(tx, actor, await endWithBatch(tx, member, payout, fee));
  }
}

/** Divides a fee evenly to the last base unit; what is left over is borne by the first. */
export function divideFee(fee: bigint, members: number): bigint[] {
  const count = BigInt(members);
  return Array.from(
    { length: members },
    (_, at) => fee / count + (BigInt(at) < fee % count ? 1n : 0n),
  );
}
