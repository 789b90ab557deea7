/**
 * What gathering small coins goes by on each chain that has coins, and what it may cost.
 * @module
 */
import type { ConsolidationRow } from "../../db/consolidations/consolidations.ts";
import type { QuoteRow } from "../../db/sending/fee_quotes.ts";
import type { ChainId } from "../assets.ts";
import type { ChainAsset } from "../chains/onchain_assets.ts";
import type { NewConsolidation } from "./consolidation_views.ts";
import { DomainError } from "../errors.ts";
import { assertScale, compare, fromUnits, toUnits } from "../money.ts";

/** What gathering coins of a chain goes by. */
export interface Gathering {
  /** Virtual bytes of an input that spends a coin of ours. */
  readonly inputSize: number;
  /** Coins that one transaction takes: what fits it, and what one plan is offered. */
  readonly coinsMax: number;
  /** In whole units per 1000 virtual bytes: up to here fees count as low. */
  readonly rateLow: string;
  /** What was sent may be replaced. */
  readonly replaceable: boolean;
}

/** The chains that keep value in coins; the others keep balances and have nothing to gather. */
export const GATHERINGS: Readonly<Partial<Record<ChainId, Gathering>>> = {
  BITCOIN: { inputSize: 68, coinsMax: 1000, rateLow: "0.00005", replaceable: true },
  LITECOIN: { inputSize: 68, coinsMax: 1000, rateLow: "0.00005", replaceable: true },
  BITCOIN_CASH: { inputSize: 148, coinsMax: 641, rateLow: "0.00002", replaceable: false },
  DOGECOIN: { inputSize: 148, coinsMax: 641, rateLow: "0.02", replaceable: false },
};

/** What it may cost; whole units, and per 1000 virtual bytes. */
export interface Ceilings {
  maxFee: string | null;
  maxFeeRate: string;
}

/**
 * Reads ceilings; without one of the rate, fees must be low.
 *
 * @throws {DomainError} request.invalid
 */
export function ceilingsOf(
  { max_fee, max_fee_rate }: Pick<NewConsolidation, "max_fee" | "max_fee_rate">,
  { rateLow }: Gathering,
  decimals: number,
): Ceilings {
  if (max_fee !== undefined) assertScale(max_fee, decimals, "/max_fee");
  if (max_fee_rate !== undefined) assertScale(max_fee_rate, decimals, "/max_fee_rate");
  return { maxFee: max_fee ?? null, maxFeeRate: max_fee_rate ?? rateLow };
}

/**
 * Refuses prices above the ceiling, by what spending one coin costs.
 *
 * @throws {DomainError} condition.failed
 */
export function assertRate(
  { maxFeeRate }: Ceilings,
  quote: QuoteRow,
  { gathering, asset }: { gathering: Gathering; asset: Pick<ChainAsset, "code" | "decimals"> },
): void {
  const perInput = BigInt(quote.per_input);
  const size = BigInt(gathering.inputSize);
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
 * Refuses ceilings below what was sent already: that cannot be forbidden any more.
 *
 * @throws {DomainError} condition.failed
 */
export function assertAbove(
  { fee, size }: ConsolidationRow,
  { maxFee, maxFeeRate }: Ceilings,
  decimals: number,
): void {
  if (fee === null || size === null) return;
  const dear = maxFee !== null && compare(fee, maxFee) > 0;
  const most = priceAt(toUnits(maxFeeRate, decimals), BigInt(size));
  if (!dear && toUnits(fee, decimals) <= most) return;
  throw new DomainError("condition.failed", `what was sent already may cost ${fee}`);
}
