/**
 * Settlement of consolidations: a consolidation follows its chain order to the end. The ledger
 * books nothing but the chain's fee, which the account `fees` bears.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import {
  type ConsolidationRow,
  selectConsolidation,
  updateConsolidation,
} from "../../db/consolidations/consolidations.ts";
import type { Tx } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { type ChainId, nativeAsset } from "../assets.ts";
import { priceAt } from "./consolidation_limits.ts";
import { fromUnits, toUnits } from "../money.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { settleCharge } from "../sending/ramp_charges.ts";
import { bookGas } from "../sending/network_fees.ts";

/** The planned transaction of a consolidation; amounts in base units. */
export interface ConsolidationPlan {
  readonly coins: number;
  /** The sum of the coins. */
  readonly amount: bigint;
  readonly fee: bigint;
  /** Virtual bytes. */
  readonly size: number;
}

/**
 * Records the plan of a consolidation, or refuses one above its fee ceilings. From here on the
 * database refuses a cost above them too.
 *
 * @returns the reason of a refusal; null if the plan is recorded
 */
export async function admitPlan(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  plan: ConsolidationPlan,
): Promise<string | null> {
  const row = await selectConsolidation(tx, order.reference_id!);
  if (row === null || row.status !== "PROCESSING") return "the consolidation has ended";
  const { decimals } = nativeAsset(row.chain as ChainId);
  const refused = whyNot(row, plan, decimals);
  if (refused !== null) return refused;
  await updateConsolidation(tx, row.id, {
    coins: plan.coins,
    amount: fromUnits(plan.amount, decimals),
    fee: fromUnits(plan.fee, decimals),
    size: plan.size,
  }, actor.at);
  return null;
}

function whyNot(row: ConsolidationRow, plan: ConsolidationPlan, decimals: number): string | null {
  if (plan.coins < 2) return "fewer than two coins are left to consolidate";
  const fee = fromUnits(plan.fee, decimals);
  if (row.max_fee !== null && plan.fee > toUnits(row.max_fee, decimals)) {
    return `it would cost ${fee} ${row.asset}, above ${row.max_fee}`;
  }
  if (plan.fee > priceAt(toUnits(row.max_fee_rate, decimals), BigInt(plan.size))) {
    const size = `${plan.size} virtual bytes`;
    return `${size} would cost ${fee} ${row.asset}, above ${row.max_fee_rate} for 1000`;
  }
  return null;
}

/** Records how far the transaction of a consolidation is on its chain. */
export async function progressConsolidation(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
): Promise<void> {
  const row = await selectConsolidation(tx, order.reference_id!);
  if (row === null || row.status !== "PROCESSING") return;
  const { hash, height, confirmations } = order;
  await updateConsolidation(tx, row.id, { hash, height, confirmations }, actor.at);
}

/** Books the end of a consolidation. The transaction holds the ledger lock. */
export async function settleConsolidation(
  tx: LedgerTx,
  actor: Actor,
  order: OrderRow,
): Promise<void> {
  const row = await selectConsolidation(tx, order.reference_id!);
  if (row === null || row.status !== "PROCESSING") return;
  await bookGas(tx, actor, order);
  await settleCharge(tx, actor, order);
  const { hash, height, confirmations } = order;
  const seen = { hash, height, confirmations };
  if (order.state === "done") {
    const fee = fromUnits(BigInt(order.fee!), nativeAsset(row.chain as ChainId).decimals);
    await updateConsolidation(tx, row.id, { ...seen, status: "DONE", fee }, actor.at);
    return;
  }
  const detail = order.error ?? "the chain did not execute the transaction";
  // An order without a hash was never signed: a condition of the request stopped it.
  const error = hash === null
    ? { code: "condition.failed", title: "Condition failed", status: 409, detail }
    : { code: "upstream.failed", title: "Not sent", status: 502, detail };
  const change = { ...seen, status: "FAILED" as const, fee: null, size: null, error };
  await updateConsolidation(tx, row.id, change, actor.at);
}
