/** Consolidations in sending: locks their inputs and checks their plans. @module */
import type { CoinRow } from "../../db/sending/utxos.ts";
import {
  lockSmallCoins,
  selectConsolidation,
  type SmallCoins,
} from "../../db/consolidations/consolidations.ts";
import type { Tx } from "../../db/database.ts";
import { admitPlan } from "../../domain/consolidations/consolidation_settlement.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import type { WorkerContext } from "../worker_context.ts";
import { ChainError } from "../chains/chain.ts";
import type { Plan } from "../chains/outgoing.ts";

/** Locks the inputs of a consolidation: at most as many coins as its answer named. */
export async function lockConsolidationInputs(
  tx: Tx,
  order: OrderRow,
  of: SmallCoins,
): Promise<CoinRow[]> {
  const row = await selectConsolidation(tx, order.subject!);
  return await lockSmallCoins(tx, of, row?.coins ?? 0);
}

/**
 * Records the plan of a consolidation.
 *
 * @throws {ChainError} `refused` above a fee ceiling, or with fewer than two coins
 */
export async function admitConsolidation(
  context: WorkerContext,
  tx: Tx,
  order: OrderRow,
  plan: Plan,
): Promise<void> {
  const left = plan.amounts.reduce((sum, amount) => sum + amount, 0n);
  const refused = await admitPlan(tx, context.actor, order, {
    coins: plan.claims.length,
    amount: left + plan.fee,
    fee: plan.fee,
    size: plan.vsize!,
  });
  if (refused !== null) throw new ChainError("refused", refused);
}
