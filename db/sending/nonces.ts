/** Statements on the nonces of senders. @module */
import type { Db, Tx } from "../database.ts";
import { ORDER_COLUMNS, type OrderRow, type SenderName } from "./chain_orders.ts";
import { isWanted } from "./late_attempts.ts";
import type { AttemptRow } from "./order_attempts.ts";

/** Most unused nonces that are read in front of an order. */
const GAPS_READ = 1000;

/**
 * Takes a nonce of a sender: the lowest that was never signed and that no order has
 * reserved, else the next.
 *
 * @param mined the number of its mined transactions, by a node's answer
 * @returns null if that is more than this database ever made; no nonce is taken then
 */
export async function takeNonce(tx: Tx, of: SenderName, mined: number): Promise<number | null> {
  const [{ next, floor }] = await tx<{ next: number; floor: number }[]>`
    insert into nonces (chain, network, address, next)
    values (${of.chain}, ${of.network}, ${of.sender}, 0)
    on conflict (chain, network, address) do update set next = nonces.next
    returning next, floor`;
  if (mined > next) return null;
  const from = Math.max(mined, floor);
  const [gap] = await tx<{ nonce: number }[]>`
    select n as nonce from generate_series(${from}::integer, ${
    Math.min(next, from + GAPS_READ) - 1
  }) as n
    where ${unreserved(tx, of)} and (
      select true from chain_orders o
      where o.chain = ${of.chain} and o.network = ${of.network} and o.sender = ${of.sender}
        and o.nonce = n and (select true from order_attempts c
          where c.order_id = o.id and c.raw is not null limit 1)
      limit 1) is null
    order by n limit 1`;
  if (gap !== undefined) return gap.nonce;
  await tx`
    update nonces set next = ${next + 1}
    where chain = ${of.chain} and network = ${of.network} and address = ${of.sender}`;
  return next;
}

/** Lists nonces in front of one that no open order will use, lowest first. */
export async function selectGaps(
  db: Db,
  of: SenderName,
  between: { mined: number; below: number },
): Promise<number[]> {
  const rows = await db<{ nonce: number }[]>`
    select n as nonce from nonces s
      cross join generate_series(greatest(${between.mined}::integer, s.floor),
        least(${between.below}, greatest(${between.mined}, s.floor) + ${GAPS_READ}) - 1) as n
    where s.chain = ${of.chain} and s.network = ${of.network} and s.address = ${of.sender}
      and ${unreserved(db, of)}
    order by n`;
  return rows.map((row) => row.nonce);
}

/** Each nonce is looked up by itself: `not exists` would be planned as a join over all reserved inputs of the network. */
function unreserved(db: Db, of: SenderName) {
  return db`(select true from reserved_inputs k where k.chain = ${of.chain}
    and k.network = ${of.network} and k.input = ${of.sender} || ':' || n limit 1) is null`;
}

/**
 * Reads the mined attempts of orders that are done, or that a cancellation ended, with some nonces:
 * the chain may have lost them. So it may those that were mined late, and that an order has booked: a loss is not made
 * anew, nor what was told to be lost.
 */
export async function selectDone(
  db: Db,
  of: SenderName,
  nonces: readonly number[],
): Promise<(AttemptRow & { nonce: number })[]> {
  if (nonces.length === 0) return [];
  return await db<(AttemptRow & { nonce: number })[]>`
    select o.nonce, k.order_id, k.attempt, k.plan, k.inputs, k.hash, k.raw, k.expires, k.fee,
      k.sent_at, k.outcome, k.cancels, k.borne_by, k.unreadable, k.dropped, k.created_at
    from chain_orders o join order_attempts k on k.hash = o.hash
      and (k.order_id = o.id or k.late_order_id = o.id) and ${isWanted(db)}
    where o.chain = ${of.chain} and o.network = ${of.network} and o.sender = ${of.sender}
      and (o.state = 'done' or (o.state = 'failed' and k.cancels)) and o.nonce in (
        select value::integer from jsonb_array_elements_text(${db.json([...nonces] as never)}))
    order by o.nonce`;
}

/** A transaction, and the nonce that it used up; null where it used none. */
export type MinedNonce = Pick<OrderRow, "chain" | "network" | "sender" | "nonce" | "hash">;

/**
 * Lists the orders that are done with the nonce of a mined one, and of which that was not told yet: the chain has lost their
 * transactions to that one's. Those that a batch, or a found transaction, paid are its: their nonce is of a plan of their own.
 */
export async function selectDisplaced(
  db: Db,
  { chain, network, sender, nonce, hash }: MinedNonce,
): Promise<OrderRow[]> {
  if (nonce === null || hash === null) return [];
  return await db<OrderRow[]>`
    select ${db(ORDER_COLUMNS)} from chain_orders o
    where chain = ${chain} and network = ${network} and sender = ${sender} and nonce = ${nonce}
      and state = 'done' and hash <> ${hash} and batch_order_id is null
      and not exists (select from displaced_orders d where d.hash = o.hash and d.state = 'displaced')
    order by id`;
}

/** Counts the open orders of a sender that fill nonces. */
export async function countFills(db: Db, of: SenderName): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)::integer as count from chain_orders
    where chain = ${of.chain} and network = ${of.network} and sender = ${of.sender}
      and purpose = 'fill' and state in ('new', 'planned', 'signed', 'sent', 'mined')`;
  return row.count;
}

/** Whether an open order of a sender waits behind a nonce. */
export async function selectWaiting(
  db: Db,
  of: SenderName & { nonce: number | null },
): Promise<boolean> {
  const rows = await db`
    select 1 from chain_orders
    where chain = ${of.chain} and network = ${of.network} and sender = ${of.sender}
      and state in ('planned', 'signed', 'sent') and nonce > ${of.nonce}::integer limit 1`;
  return rows.length > 0;
}

/**
 * Whether an order is the first that its sender waits for, others wait behind it, and it had no new
 * attempt since a moment.
 */
export async function selectBlocking(
  db: Db,
  of: SenderName & { id: string; nonce: number | null },
  since: number,
): Promise<boolean> {
  const [row] = await db<{ blocking: boolean }[]>`
    select coalesce(bool_or(nonce > ${of.nonce}::integer), false)
      and not coalesce(bool_or(nonce < ${of.nonce}::integer), false)
      and not exists (select 1 from order_attempts
        where order_id = ${of.id} and created_at > ${since}) as blocking
    from chain_orders
    where chain = ${of.chain} and network = ${of.network} and sender = ${of.sender}
      and state in ('planned', 'signed', 'sent', 'mined')`;
  return row.blocking;
}

/** Whether one more signed withdrawal of a ramp may be canceled today: each leaves a nonce to be filled. */
export async function selectMayDiscard(
  db: Db,
  of: { ramp: string; reference_id: string },
): Promise<boolean> {
  const [row] = await db<{ may: boolean }[]>`
    select may_discard(${of.ramp}, ${of.reference_id}) as may`;
  return row.may;
}
