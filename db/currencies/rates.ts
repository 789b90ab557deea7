/** Statements on rates: the platform's table and each realm's have the same columns. @module */
import type { Db } from "../database.ts";

/** The worth of one unit of `base` in `currency`. */
export interface RateRow {
  base: string;
  currency: string;
  rate: string;
  source: string;
  owner: string | null;
  updated_at: number;
}

const COLUMNS = ["base", "currency", "rate", "source", "owner", "updated_at"] as const;

/**
 * Copies rates of the installation into a realm; of two for a pair the newer counts. None is of the future by the realm's
 * database: that of another server whose clock is far ahead would stand before all later ones until then. Gives the number
 * written.
 */
export async function copyRateRows(db: Db, rates: readonly RateRow[]): Promise<number> {
  const rows = await db`
    insert into rates (base, currency, rate, source, owner, updated_at)
    select r.base, r.currency, r.rate, r.source, r.owner,
      least(to_timestamp(r.updated_at / 1000.0), date_trunc('milliseconds', clock_timestamp()))
    from jsonb_to_recordset(${JSON.stringify(rates)}::text::jsonb)
      r(base text, currency text, rate numeric, source text, owner uuid, updated_at bigint)
    order by r.base, r.currency
    on conflict (base, currency) do update set rate = excluded.rate, source = excluded.source,
      owner = excluded.owner, updated_at = excluded.updated_at
      where excluded.updated_at > rates.updated_at or rates.updated_at > clock_timestamp()
        or (excluded.updated_at = rates.updated_at and excluded.rate <> rates.rate)
    returning base`;
  return rows.length;
}

/** A rate that is dated as it is written. */
export type UndatedRate = Omit<RateRow, "updated_at">;

/**
 * Writes rates, dated by the database's clock: that of a process, which may be behind, decides nothing, so the rate that is
 * set last counts. Gives them as written.
 */
export async function setRates(db: Db, rates: readonly UndatedRate[]): Promise<RateRow[]> {
  return await db<RateRow[]>`
    insert into rates (base, currency, rate, source, owner, updated_at)
    select r.base, r.currency, r.rate, r.source, r.owner, date_trunc('milliseconds', clock_timestamp())
    from jsonb_to_recordset(${JSON.stringify(rates)}::text::jsonb)
      r(base text, currency text, rate numeric, source text, owner uuid)
    order by r.base, r.currency
    on conflict (base, currency) do update set rate = excluded.rate, source = excluded.source,
      owner = excluded.owner, updated_at = excluded.updated_at
    returning ${db(COLUMNS)}`;
}

/** A price that is a tenth of the last one, or ten times as much, is not one that the market has moved to in minutes. */
const LEAP = 10;

/**
 * Writes rates that a price source tells as {@link setRates} does, but none that is far from what it told of the pair, or
 * the operator has set, within the last hour: after that a rate converts no fee, and what is told then begins anew. Gives
 * those that were written.
 */
export async function setMarketRates(db: Db, rates: readonly UndatedRate[]): Promise<RateRow[]> {
  const near = await db<{ base: string; currency: string }[]>`
    select t.base, t.currency
    from jsonb_to_recordset(${JSON.stringify(rates)}::text::jsonb)
      t(base text, currency text, rate numeric)
      left join rates r on r.base = t.base and r.currency = t.currency
        and r.updated_at > clock_timestamp() - interval '1 hour'
    where r.base is null or (t.rate < r.rate * ${LEAP}::integer and t.rate * ${LEAP}::integer > r.rate)`;
  const taken = new Set(near.map(({ base, currency }) => `${base} ${currency}`));
  return await setRates(db, rates.filter(({ base, currency }) => taken.has(`${base} ${currency}`)));
}

/** Reads rates, of a base or into a currency where these are given. */
export async function selectRates(
  db: Db,
  of: { base: string | null; currency: string | null; limit: number },
): Promise<RateRow[]> {
  return await db<RateRow[]>`
    select ${db(COLUMNS)} from rates
    where (${of.base}::text is null or base = ${of.base})
      and (${of.currency}::text is null or currency = ${of.currency})
    order by base, currency limit ${of.limit}`;
}

/** A rate's place among all, by the time at which it was set: rates of one statement may have the same time. */
export type RatePlace = Pick<RateRow, "updated_at" | "base" | "currency">;

/** Reads the rates after a place, oldest first. */
export async function selectRatesAfter(
  db: Db,
  { updated_at, base, currency }: RatePlace,
  limit: number,
): Promise<RateRow[]> {
  return await db<RateRow[]>`
    select ${db(COLUMNS)} from rates where updated_at >= ${updated_at}
      and (updated_at, base, currency) > (${updated_at}, ${base}, ${currency})
    order by updated_at, base, currency limit ${limit}`;
}

/** Computes a rate as the ledger does: as it is set, or over the base of a virtual currency. */
export async function selectRateOf(
  db: Db,
  base: string,
  currency: string,
): Promise<string | null> {
  const [row] = await db<{ rate: string | null }[]>`
    select rate_of(${base}, ${currency}) as rate`;
  return row.rate;
}

/** The worth of one unit of an asset in another asset's units; null where rates are unknown, or older than some seconds. */
export async function selectWorth(
  db: Db,
  of: { asset: string; in: string; currency: string; withinS: number },
): Promise<string | null> {
  const [row] = await db<{ worth: string | null }[]>`
    select rate_of(${of.asset}, ${of.currency}) / nullif(rate_of(${of.in}, ${of.currency}), 0)
      as worth
    where not exists (
      select from unnest(array[${of.asset}, ${of.in}]::text[]) u(name)
      left join rates r on (r.base, r.currency) = (u.name, ${of.currency})
      left join currencies c on c.name = u.name and c.deleted_at is null and r.base is null
      left join rates b on (b.base, b.currency) = (c.base, ${of.currency})
      where coalesce(r.updated_at, b.updated_at) < clock_timestamp() - make_interval(secs => ${of.withinS}))`;
  return row?.worth ?? null;
}

/** Two assets that are compared, and the currencies in which they are, the preferred first. */
export interface Comparison {
  asset: string;
  with: string;
  currencies: readonly string[];
  /** Older rates do not count: milliseconds, by the database's clock, which dates them. */
  withinMs: number;
}

/**
 * Reads what one whole unit of each of two assets is worth in one currency: the first of those preferred in which
 * both have a rate, else that of the newest rates. Null where no currency has both.
 */
export async function selectWorthsSince(
  db: Db,
  { asset, with: other, currencies, withinMs }: Comparison,
): Promise<{ asset: string; other: string } | null> {
  const priced = (base: string) =>
    db`(select currency, rate, updated_at from rates
        where base = ${base} and updated_at >= clock_timestamp() - make_interval(secs => ${
      withinMs / 1000
    })
      union all select ${base}::text, 1, null)`;
  const [row] = await db<{ asset: string; other: string }[]>`
    select a.rate::text as asset, o.rate::text as other
    from ${priced(asset)} a join ${priced(other)} o using (currency)
    order by array_position(${currencies as string[]}::text[], currency),
      least(a.updated_at, o.updated_at) desc, currency limit 1`;
  return row ?? null;
}
