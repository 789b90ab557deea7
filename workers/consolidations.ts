/** Whether the plan of a consolidation may be. @module */
import type { Tx } from "../db/database.ts";
import { admitPlan } from "../domain/consolidation_settlement.ts";
import type { OrderRow } from "../domain/orders.ts";
import type { Bench } from "./bench.ts";
import { ChainError } from "./chains/chain.ts";
import type { Plan } from "./chains/order.ts";

/**
 * Notes what a consolidation comes to.
 *
 * @throws {ChainError} `refused` above what it may cost, or with nothing to gather
 */
export async function admitGathering(
  bench: Bench,
  tx: Tx,
  order: OrderRow,
  plan: Plan,
): Promise<void> {
  const left = plan.amounts.reduce((sum, amount) => sum + amount, 0n);
  const refused = await admitPlan(tx, bench.actor, order, {
    coins: plan.claims.length,
    amount: left + plan.fee,
    fee: plan.fee,
    size: plan.vsize!,
  });
  if (refused !== null) throw new ChainError("refused", refused);
}
