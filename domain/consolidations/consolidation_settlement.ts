/**
 * What becomes of a consolidation while its order is carried out. It moves nothing in the ledger but
 * the chain's fee, which the fees bear.
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

/** A whole transaction that is about to be written down; amounts in base units. */
export interface GatheringPlan {
  readonly coins: number;
  /** What the coins hold together. */
  readonly amount: bigint;
  readonly fee: bigint;
  /** Virtual bytes. */
  readonly size: number;
}

/**
 * Notes what a consolidation comes to, unless that is above what it may cost. From here on the
 * database refuses it too.
 *
 * @returns why it may not be; null if it may
 */
export async function admitPlan(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  plan: GatheringPlan,
): Promise<string | null> {
  const row = await selectConsolidation(tx, order.subject!);
  if (row === null || row.status !== "PROCESSING") return "it has ended";
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

function whyNot(row: ConsolidationRow, plan: GatheringPlan, decimals: number): string | null {
  if (plan.coins < 2) return "there are no two coins to gather any more";
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

/** Notes what is known of a consolidation on its chain. */
export async function progressConsolidation(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
): Promise<void> {
  const row = await selectConsolidation(tx, order.subject!);
  if (row === null || row.status !== "PROCESSING") return;
  const { hash, height, confirmations } = order;
  await updateConsolidation(tx, row.id, { hash, height, confirmations }, actor.at);
}

/** Books how a consolidation ended. The transaction holds the ledger lock. */
export async function settleConsolidation(
  tx: LedgerTx,
  actor: Actor,
  order: OrderRow,
): Promise<void> {
  const row = await selectConsolidation(tx, order.subject!);
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
  const detail = order.error ?? "the chain did not carry it out";
  // What was never signed failed by a condition of the request.
  const error = hash === null
    ? { code: "condition.failed", title: "Condition failed", status: 409, detail }
    : { code: "upstream.failed", title: "Not sent", status: 502, detail };
  const change = { ...seen, status: "FAILED" as const, fee: null, size: null, error };
  await updateConsolidation(tx, row.id, change, actor.at);
}
