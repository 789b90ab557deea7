/**
 * Statements on the sums of transactions by the hour. The process that appends links to the hash chain adds the
 * transactions of those links in the same database transaction, so each counts once, in whatever order processes end.
 * @module
 */
import type { Db, Tx } from "../database.ts";

/** The way of value: into the ledger, out of it, or between accounts. */
export type Direction = "in" | "out" | "inside";

/**
 * A transaction `x` by the parts that decide to which sum it belongs. The counterparty is no party of a transfer. Hours are
 * those of UTC; `date_trunc` would look the zone up for each transaction.
 */
const PARTS =
  `x.testnet, date_bin('1 hour', x.created_at, '2000-01-01T00:00:00Z') as hour, x.asset, x.type,
  case when x.type = 'transfer' then 'inside'
    when (select a.system from accounts a where a.id = x.source) = 'world' then 'in'
    when (select a.system from accounts a where a.id = x.destination) = 'world' then 'out'
    else 'inside' end as direction,
  coalesce(x.fiat_currency, '') as currency, x.amount, coalesce(x.fiat_value, 0) as value`;
const SUMS = `t.testnet, t.hour, t.asset, t.type, t.direction, t.currency, count(*) as count,
  sum(t.amount) as amount, sum(t.value) as value`;
const EACH = "t.testnet, t.hour, t.asset, t.type, t.direction, t.currency";

/** The sums as they are recomputed from the transactions in the hash chain. */
export const RECOMPUTED_FLOWS: string = `select ${SUMS}
  from (select ${PARTS} from chain_links l join transactions x on x.id = l.transaction) t group by ${EACH}`;

/** Adds transactions to the sums of their hours. The transaction holds the head of the hash chain. */
export async function addFlows(tx: Tx, transactions: readonly string[]): Promise<void> {
  if (transactions.length === 0) return;
  // A plan that was made while the table was empty must not read through it: each id is looked up.
  await tx.unsafe(
    `insert into hourly_flows (testnet, hour, asset, type, direction, currency, count, amount, value)
    select ${SUMS} from unnest($1::text::uuid[]) u(id),
      lateral (select ${PARTS} from transactions x where x.id = u.id offset 0) t
    group by ${EACH}
    on conflict (testnet, hour, asset, type, direction, currency) do update
      set count = hourly_flows.count + excluded.count, amount = hourly_flows.amount + excluded.amount,
        value = hourly_flows.value + excluded.value`,
    [`{${transactions.join(",")}}`],
    { prepare: true },
  );
}

/** Computes all sums anew of which the transactions are there, for the owner of the tables. No link is appended meanwhile. */
export async function replaceFlows(tx: Tx): Promise<void> {
  await tx`select from chain_head for update`;
  // Sums of hours whose transactions are archived stay as they are: a part ends at a whole hour.
  await tx`delete from hourly_flows
    where hour >= coalesce(ms_time(id_ms(archived_bound())), '-infinity')`;
  await tx.unsafe(
    `insert into hourly_flows (testnet, hour, asset, type, direction, currency, count, amount, value)
    ${RECOMPUTED_FLOWS}`,
  );
}

/** How far the sums go. */
export interface FlowsHead {
  /** The ledger's present. */
  now: number;
  /** All transactions before it are in the sums; null while there is none at all. */
  complete_to: number | null;
  /** Transactions that are in no sum yet. */
  unsealed: string;
}

/** Reads how far the sums go. Read before the sums, it promises no more than they hold. */
export async function selectFlowsHead(db: Db): Promise<FlowsHead> {
  const [row] = await db<FlowsHead[]>`
    select ledger_ms()::float8 as now,
      coalesce((select id_ms(c.transactions[1]) from ledger_commits c
        where cardinality(c.transactions) > 0 order by c.id limit 1), id_ms(ledger_newest()))::float8 as complete_to,
      (select coalesce(sum(cardinality(c.transactions)), 0) from ledger_commits c)::text as unsealed`;
  return row;
}

/** Which sums are read; a part that is not asked for is added up. */
export interface FlowsPart {
  testnet: boolean;
  /** The beginning of an hour or a day, and the last moment, both included, in milliseconds. */
  from: number;
  to: number;
  stepMs: number;
  by: { asset: boolean; type: boolean };
  /** Null: of all. */
  asset: string | null;
  type: string | null;
  limit: number;
}

/** A sum of transactions with fiat values in one currency, or without. */
export interface FlowRow {
  at: number;
  /** Null where it is added up. */
  asset: string | null;
  type: string | null;
  direction: Direction;
  /** Empty where the transactions have no fiat value. */
  currency: string;
  count: number;
  amount: string;
  value: string;
}

/** Counts the stored sums of a range, so many at most. */
export async function countFlows(
  db: Db,
  { testnet, from, to }: Pick<FlowsPart, "testnet" | "from" | "to">,
  most: number,
): Promise<number> {
  const [row] = await db.unsafe<{ count: number }[]>(
    `select count(*)::integer as count from (select from hourly_flows
      where testnet = $1 and hour between ms_time($2::bigint) and ms_time($3::bigint) limit $4) f`,
    [testnet, from, to, most],
  );
  return row.count;
}

/** Reads sums in no order, so many at most. One hour or day is added up after the other, and the statement is planned anew. */
export async function selectFlows(
  db: Db,
  { testnet, from, to, stepMs, by, asset, type, limit }: FlowsPart,
): Promise<FlowRow[]> {
  const parts = [by.asset ? "asset" : "null::text", by.type ? "type" : "null::text"];
  return await db.unsafe<FlowRow[]>(
    `select s.ms::float8 as at, f.* from generate_series($2::bigint, $3::bigint, $4::bigint) s(ms)
      cross join lateral (select ${parts[0]} as asset, ${parts[1]} as type, direction, currency,
          sum(count)::float8 as count, sum(amount)::text as amount, sum(value)::text as value
        from hourly_flows
        where testnet = $1 and hour >= ms_time(s.ms) and hour < ms_time(s.ms + $4::bigint) and hour <= ms_time($3::bigint)
          and ($5::text is null or asset = $5) and ($6::text is null or type = $6)
        group by 1, 2, 3, 4) f
      limit $7`,
    [testnet, from, to, stepMs, asset, type, limit],
  );
}
