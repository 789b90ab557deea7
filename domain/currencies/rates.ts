/**
 * Rates: the worth of one unit of an asset in an accounting currency. An administrator sets them
 * for the realm, the operator for all realms, or a worker fetches them. The newest rate of a pair
 * counts.
 * @module
 */
import { z } from "zod";
import { selectCurrencyByName } from "../../db/currencies/currencies.ts";
import type { Db, Tx } from "../../db/database.ts";
import { type RateRow, selectRateOf, selectRates, setRates } from "../../db/currencies/rates.ts";
import type { Actor } from "../actor.ts";
import { findAsset } from "../assets.ts";
import { spellOut } from "../canonical_json.ts";
import { CURRENCIES } from "../codes.ts";
import { text } from "../entity.ts";
import { DomainError, invalidField } from "../errors.ts";
import { AccountingCurrency } from "../identity/identities.ts";
import { isDigits } from "../json.ts";
import { Amount, decimalOf, DecimalText, trim } from "../money.ts";
import { assertRealmAdmin, notFound } from "../permissions.ts";

/** A rate as it is set. */
export const NewRate = z.strictObject({
  base: text(40).meta({ description: "An asset, a virtual currency or an accounting currency." }),
  currency: AccountingCurrency,
  rate: Amount,
}).meta({ id: "NewRate" });
/** A rate as it is set. */
export type NewRate = z.infer<typeof NewRate>;

/** Parameters of a list of rates. */
export const RateQuery = z.strictObject({
  base: text(40).optional(),
  currency: text(40).optional(),
});
/** Parameters of a list of rates. */
export type RateQuery = z.infer<typeof RateQuery>;

/** A rate as shown. */
export const RateView = z.object({
  base: z.string(),
  currency: z.string(),
  rate: DecimalText,
  source: z.string(),
  updated_at: z.number().int().nullable(),
}).meta({ id: "Rate" });

const SHOWN_MAX = 10_000;

/**
 * Sets a rate in the actor's realm, or, for the operator, in the installation.
 *
 * @throws {DomainError} permission.role, permission.scope, asset.unknown, request.invalid
 */
export async function setRate(tx: Tx, actor: Actor, input: NewRate): Promise<RateRow> {
  const operator = actor.kind === "operator";
  if (!operator) assertRealmAdmin(actor);
  if (input.base === input.currency) {
    throw invalidField("/base", "a unit is always worth itself");
  }
  const known = isCode(input.base) ||
    (!operator && await selectCurrencyByName(tx, input.base) !== null);
  if (!known) throw new DomainError("asset.unknown", "there is no such asset");
  const [row] = await setRates(tx, [{
    ...input,
    source: operator ? "operator" : "manual",
    owner: operator ? null : actor.user,
  }]);
  return row;
}

function isCode(name: string): boolean {
  return findAsset(name) !== null || CURRENCIES.has(name);
}

/**
 * Refuses the base of a virtual currency where nothing could ever have a rate.
 *
 * @throws {DomainError} asset.unknown, request.invalid
 */
export async function assertBase(
  tx: Tx,
  { name, base }: { name: string; base?: string | null },
): Promise<void> {
  if (base === undefined || base === null || isCode(base)) return;
  if (base === name) throw invalidField("/base", "another currency or asset is expected");
  if (await selectCurrencyByName(tx, base) !== null) return;
  throw new DomainError(
    "asset.unknown",
    "there is no such base: an asset or a currency is expected",
  );
}

/**
 * Lists rates. For a pair of base and currency it shows the rate that the ledger uses, set or
 * derived.
 *
 * @throws {DomainError} rate.not_found for a pair without a rate
 */
export async function listRates(
  db: Db,
  actor: Actor,
  query: RateQuery,
): Promise<Record<string, unknown>[]> {
  const { base = null, currency = null } = query;
  const rows = await selectRates(db, { base, currency, limit: SHOWN_MAX });
  if (rows.length > 0 || base === null || currency === null) return rows.map(viewRate);
  const rate = actor.kind === "operator" ? null : await selectRateOf(db, base, currency);
  if (rate === null) throw notFound("rate.not_found");
  return [{ base, currency, rate: trim(rate), source: "derived", updated_at: null }];
}

/** Reads a price from a price source: a JSON number, possibly with an exponent. */
export function priceOf(given: unknown): string | null {
  const literal = isDigits(given)
    ? given.digits
    : typeof given === "number"
    ? JSON.stringify(given)
    : "";
  if (!/^\d+(\.\d+)?([eE][+-]?\d{1,3})?$/.test(literal)) return null;
  const price = decimalOf(spellOut(literal));
  return price === "0" ? null : price;
}

/** Shows a rate. */
export function viewRate(row: RateRow): Record<string, unknown> {
  return {
    base: row.base,
    currency: row.currency,
    rate: trim(row.rate),
    source: row.source,
    updated_at: row.updated_at,
  };
}
