/**
 * Rates: what one unit of an asset is worth in an accounting currency. Set by an administrator of the
 * realm, by the operator for all realms, or fetched; of two for the same pair the younger counts.
 * @module
 */
import { z } from "zod";
import { selectCurrencyByName } from "../../db/currencies/currencies.ts";
import type { Database, Db, Pool, Tx } from "../../db/database.ts";
import {
  type RateRow,
  selectRateOf,
  selectRates,
  selectRatesAfter,
  upsertRates,
} from "../../db/currencies/rates.ts";
import { selectRealms } from "../../db/realms/realms.ts";
import { locking, reading } from "../../db/transaction.ts";
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
import { placeOf } from "../realms/realms.ts";

/** A rate as it is set. */
export const NewRate = z.strictObject({
  base: text(40).meta({ description: "An asset, a virtual currency or an accounting currency." }),
  currency: AccountingCurrency,
  rate: Amount,
}).meta({ id: "NewRate" });
/** A rate as it is set. */
export type NewRate = z.infer<typeof NewRate>;

/** Which rates are asked for. */
export const RateQuery = z.strictObject({
  base: text(40).optional(),
  currency: text(40).optional(),
});
/** Which rates are asked for. */
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
const COPIED_AT_ONCE = 5000;
const REALMS_PAGE = 200;
const REALMS_AT_ONCE = 4;

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
  const known = findAsset(input.base) !== null || CURRENCIES.has(input.base) ||
    (!operator && await selectCurrencyByName(tx, input.base) !== null);
  if (!known) throw new DomainError("asset.unknown", "there is no such asset");
  const row: RateRow = {
    ...input,
    source: operator ? "operator" : "manual",
    owner: operator ? null : actor.user,
    updated_at: actor.at,
  };
  await upsertRates(tx, [row]);
  return row;
}

/**
 * Lists rates. Of a whole pair the rate that the ledger would use is shown, derived or not.
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

/**
 * Writes the installation's rates into every realm that can be reached.
 *
 * @param only the one realm to write into; null for all
 */
export async function spreadRates(
  database: Database,
  rates: readonly RateRow[],
  only: string | null = null,
): Promise<void> {
  for (let after: string | null = null;;) {
    const page = await reading(
      database.platform,
      (db) => selectRealms(db, after, REALMS_PAGE),
    );
    if (page.length === 0) return;
    const meant = page.filter((realm) => only === null || realm.id === only);
    for (let i = 0; i < meant.length; i += REALMS_AT_ONCE) {
      // A realm that is away catches up by its timetable.
      await Promise.allSettled(
        meant.slice(i, i + REALMS_AT_ONCE).map(async (realm) => {
          const place = placeOf(realm);
          const pool = place.placement === null ? database.watch(place) : database.realm(place);
          await locking(pool, (tx) => upsertRates(tx, rates));
        }),
      );
    }
    after = page[page.length - 1].id;
  }
}

/** Copies what the installation has learnt since a time into one realm; tells the newest time. */
export async function copyRates(platform: Pool, realm: Pool, after: number): Promise<number> {
  for (let newest = after;;) {
    const since = newest;
    const rates = await reading(platform, (db) => selectRatesAfter(db, since, COPIED_AT_ONCE));
    if (rates.length === 0) return newest;
    await locking(realm, (tx) => upsertRates(tx, rates));
    newest = rates[rates.length - 1].updated_at;
    if (rates.length < COPIED_AT_ONCE) return newest;
  }
}

/** Keeps fetched rates for the installation. */
export async function keepRates(platform: Pool, rates: readonly RateRow[]): Promise<void> {
  if (rates.length > 0) await locking(platform, (tx) => upsertRates(tx, rates));
}

/** Reads a price as a price source writes it: a JSON number, perhaps with an exponent. */
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
