/** Statement on transactions in blocks that took the place of a plan. @module */
import { isCoin } from "../chains/coin_places.ts";
import type { Db } from "../database.ts";
import type { OrderRow } from "./chain_orders.ts";

/**
 * Reads a transaction in a scanned block that has spent a coin, or used the nonce, of a planned order; null: none has. One
 * of which the chain has lost the block since has used none: its order is done all the same.
 */
export async function selectOvertaker(
  db: Db,
  { id, chain, network, sender, nonce }: Pick<
    OrderRow,
    "id" | "chain" | "network" | "sender" | "nonce"
  >,
): Promise<string | null> {
  const [row] = await db<{ hash: string }[]>`
    select q.hash from (
      select c.spent_by as hash
      from (select chain, network, input as k from reserved_inputs where order_id = ${id} offset 0) r,
        lateral (select chain, network, spent_by from coins where ${isCoin(db)} offset 0) c
      where c.chain = r.chain and c.network = r.network
        and c.spent_by is not null and c.spent_by <> 'unknown'
      union all
      select o.hash from chain_orders o
      where o.chain = ${chain} and o.network = ${network} and o.sender = ${sender} and o.nonce = ${nonce}
        and o.id <> ${id} and o.height is not null and o.hash is not null
        and exists (select from reserved_inputs k where k.order_id = ${id} and k.consumed_by = o.hash)) q
    limit 1`;
  return row?.hash ?? null;
}
