/**
 * Budgets of withdrawals: a multiple of the charge to the user and, where the destination's own
 * code runs, never more than the sender's stake. Amounts in base units unless stated otherwise.
 * @module
 */
import type { ChainAsset } from "../chains/onchain_assets.ts";
import type { Price } from "./fees.ts";
import { toUnits } from "../money.ts";
import type { OrderCost } from "./chain_orders.ts";

/**
 * Computes the budget of a withdrawal.
 *
 * @param of.amount whole units of the asset that move on the chain
 * @param of.maxFee the most that its user pays, in whole units of the asset; null for no bound
 * @param of.factor the multiple of its charge that a withdrawal may cost
 */
export function budgetFor(
  price: Price,
  of: { asset: ChainAsset; amount: string; maxFee: string | null; factor: number },
): OrderCost {
  const { units, contract, slack } = price;
  const most = units * BigInt(of.factor);
  const stake = stakeOf(price, of);
  const within = stake !== null && stake < most ? stake : most;
  const charged = price.fee === "0" ? 0n : units;
  return { charged, budget: within + slack, contract };
}

/**
 * The most that the sender pays, in the asset of the fee: a transaction that fails on the chain is
 * paid from what would come back, up to the sender's own bound. Null where no transaction can fail,
 * or its value is not known.
 */
function stakeOf(
  price: Price,
  { asset, amount, maxFee }: { asset: ChainAsset; amount: string; maxFee: string | null },
) {
  const { units, slack, gas, fee } = price;
  if (slack > 0n || fee === "0") return null;
  const charged = toUnits(fee, asset.decimals);
  const all = charged + toUnits(amount, asset.decimals);
  const bound = maxFee === null ? all : toUnits(maxFee, asset.decimals);
  const most = bound < all ? bound : all;
  return gas === null ? most : units * most / charged;
}
