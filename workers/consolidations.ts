/** Which coins a consolidation is offered, and whether its plan may be. @module */
import type { CoinRow } from "../db/coins.ts";
import { lockSmallCoins } from "../db/consolidations.ts";
import type { Tx } from "../db/database.ts";
import { admitPlan } from "../domain/consolidation_settlement.ts";
import type { OrderRow } from "../domain/orders.ts";
import type { Bench } from "./bench.ts";
import { ChainError } from "./chains/chain.ts";
import type { Plan } from "./chains/order.ts";
import type { OrderWork } from "./order_work.ts";

/** Locks the smallest coins of an address that are worth spending. @param of.cost in base units */
export async function gather(
  { bench, place }: OrderWork,
  tx: Tx,
  of: { chain: string; network: string; address: string; head: number; cost: bigint },
  limit: number,
): Promise<CoinRow[]> {
  const settled = of.head - bench.chains.depth(place) + 1;
  return await lockSmallCoins(tx, { ...of, settled, cost: `${of.cost}` }, limit);
}

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
