/**
 * What a withdrawal costs, out of what workers last saw: no node is asked here. A fee that is paid in
 * another coin than the one sent is converted at the known rates; without them the ramp bears it.
 * @module
 */
import { z } from "zod";
import { selectAccount } from "../db/accounts.ts";
import { countCoinsFor } from "../db/coins.ts";
import type { Db } from "../db/database.ts";
import { type QuoteRow, selectQuote, selectWorths } from "../db/fees.ts";
import { selectAddressOf } from "../db/ramps.ts";
import { assertAccount } from "./accounts.ts";
import type { Actor } from "./actor.ts";
import { checkAddress } from "./addresses.ts";
import { chainFacts } from "./assets.ts";
import { type ChainAsset, resolveChainAsset } from "./chain_assets.ts";
import { Id, text } from "./entity.ts";
import { DomainError } from "./errors.ts";
import { isId } from "./ids.ts";
import { Amount, assertScale, fromUnits, scaleOf, toUnits } from "./money.ts";
import { type ChainPlace, type ChainSettings, placeFor } from "./places.ts";

/** How soon a withdrawal shall be mined. */
export const Speed = z.enum(["slow", "medium", "fast"]).meta({ id: "Speed" });
/** How soon a withdrawal shall be mined. */
export type Speed = z.infer<typeof Speed>;

/** What is asked for when a fee is to be estimated. */
export const Estimate = z.strictObject({
  account: Id,
  address: text(200),
  amount: Amount,
  speed: Speed.default("medium"),
}).meta({ id: "Estimate" });
/** What is asked for when a fee is to be estimated. */
export type Estimate = z.infer<typeof Estimate>;

/** What a payment costs. */
export interface Price {
  /** In whole units of the asset that is sent; what the user is charged. */
  fee: string;
  /** In whole units of the coin that pays it, where that is another one. */
  gas: { asset: string; value: string } | null;
  /** In base units of what pays it. */
  units: bigint;
  /** The smallest payment that nodes pass on, in base units of the asset. */
  least: bigint;
}

/** What is to be priced. */
export interface Priced {
  asset: ChainAsset;
  place: ChainPlace;
  speed: Speed;
  /** Whole units of the asset. */
  amount: string;
  /** Whose coins would be spent; null if nobody's yet. */
  sender: string | null;
  /** The accounting currency through which coins are compared. */
  currency: string;
}

/** A quote older than this says nothing about now. */
const QUOTE_AGE_MAX_MS = 600_000;

/**
 * Prices a payment.
 *
 * @throws {DomainError} chain.stale if no worker has seen prices lately
 */
export async function priceOf(db: Db, actor: Actor, wanted: Priced): Promise<Price> {
  const { asset, place, speed } = wanted;
  const contract = asset.contract ?? "";
  const quote = await recentQuote(db, actor, { ...place, contract, speed });
  const units = BigInt(quote.base) + BigInt(quote.per_payment) +
    BigInt(quote.per_input) * await coinsFor(db, wanted, quote);
  const least = BigInt(quote.least);
  if ((quote.fee_contract ?? "") === contract) {
    return { fee: fromUnits(units, asset.decimals), gas: null, units, least };
  }
  const gas = { asset: asset.gas.code, value: fromUnits(units, asset.gas.decimals) };
  return { fee: await converted(db, wanted, units), gas, units, least };
}

/**
 * Reads what workers last saw of the price of sending.
 *
 * @param of.contract '' is the chain's own coin
 * @throws {DomainError} chain.stale if no worker has seen prices lately
 */
export async function recentQuote(
  db: Db,
  actor: Actor,
  of: ChainPlace & { contract: string; speed: Speed },
): Promise<QuoteRow> {
  const quote = await selectQuote(db, of);
  if (quote !== null && actor.at - quote.quoted_at <= QUOTE_AGE_MAX_MS) return quote;
  throw new DomainError("chain.stale", `no recent prices of ${chainFacts(of.chain).name}`, {
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

/** The fee in whole units of the asset, rounded up; 0 while a rate is not known. */
async function converted(db: Db, { asset, currency }: Priced, units: bigint): Promise<string> {
  const worths = await selectWorths(db, [asset.code, asset.gas.code], currency);
  const [ours, theirs] = [worths.get(asset.code), worths.get(asset.gas.code)];
  if (ours === undefined || theirs === undefined) return "0";
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
  actor: Actor,
  input: Estimate & { chains: ChainSettings },
): Promise<string> {
  const account = isId(input.account) ? await selectAccount(db, input.account) : null;
  assertAccount(actor, "read", account);
  const asset = await resolveChainAsset(db, account.asset);
  assertScale(input.amount, asset.decimals, "/amount");
  const place = placeFor(input.chains, asset.chain, asset.token?.testnet ?? account.testnet);
  await checkAddress(place.chain, place.network, input.address);
  const own = account.type === "virtual" ? account.ramp : account.id;
  const ramp = asset.token?.ramp ?? own;
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
