/**
 * Statements that change chain orders. Only `domain/sending/order_states.ts` imports them: it holds
 * the permitted transitions.
 * @module
 */
import type { Tx } from "../database.ts";
import { ORDER_COLUMNS, type OrderRow } from "./chain_orders.ts";

/** Columns of a chain order that may change. */
export type OrderChange = Partial<
  Pick<
    OrderRow,
    | "state"
    | "amount"
    | "speed"
    | "batch_order_id"
    | "replace"
    | "nonce"
    | "since"
    | "hash"
    | "height"
    | "confirmations"
    | "succeeded"
    | "fee"
    | "fee_contract"
    | "refund"
    | "charged"
    | "budget"
    | "gas_block"
    | "sped_up_at"
    | "fault"
    | "creates"
    | "error"
  > & { block_hash: string | null }
>;

/** Changes a chain order. */
export async function updateOrder(tx: Tx, id: string, change: OrderChange): Promise<OrderRow> {
  const [row] = await tx<OrderRow[]>`
    update chain_orders set ${tx(change)}, updated_at = now() where id = ${id}
    returning ${tx(ORDER_COLUMNS)}`;
  return row;
}

/** Changes those of some chain orders that are in a state. Gives their ids, oldest first. */
export async function updateOrders(
  tx: Tx,
  of: { ids: readonly string[]; state: OrderRow["state"] },
  change: OrderChange,
): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    update chain_orders set ${tx(change)}, updated_at = now()
    where id = any (${of.ids as string[]}::uuid[]) and state = ${of.state} returning id`;
  return rows.map((row) => row.id).toSorted();
}

/** Changes the orders of a batch that are in a state. Gives their ids, oldest first. */
export async function updateBatch(
  tx: Tx,
  of: { batch: string; state: OrderRow["state"] },
  change: OrderChange,
): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    update chain_orders set ${tx(change)}, updated_at = now()
    where batch_order_id = ${of.batch} and state = ${of.state} returning id`;
  return rows.map((row) => row.id).toSorted();
}

/** Changes some chain orders alike. Gives them, oldest first. */
export async function updateTogether(
  tx: Tx,
  ids: readonly string[],
  change: OrderChange,
): Promise<OrderRow[]> {
  const rows = await tx<OrderRow[]>`
    update chain_orders set ${tx(change)}, updated_at = now()
    where id = any (${ids as string[]}::uuid[]) returning ${tx(ORDER_COLUMNS)}`;
  return rows.toSorted((one, other) => one.id < other.id ? -1 : 1);
}

/** Changes some chain orders alike, but for the fee of each. Gives them, oldest first. */
export async function updateShares(
  tx: Tx,
  shares: readonly { id: string; fee: string | null }[],
  change: OrderChange,
): Promise<OrderRow[]> {
  const rows = await tx<OrderRow[]>`
    update chain_orders set ${tx(change)}, fee = q.share, updated_at = now()
    from unnest(${shares.map(({ id }) => id)}::uuid[],
      ${shares.map(({ fee }) => fee)}::text[]::numeric[]) q(member, share)
    where id = q.member returning ${tx(ORDER_COLUMNS)}`;
  return rows.toSorted((one, other) => one.id < other.id ? -1 : 1);
}

/** Notes the transaction that booked an order's refund. */
export async function updateRefundBooked(tx: Tx, id: string, transaction: string): Promise<void> {
  await tx`update chain_orders set refund_transaction = ${transaction} where id = ${id}`;
}

/** A chain order whose transaction was found on its chain. */
export interface FoundOrder {
  id: string;
  chain: string;
  network: string;
  ramp: string;
  purpose: "sweep" | "deploy" | "recovered";
  reference_id: string | null;
  sender: string;
  request: Record<string, unknown>;
  contract: string;
  amount: string;
  nonce: number | null;
  hash: string;
  height: number;
  /** Of a deployment: the contract, and what users were charged for it. */
  creates?: string;
  charged?: string;
  budget?: string | null;
  budget_contract?: string | null;
  created_at: number;
}

/** Adds a chain order whose transaction is mined already. */
export async function insertMinedOrder(tx: Tx, order: FoundOrder): Promise<void> {
  const { request, ...rest } = order;
  const mined = { state: "mined", since: order.height, confirmations: 1 };
  await tx`insert into chain_orders ${
    tx({ ...rest, ...mined, request: tx.json(request as never) } as never)
  }`;
}
