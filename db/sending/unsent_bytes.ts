/** Statements on bytes that were signed and never sent, and on orders that spend what they would make. @module */
import type postgres from "postgres";
import { isCoin } from "../chains/coin_places.ts";
import type { Db } from "../database.ts";
import { ORDER_COLUMNS, type OrderRow } from "./chain_orders.ts";

/** Lists the open orders that spend outputs of some transactions, or of what spends these; oldest first. */
export async function selectDependantOrders(
  db: Db,
  of: { chain: string; network: string },
  hashes: readonly string[],
): Promise<OrderRow[]> {
  return await db<OrderRow[]>`
    with recursive found as (
      select k.order_id as id from unnest(${hashes as string[]}::text[]) h(hash), ${spendersOf(db)}
      where k.chain = ${of.chain} and k.network = ${of.network}
      union
      select k.order_id from found f
        cross join lateral (select hash from order_attempts
          where order_id = f.id and hash is not null and not dropped offset 0) h, ${spendersOf(db)}
      where k.chain = ${of.chain} and k.network = ${of.network}
    )
    select o.* from found f cross join lateral (
      select ${db(ORDER_COLUMNS)} from chain_orders where id = f.id offset 0) o
    order by o.id`;
}

/** The reserved inputs `k` that are outputs of the transaction `h.hash`, by the index of these. */
function spendersOf(db: Db): postgres.PendingQuery<postgres.Row[]> {
  return db`lateral (select chain, network, order_id from reserved_inputs
    where split_part(input, ':', 1) = h.hash offset 0) k`;
}

/**
 * The transaction that took the place of an order's, or a coin of it, and that was given up here before it was sent. One
 * that used its nonce, and that an order books, was heard of.
 */
export async function selectGivenUp(
  db: Db,
  { id, chain, network, by }: { id: string; chain: string; network: string; by: string | null },
): Promise<string | null> {
  const [row] = await db<{ hash: string }[]>`
    select k.hash from (
      select ${by}::text as hash union
      select c.spent_by from order_attempts a cross join unnest(a.inputs) i
        cross join lateral (select chain, network, index, spent_by from coins
          where hash = split_part(i, ':', 1) offset 0) c
      where a.order_id = ${id} and c.chain = ${chain} and c.network = ${network}
        and c.index::text = split_part(i, ':', 2)) h,
      lateral (select hash, order_id, proof, late_order_id from order_attempts
        where hash = h.hash offset 0) k,
      lateral (select state, nonce from chain_orders where id = k.order_id offset 0) o
    where (o.state = 'canceled' or k.proof = 'orphaned')
      and (o.nonce is null or k.late_order_id is null)
    limit 1`;
  return row?.hash ?? null;
}

/**
 * Lists the transactions of an order that were given up because nobody here sends what they spend, or because they had
 * expired; oldest first.
 */
export async function selectGivenUpHashes(db: Db, order: string): Promise<string[]> {
  const rows = await db<{ hash: string }[]>`
    select hash from order_attempts
    where order_id = ${order} and proof in ('orphaned', 'expired') and hash is not null
    order by attempt`;
  return rows.map(({ hash }) => hash);
}

/** Bytes of an order that may still be mined, together with others that were never sent. */
export interface Rival {
  /** The order that they pay for. */
  order: string;
  hash: string;
  /** Coins in blocks, as `txid:index`: once one of them is spent by another transaction, they can never be mined. */
  inputs: string[];
}

/**
 * Lists the bytes of some orders that were given up because nothing of ours sends what they spend, and that could be
 * mined all the same if somebody else did: those of a batch count for each payment that it made.
 *
 * @param settled a spend up to this height is deep enough
 */
export async function selectRivals(
  db: Db,
  orders: readonly string[],
  settled: number,
): Promise<Rival[]> {
  return await db<Rival[]>`
    with recursive given_up as (
      select o.id as wanted, o.chain, o.network, k.hash, k.inputs
      from chain_orders o join order_attempts k on k.proof = 'orphaned' and k.hash is not null
        and (k.order_id = o.id or exists (select from chain_orders p where p.id = k.order_id
          and p.purpose = 'batch' and p.ramp = o.ramp
          and (p.request -> 'payments') @> (o.request -> 'payments')))
      where o.id = any (${`{${orders.join(",")}}`}::text::uuid[])
    ), walk as (
      select wanted, chain, network, hash as root, hash, inputs from given_up
      union
      select w.wanted, w.chain, w.network, w.root, p.hash, p.inputs
      from walk w cross join unnest(w.inputs) k
        cross join lateral (select hash, inputs from order_attempts where hash = split_part(k, ':', 1) offset 0) p
      where (select true from ${coinOf(db)} where (c.chain, c.network) = (w.chain, w.network)
        and c.height is not null limit 1) is null
    ), dead as (
      select w.wanted, w.root from walk w
        cross join lateral (select order_id, hash, dropped, proof from order_attempts where hash = w.hash offset 0) p
        cross join lateral (select state, hash from chain_orders where id = p.order_id offset 0) q
      where (p.dropped and p.proof <> 'orphaned')
        or (q.state in ('done', 'failed') and q.hash is distinct from p.hash)
      union
      select w.wanted, w.root from walk w cross join unnest(w.inputs) k
        cross join lateral ${coinOf(db)}
      where (c.chain, c.network) = (w.chain, w.network)
        and c.spent_height <= ${settled} and c.spent_by not in (w.hash, 'unknown') -- which may be these bytes
    )
    select w.wanted as order, w.root as hash,
      coalesce(array_agg(distinct k) filter (where c.height is not null), '{}') as inputs
    from walk w cross join unnest(w.inputs) k
      left join lateral ${coinOf(db)} on (c.chain, c.network) = (w.chain, w.network)
    where (w.wanted, w.root) not in (select wanted, root from dead)
    group by w.wanted, w.root order by w.wanted, w.root`;
}

/** The coin that an input `k` names, looked up by its key: a join is planned while there are few coins. */
function coinOf(db: Db): postgres.PendingQuery<postgres.Row[]> {
  return db`(select chain, network, height, spent_by, spent_height from coins
    where ${isCoin(db)} offset 0) c`;
}
