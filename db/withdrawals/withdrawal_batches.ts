/** Statements on withdrawal batches: orders whose transaction pays several withdrawals. @module */
import type { Db, Tx } from "../database.ts";
import { ORDER_COLUMNS, type OrderRow } from "../sending/chain_orders.ts";

/** Lists new orders that may join a batch with an order, oldest first, without itself. */
export async function selectSiblings(db: Db, order: OrderRow, limit: number): Promise<OrderRow[]> {
  return await db<OrderRow[]>`
    select ${db(ORDER_COLUMNS)} from chain_orders
    where chain = ${order.chain} and network = ${order.network} and sender = ${order.sender}
      and ramp = ${order.ramp} and contract = ${order.contract} and speed = ${order.speed}
      and purpose = 'withdrawal' and state = 'new' and id <> ${order.id}
    order by id limit ${limit}`;
}

/** Locks those of some orders that are still new, oldest first. */
export async function lockNewOrders(tx: Tx, ids: readonly string[]): Promise<OrderRow[]> {
  return await tx<OrderRow[]>`
    select ${
    tx(ORDER_COLUMNS)
  } from chain_orders where id = any (${ids as string[]}::uuid[]) and state = 'new'
    order by id for update`;
}

/** Locks the orders of a batch, oldest first. */
export async function lockBatched(tx: Tx, batch_order_id: string): Promise<OrderRow[]> {
  return await tx<OrderRow[]>`
    select ${
    tx(ORDER_COLUMNS)
  } from chain_orders where batch_order_id = ${batch_order_id} order by id for update`;
}

/** Reads the orders of a batch, oldest first. */
export async function selectBatched(db: Db, batch_order_id: string): Promise<OrderRow[]> {
  return await db<OrderRow[]>`
    select ${
    db(ORDER_COLUMNS)
  } from chain_orders where batch_order_id = ${batch_order_id} order by id`;
}
