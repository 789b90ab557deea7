/** The limits of consolidations on each UTXO chain, and the ceilings of their fees. @module */
import type { ConsolidationRow } from "../../db/consolidations/consolidations.ts";
import type { QuoteRow } from "../../db/sending/fee_quotes.ts";
import type { ChainId } from "../assets.ts";
import type { ChainAsset } from "../chains/onchain_assets.ts";
import type { NewConsolidation } from "./consolidation_views.ts";
import { DomainError } from "../errors.ts";
import { assertScale, compare, fromUnits, toUnits } from "../money.ts";

/** The limits of consolidations on a chain. */
export interface ConsolidationLimits {
  /** Virtual bytes of an input that spends a coin of ours. */
  readonly inputSize: number;
  /** In whole units per 1000 virtual bytes: up to here fees count as low. */
  readonly rateLow: string;
  /** Nodes replace a transaction that they have. */
  readonly replaceable: boolean;
}

/**
 * The chains that keep value in coins. The others keep balances, and nothing is consolidated there.
 */
export const CONSOLIDATION_LIMITS: Readonly<Partial<Record<ChainId, ConsolidationLimits>>> = {
  BITCOIN: { inputSize: 68, rateLow: "0.00005", replaceable: true },
  LITECOIN: { inputSize: 68, rateLow: "0.00005", replaceable: true },
  BITCOIN_CASH: { inputSize: 148, rateLow: "0.00002", replaceable: false },
  DOGECOIN: { inputSize: 148, rateLow: "0.02", replaceable: false },
};

/**
 * The fee ceilings of a consolidation, in whole units, and in whole units per 1000 virtual bytes.
 */
export interface FeeCeilings {
  maxFee: string | null;
  maxFeeRate: string;
}

/**
 * Reads the ceilings of a request. Without a ceiling of the rate, fees must be low.
 *
 * @throws {DomainError} request.invalid
 */
export function feeCeilings(
  { max_fee, max_fee_rate }: Pick<NewConsolidation, "max_fee" | "max_fee_rate">,
  { rateLow }: ConsolidationLimits,
  decimals: number,
): FeeCeilings {
  if (max_fee !== undefined) assertScale(max_fee, decimals, "/max_fee");
  if (max_fee_rate !== undefined) assertScale(max_fee_rate, decimals, "/max_fee_rate");
  return { maxFee: max_fee ?? null, maxFeeRate: max_fee_rate ?? rateLow };
}

/**
 * Refuses a consolidation while spending one coin costs more than the ceiling of the rate.
 *
 * @throws {DomainError} condition.failed
 */
export function assertRate(
  { maxFeeRate }: FeeCeilings,
  quote: QuoteRow,
  { limits, asset }: { limits: ConsolidationLimits; asset: Pick<ChainAsset, "code" | "decimals"> },
): void {
  const perInput = BigInt(quote.per_input);
  const size = BigInt(limits.inputSize);
  if (perInput <= priceAt(toUnits(maxFeeRate, asset.decimals), size)) return;
  const rate = fromUnits(perInput * 1000n / size, asset.decimals);
  const why = `1000 virtual bytes cost ${rate} ${asset.code} now, above ${maxFeeRate}`;
  throw new DomainError("condition.failed", why);
}

/** Prices so many virtual bytes; rounds up. @param rate base units per 1000 virtual bytes */
export function priceAt(rate: bigint, size: bigint): bigint {
  return (rate * size + 999n) / 1000n;
}

/**
 * Refuses ceilings below the cost of a transaction that was sent: it may still be mined.
 *
 * @throws {DomainError} condition.failed
 */
export function assertAbove(
  { fee, size }: ConsolidationRow,
  { maxFee, maxFeeRate }: FeeCeilings,
  decimals: number,
): void {
  if (fee === null || size === null) return;
  const dear = maxFee !== null && compare(fee, maxFee) > 0;
  const most = priceAt(toUnits(maxFeeRate, decimals), BigInt(size));
  if (!dear && toUnits(fee, decimals) <= most) return;
  throw new DomainError("condition.failed", `the transaction that was sent may cost ${fee}`);
}
