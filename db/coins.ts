/** Statements on coins that orders spend and make. @module */
import type { Db, Tx } from "./database.ts";

/** Coins that are offered to one plan, however many there are. */
export const COINS_MAX = 1000;

/** A coin that may be spent; amounts in base units. */
export interface CoinRow {
  hash: string;
  index: number;
  address: string;
  amount: string;
  height: number | null;
  parent_fee: string | null;
  parent_vsize: number | null;
}

/**
 * Reads the free coins of an address, largest first; they stay ours until the transaction ends.
 * Change that is not in a block is offered only while nothing else was made for its order: of two
 * that replace each other one will never be. What others paid is offered once it is as deep as a
 * deposit must be.
 *
 * @param of.settled the height of a block that is as deep
 */
export async function lockFreeCoins(
  tx: Tx,
  of: { chain: string; network: string; address: string; head: number; settled: number },
  limit: number,
): Promise<CoinRow[]> {
  return await tx<CoinRow[]>`
    select hash, index, address, amount::text as amount, height::integer as height,
      parent_fee::text as parent_fee, parent_vsize
    from coins o
    where chain = ${of.chain} and network = ${of.network} and address = ${of.address}
      and spent_by is null and (matures_at is null or matures_at <= ${of.head})
      and (height <= ${of.settled}
        or (height is not null and exists (
          select 1 from order_candidates m where m.hash = o.hash))
        or (height is null and (select count(*) from order_candidates m
          join order_candidates s using (order_id) where m.hash = o.hash) = 1))
      and ${unclaimed(tx)}
    order by o.amount desc, hash, index limit ${limit} for update of o`;
}

/** Adds up the largest free coins of an address, in base units, and counts them; they stay free. */
export async function sumFreeCoins(
  db: Db,
  of: { chain: string; network: string; address: string },
  limit: number,
): Promise<{ units: string; count: number }> {
  const [row] = await db<{ units: string; count: number }[]>`
    select coalesce(sum(amount), 0)::text as units, count(*)::integer as count from (
      select amount from coins o
      where chain = ${of.chain} and network = ${of.network} and address = ${of.address}
        and spent_by is null and ${unclaimed(db)}
      order by o.amount desc limit ${limit}) as largest`;
  return row;
}

/** No order has reserved a coin. Asked of each by its key: a join may be planned the other way about. */
function unclaimed(db: Db) {
  return db`(select c.order_id from claims c where c.chain = o.chain and c.network = o.network
    and c.claim = o.hash || ':' || o.index) is null`;
}

/** Keeps the change of a transaction of ours, before any block shows it. */
export async function insertChange(
  tx: Tx,
  coin: {
    chain: string;
    network: string;
    hash: string;
    index: number;
    address: string;
    ramp: string;
    amount: string;
    parent_fee: string;
    parent_vsize: number | null;
    created_at: number;
  },
): Promise<void> {
  await tx`insert into coins ${tx(coin)} on conflict do nothing`;
}

/** Forgets change that will never be, of transactions that are dead. */
export async function deleteUnmadeCoins(
  tx: Tx,
  of: { chain: string; network: string },
  hashes: readonly string[],
): Promise<void> {
  await tx`
    delete from coins where chain = ${of.chain} and network = ${of.network} and height is null
      and hash = any (${hashes as string[]}::text[])`;
}

/** Notes which transaction spent some coins, named as claims. */
export async function markSpent(
  tx: Tx,
  of: { chain: string; network: string; hash: string; height: number },
  claims: readonly string[],
): Promise<void> {
  await tx`
    update coins set spent_by = ${of.hash}, spent_height = coalesce(spent_height, ${of.height})
    where chain = ${of.chain} and network = ${of.network} and spent_by is null
      and hash || ':' || index = any (${claims as string[]}::text[])`;
}

/** Whether a living order spends what some transactions make. */
export async function selectDependants(
  tx: Tx,
  of: { chain: string; network: string },
  hashes: readonly string[],
): Promise<boolean> {
  const rows = await tx`
    select claim from claims where chain = ${of.chain} and network = ${of.network}
      and split_part(claim, ':', 1) = any (${hashes as string[]}::text[]) limit 1`;
  return rows.length > 0;
}

/** Counts how many of an address's free coins, largest first, add up to an amount; at least 1. */
export async function countCoinsFor(
  db: Db,
  of: { chain: string; network: string; address: string; amount: string },
): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select (count(*) filter (where before < ${of.amount}::numeric))::integer as count
    from (select coalesce(sum(amount) over (order by amount desc, hash, index
        rows between unbounded preceding and 1 preceding), 0) as before
      from coins where chain = ${of.chain} and network = ${of.network}
        and address = ${of.address} and spent_by is null
      order by amount desc, hash, index limit ${COINS_MAX}) as sums`;
  return Math.max(1, row.count);
}
