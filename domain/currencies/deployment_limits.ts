/** Costs and limits of token deployments, by chain. @module */
import type { ChainId } from "../assets.ts";
import { invalidField } from "../errors.ts";
import { fromUnits, toUnits } from "../money.ts";

/** The cost of a deployment, in payments of the chain's coin; on Tron every byte of code costs energy. */
const AS_PAYMENTS = 45n;
const AS_TRON_PAYMENTS = 120n;
const AS_SOLANA_PAYMENTS = 10n;
/** Rent of a mint of Solana with the longest name, and of one token account, in lamports. */
const SOLANA_RENT = 8_000_000n;
/** Base units that a token of the chain can count, where that is less than a contract can. */
const SUPPLY_MAX: Readonly<Partial<Record<ChainId, bigint>>> = { SOLANA: 2n ** 64n - 1n };

/**
 * Computes the most that a deployment costs, in base units of the coin.
 *
 * @param payment the cost of a payment of the coin
 */
export function costOfDeployment(chain: ChainId, payment: bigint): bigint {
  if (chain === "SOLANA") return payment * AS_SOLANA_PAYMENTS + SOLANA_RENT;
  return payment * (chain === "TRON" ? AS_TRON_PAYMENTS : AS_PAYMENTS);
}

/**
 * Refuses a supply that the chain cannot count.
 *
 * @throws {DomainError} request.invalid
 */
export function assertCountable(
  chain: ChainId,
  { supply, decimal_places: decimals }: { supply: string; decimal_places: number },
): void {
  const most = SUPPLY_MAX[chain];
  if (most === undefined || toUnits(supply, decimals) <= most) return;
  const why = `with ${decimals} decimal places the chain counts up to ${fromUnits(most, decimals)}`;
  throw invalidField("/supply", why);
}
