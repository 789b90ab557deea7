/** Statements on fee quotes, as workers last read them, and on rates between assets. @module */
import type { Db, Tx } from "../database.ts";
import { selectDatabaseTime } from "../health.ts";

/** A quote; amounts are base units of `fee_contract`. */
export interface QuoteRow {
  chain: string;
  network: string;
  /** The asset sent; '' is the chain's own coin. */
  contract: string;
  speed: string;
  /** The asset of the fee; null is the chain's own coin. */
  fee_contract: string | null;
  base: string;
  per_input: string;
  per_payment: string;
  /** The smallest payment that nodes relay. */
  least: string;
  /** How long ago nodes gave it, in milliseconds by the database's clock. */
  age: number;
}

/**
 * Stores the newest quotes of an asset, dated by the database's clock: one of a process whose clock is far ahead would
 * stand before all later ones until then.
 */
export async function upsertQuotes(tx: Tx, quotes: readonly QuoteRow[]): Promise<void> {
  const now = await selectDatabaseTime(tx);
  for (const { age, ...quote } of quotes) {
    await tx`
      insert into fee_quotes ${tx({ ...quote, quoted_at: now - age })}
      on conflict (chain, network, contract, speed) do update set
        fee_contract = excluded.fee_contract, base = excluded.base,
        per_input = excluded.per_input, per_payment = excluded.per_payment,
        least = excluded.least, quoted_at = excluded.quoted_at
      where fee_quotes.quoted_at <= excluded.quoted_at or fee_quotes.quoted_at > ${now}`;
  }
}

/** Reads the newest quote of an asset at a speed. */
export async function selectQuote(
  db: Db,
  of: { chain: string; network: string; contract: string; speed: string },
): Promise<QuoteRow | null> {
  const [row] = await db<QuoteRow[]>`
    select chain, network, contract, speed, fee_contract, base::text as base,
      per_input::text as per_input, per_payment::text as per_payment, least::text as least,
      (extract(epoch from clock_timestamp() - quoted_at) * 1000)::float8 as age
    from fee_quotes
    where chain = ${of.chain} and network = ${of.network} and contract = ${of.contract}
      and speed = ${of.speed}`;
  return row ?? null;
}

/** An asset that the realm's ramps need quotes of. */
export interface QuotedRow {
  chain: string;
  network: string;
  asset: string;
  /** The contract of a token of the realm's own; null for an asset of the registry. */
  contract: string | null;
}

/**
 * Lists the assets that the realm's ramps send, and tokens that they will send once these are
 * registered.
 */
export async function selectQuoted(db: Db): Promise<QuotedRow[]> {
  return await db<QuotedRow[]>`
    select r.chain, r.network, a.asset, null as contract
    from ramps r, lateral (select * from accounts a where a.id = r.account offset 0) a
    where a.deleted_at is null
    union
    select t.chain, t.network, t.symbol, t.contract from fungible_tokens t
    where t.status in ('deployed', 'registered') and t.contract is not null
      and t.deleted_at is null
    order by 1, 2, 3`;
}
