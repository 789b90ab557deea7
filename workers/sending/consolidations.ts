/** Consolidations in sending: locks their inputs and checks their plans. @module */
import type { CoinRow } from "../../db/sending/utxos.ts";
import { lockSmallCoins, selectConsolidation } from "../../db/consolidations/consolidations.ts";
import type { Tx } from "../../db/database.ts";
import type { Actor } from "../../domain/actor.ts";
import { admitPlan } from "../../domain/consolidations/consolidation_settlement.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { ChainError } from "../chains/chain.ts";
import type { Plan } from "../chains/outgoing.ts";
import type { InputScope } from "./order_work.ts";

/** Locks the coins of a consolidation: at most the number that its request was answered with. */
export async function lockConsolidationInputs(
  tx: Tx,
  order: OrderRow,
  { perInput, ...scope }: InputScope,
): Promise<CoinRow[]> {
  const row = await selectConsolidation(tx, order.reference_id!);
  return await lockSmallCoins(tx, { ...scope, cost: perInput }, row?.coins ?? 0);
}

/**
 * Records the plan of a consolidation.
 *
 * @throws {ChainError} `refused` above its cost limit, or with fewer than two coins to spend
 */
export async function admitConsolidation(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  plan: Plan,
): Promise<void> {
  const left = plan.amounts.reduce((sum, amount) => sum + amount, 0n);
  const refused = await admitPlan(tx, actor, order, {
    coins: plan.inputs.length,
    amount: left + plan.fee,
    fee: plan.fee,
    size: plan.vsize!,
  });
  if (refused !== null) throw new ChainError("refused", refused);
}
