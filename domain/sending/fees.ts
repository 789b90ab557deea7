/**
 * Fees of withdrawals, from the prices that workers last read: no node is asked here. A fee that is
 * paid in another coin than the one sent is converted at recent rates. Without rates it is the realm's
 * setting, or the ramp bears it.
 * @module
 */
import { z } from "zod";
import { selectAccount } from "../../db/accounts/accounts.ts";
import { countCoinsFor } from "../../db/sending/utxos.ts";
import type { Db } from "../../db/database.ts";
import { selectWorthsSince } from "../../db/currencies/rates.ts";
import { type QuoteRow, selectQuote } from "../../db/sending/fee_quotes.ts";
import { selectAddressOf } from "../../db/accounts/ramps.ts";
import { assertAccount } from "../accounts/accounts.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { checkAddress } from "../chains/addresses.ts";
import { chainInfo } from "../assets.ts";
import { type ChainAsset, resolveChainAsset, sendingRamp } from "../chains/onchain_assets.ts";
import { Id, text } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { isId } from "../ids.ts";
import { Amount, assertScale, fromUnits, scaleOf, toUnits } from "../money.ts";
import { type ChainNetwork, chainNetworkFor } from "../chains/networks.ts";
import { SPEEDS } from "../speeds.ts";

/** How soon a withdrawal should be mined. */
export const Speed = z.enum(SPEEDS).meta({ id: "Speed" });
/** How soon a withdrawal should be mined. */
export type Speed = z.infer<typeof Speed>;

/** A request for an estimate of a fee. */
export const Estimate = z.strictObject({
  account: Id,
  address: text(200),
  amount: Amount,
  speed: Speed.default("medium"),
}).meta({ id: "Estimate" });
/** A request for an estimate of a fee. */
export type Estimate = z.infer<typeof Estimate>;

/** The price of a payment. */
export interface Price {
  /** The charge to the user, in whole units of the asset that is sent. */
  fee: string;
  /** The cost in whole units of the coin that pays it, where that is another one. */
  gas: { asset: string; value: string } | null;
  /** The cost in base units of the asset that pays it. */
  units: bigint;
  /** The token that pays it; null is the chain's own coin. */
  contract: string | null;
  /** Where coins are spent, the most that is left to the miner because it is too small for change. */
  slack: bigint;
  /** The least withdrawal that the realm permits, in whole units; null for no limit. */
  minimum: string | null;
  /** The smallest payment that nodes relay, in base units of the asset. */
  least: bigint;
}

/** The payment to price. */
export interface Priced {
  asset: ChainAsset;
  place: ChainNetwork;
  speed: Speed;
  /** Whole units of the asset. */
  amount: string;
  /** The address whose coins would be spent; null if it is not known yet. */
  sender: string | null;
  /** The account's accounting currency: coins are compared in it where the realm's has no rates. */
  currency: string;
}

/** A quote older than this is not used. */
const QUOTE_AGE_MAX_MS = 600_000;
/** A rate older than this converts no fee. */
const RATE_AGE_MAX_MS = 3_600_000;

/**
 * Prices a payment.
 *
 * @throws {DomainError} chain.stale if no worker has read prices recently
 */
export async function priceOf(db: Db, actor: Actor, wanted: Priced): Promise<Price> {
  const { asset, place, speed } = wanted;
  const contract = asset.contract ?? "";
  const quote = await recentQuote(db, { ...place, contract, speed });
  const units = feeUnits(quote, { payments: 1, inputs: await coinsFor(db, wanted, quote) });
  return await priced(db, actor, wanted, { quote, units });
}

/** Computes the fee of a quote, in base units of the asset that pays it. */
export function feeUnits(quote: QuoteRow, of: { payments: number; inputs: bigint }): bigint {
  return BigInt(quote.base) + BigInt(quote.per_payment) * BigInt(of.payments) +
    BigInt(quote.per_input) * of.inputs;
}

/** Converts a fee to whole units of the asset that is sent. */
export async function priced(
  db: Db,
  actor: Actor,
  { asset, currency }: Pick<Priced, "asset" | "currency">,
  { quote, units }: { quote: QuoteRow; units: bigint },
): Promise<Price> {
  const least = BigInt(quote.least);
  const slack = BigInt(quote.per_input) === 0n ? 0n : 2n * least;
  const common = { units, least, slack, contract: quote.fee_contract };
  if ((quote.fee_contract ?? "") === (asset.contract ?? "")) {
    return { ...common, fee: fromUnits(units, asset.decimals), gas: null, minimum: null };
  }
  const gas = { asset: asset.gas.code, value: fromUnits(units, asset.gas.decimals) };
  const fee = await converted(db, actor, { asset, currency }, units);
  if (fee !== null) return { ...common, fee, gas, minimum: null };
  const set = actor.realm.withdrawals?.[asset.code];
  return {
    ...common,
    fee: set?.fee === undefined ? "0" : roundUp(set.fee, asset.decimals),
    gas,
    minimum: set?.least ?? null,
  };
}

/** Rounds up to the token's digits: a realm's setting may have more digits than a token of its own. */
function roundUp(amount: string, decimals: number): string {
  const places = Math.max(decimals, scaleOf(amount));
  const step = 10n ** BigInt(places - decimals);
  return fromUnits((toUnits(amount, places) + step - 1n) / step, decimals);
}

/**
 * Reads the price of sending that workers last read. It is as old as the database's clock says, which dated it.
 *
 * @param of.contract '' is the chain's own coin
 * @throws {DomainError} chain.stale if no worker has read prices recently
 */
export async function recentQuote(
  db: Db,
  of: ChainNetwork & { contract: string; speed: Speed },
): Promise<QuoteRow> {
  const quote = await selectQuote(db, of);
  if (quote !== null && quote.age <= QUOTE_AGE_MAX_MS) return quote;
  throw new DomainError("chain.stale", `no recent prices of ${chainInfo(of.chain).name}`, {
    retryAfterS: 10,
  });
}

async function coinsFor(db: Db, wanted: Priced, quote: QuoteRow): Promise<bigint> {
  if (BigInt(quote.per_input) === 0n) return 0n;
  if (wanted.sender === null) return 1n;
  const { place, sender, asset } = wanted;
  const amount = `${toUnits(wanted.amount, asset.decimals)}`;
  const count = await countCoinsFor(db, { ...place, address: sender, amount });
  return BigInt(count);
}

/**
 * The fee in whole units of the asset, rounded up; null while no rate is known. The customer chooses the account's
 * currency, so the realm's comes first: that choice neither lowers the fee nor saves it.
 */
async function converted(
  db: Db,
  actor: Actor,
  { asset, currency }: Pick<Priced, "asset" | "currency">,
  units: bigint,
): Promise<string | null> {
  const worths = await selectWorthsSince(db, {
    asset: asset.code,
    with: asset.gas.code,
    currencies: [actor.realm.accountingCurrency, currency],
    withinMs: RATE_AGE_MAX_MS,
  });
  if (worths === null) return null;
  const [ours, theirs] = [worths.asset, worths.other];
  const places = Math.max(scaleOf(ours), scaleOf(theirs));
  const above = units * toUnits(theirs, places) * 10n ** BigInt(asset.decimals);
  const below = toUnits(ours, places) * 10n ** BigInt(asset.gas.decimals);
  return fromUnits((above + below - 1n) / below, asset.decimals);
}

/**
 * Estimates the fee of a withdrawal, in whole units of the account's asset.
 *
 * @throws {DomainError} account.not_found, asset.unknown, chain.not_configured, chain.stale,
 *   address.invalid, request.invalid
 */
export async function estimateFee(
  db: Db,
  actor: RequestActor,
  input: Estimate,
): Promise<string> {
  const account = isId(input.account) ? await selectAccount(db, input.account) : null;
  assertAccount(actor, "read", account, "/account");
  const asset = await resolveChainAsset(db, account.asset);
  assertScale(input.amount, asset.decimals, "/amount");
  const place = chainNetworkFor(
    actor.settings.chains,
    asset.chain,
    asset.token?.testnet ?? account.testnet,
  );
  await checkAddress(place.chain, place.network, input.address);
  const ramp = sendingRamp(asset, account.type === "virtual" ? account.ramp : account.id);
  const sender = ramp === null ? null : await selectAddressOf(db, ramp);
  const price = await priceOf(db, actor, {
    asset,
    place,
    speed: input.speed,
    amount: input.amount,
    sender: sender?.address ?? null,
    currency: account.currency,
  });
  return price.fee;
}
