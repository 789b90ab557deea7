/**
 * Budgets of withdrawals: a multiple of the charge to the user and, where the destination's own
 * code runs, never more than the sender's stake. Amounts in base units unless stated otherwise.
 * @module
 */
import type { ChainAsset } from "../chains/onchain_assets.ts";
import type { Price } from "./fees.ts";
import type { WithdrawalRow } from "../../db/withdrawals/withdrawals.ts";
import { add, compare, toUnits } from "../money.ts";
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
  { units, slack, gas, fee }: Price,
  { asset, amount, maxFee }: { asset: ChainAsset; amount: string; maxFee: string | null },
): bigint | null {
  if (slack > 0n || fee === "0") return null;
  const staked = leastOf(add(fee, amount), maxFee);
  if (gas === null) return toUnits(staked, asset.decimals);
  return units * toUnits(staked, asset.decimals) / toUnits(fee, asset.decimals);
}

/** What a withdrawal tells of its sender's stake: amounts in whole units of the asset, gas of its own. */
export type Staked = Pick<WithdrawalRow, "charged" | "fee" | "gas" | "max_fee">;

/** The most that a failure costs the sender of a withdrawal, in whole units of the asset. */
export function mostKept({ charged, max_fee }: Pick<Staked, "charged" | "max_fee">): string {
  return leastOf(charged, max_fee);
}

/** Whether its sender's stake, and no multiple of the charge, is the budget of a withdrawal on a chain with nonces. */
export function isBoundBySender(row: Staked, budget: bigint, asset: ChainAsset): boolean {
  if (compare(row.fee, "0") === 0) return false;
  const staked = toUnits(mostKept(row), asset.decimals);
  if (row.gas === null) return budget >= staked;
  return budget >= toUnits(row.gas, asset.gas.decimals) * staked / toUnits(row.fee, asset.decimals);
}

function leastOf(all: string, maxFee: string | null): string {
  return maxFee !== null && compare(maxFee, all) < 0 ? maxFee : all;
}
