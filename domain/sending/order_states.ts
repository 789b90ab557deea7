/**
 * State machine of a chain order: the permitted transitions, and one function for each
 * transition. Nothing else changes an order. The database refuses every other change, and compares
 * the order's attempts with what the transition requires (`order_transitions`). Each function takes
 * the order as its row lock read it.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import type { OrderRow, OrderState } from "../../db/sending/chain_orders.ts";
import { type DropProof, markAttemptsDropped } from "../../db/sending/order_attempts.ts";
import {
  type FoundOrder,
  insertMinedOrder,
  type OrderChange,
  updateBatch,
  updateOrder,
  updateOrders,
  updateRefundBooked,
  updateShares,
  updateTogether,
} from "../../db/sending/order_states.ts";

export { type FoundOrder } from "../../db/sending/order_states.ts";

/** Conditions that the rows must show for a transition; attempts that are dropped do not count. */
export type Requirement =
  | "plan"
  | "batch"
  | "unsigned"
  | "unsent"
  | "bytes"
  | "leaving"
  | "block"
  | "no block"
  | "paid"
  | "in vain"
  | "dropped"
  | "found";

/** Every transition, with the condition that the database checks for it. An end has none. */
export const ORDER_TRANSITIONS: Readonly<
  Record<OrderState, Readonly<Partial<Record<OrderState, Requirement>>>>
> = {
  new: { planned: "plan", batched: "batch", failed: "unsigned", canceled: "unsent" },
  batched: { new: "batch", done: "batch", failed: "batch", dropped: "batch" },
  planned: {
    signed: "bytes",
    new: "dropped",
    batched: "found",
    failed: "unsigned",
    canceled: "unsent",
  },
  signed: { sent: "leaving", canceled: "unsent", batched: "found" },
  sent: { mined: "block", done: "paid", failed: "in vain", dropped: "dropped", new: "dropped" },
  mined: { sent: "no block", done: "paid", failed: "in vain", dropped: "dropped", new: "dropped" },
  done: {},
  failed: {},
  dropped: {},
  canceled: {},
};

/** Longest text that is stored as an order's error. */
const ERROR_MAX = 500;

/** An order as its row lock read it. */
export type Locked = Pick<OrderRow, "id" | "state">;

/** The columns that a plan sets; amounts in base units. */
export type PlannedColumns = Pick<
  OrderRow,
  "nonce" | "since" | "amount" | "fee" | "fee_contract" | "creates"
>;

/** The block that has an order's transaction, and its cost there in base units. */
export type Inclusion =
  & Pick<OrderRow, "height" | "confirmations" | "succeeded" | "fee_contract" | "refund">
  & { hash: string; block_hash: string | null; fee: string };

/** The fields of a batch that its members take over. */
export type BatchStatus = Pick<OrderRow, "hash" | "height" | "confirmations">;

const NO_BLOCK = {
  height: null,
  block_hash: null,
  confirmations: 0,
  succeeded: null,
  refund: "0",
} as const;

/** Whether an order has not ended: some transition leads out of its state. */
export function isOpen(order: Pick<OrderRow, "state">): boolean {
  return OPEN.has(order.state);
}

const OPEN: ReadonlySet<OrderState> = new Set(["new", "planned", "signed", "sent", "mined"]);

/** new → planned: a plan is stored, and its inputs are reserved. */
export async function markPlanned(tx: Tx, order: Locked, plan: PlannedColumns): Promise<OrderRow> {
  return await enter(tx, order, "planned", { ...plan, replace: false, error: null });
}

/** planned → signed: bytes are stored. */
export async function markSigned(tx: Tx, order: Locked, hash: string): Promise<OrderRow> {
  return await enter(tx, order, "signed", { hash });
}

/** signed → sent: bytes may be sent from now on. A replacement of a sent attempt is sent likewise. */
export async function markSent(tx: Tx, order: Locked, hash: string): Promise<OrderRow> {
  return order.state === "sent"
    ? await updateOrder(tx, order.id, { hash })
    : await enter(tx, order, "sent", { hash });
}

/** sent → mined: a block has the transaction. After that, another depth or block is recorded. */
export async function markMined(
  tx: Tx,
  order: Locked,
  block: Inclusion,
  error: string | null,
): Promise<OrderRow> {
  const change = { ...block, error };
  return order.state === "mined"
    ? await updateOrder(tx, order.id, change)
    : await enter(tx, order, "mined", change);
}

/** mined → sent: the chain lost the block. */
export async function markUnmined(tx: Tx, order: Locked): Promise<OrderRow> {
  return await enter(tx, order, "sent", NO_BLOCK);
}

/** sent, mined → done: the transaction is final, and had its effect. */
export async function finishOrder(tx: Tx, order: Locked, block: Inclusion): Promise<OrderRow> {
  return await enter(tx, order, "done", { ...block, replace: false, error: null });
}

/** sent, mined → failed: a final block has a transaction that moved nothing. */
export async function failOrder(
  tx: Tx,
  order: Locked,
  block: Inclusion,
  error: string,
): Promise<OrderRow> {
  return await enter(tx, order, "failed", { ...block, replace: false, error });
}

/** new, planned → failed: it cannot work, and nothing was signed. */
export async function refuseOrder(
  tx: Tx,
  order: Locked,
  error: string,
  fault: OrderRow["fault"],
): Promise<OrderRow> {
  return await enter(tx, order, "failed", { error: error.slice(0, ERROR_MAX), fault });
}

/** sent, mined → dropped: none of its transactions can ever be mined. */
export async function dropOrder(
  tx: Tx,
  order: Locked,
  error: string,
  proof: DropProof,
): Promise<OrderRow> {
  await markAttemptsDropped(tx, order.id, proof);
  const change = { error, height: null, block_hash: null, confirmations: 0, replace: false };
  return await enter(tx, order, "dropped", change);
}

/** planned, sent, mined → new: all of its transactions are proven never to be mined. */
export async function restartOrder(tx: Tx, order: Locked, proof: DropProof): Promise<OrderRow> {
  await markAttemptsDropped(tx, order.id, proof);
  return await enter(tx, order, "new", { ...NO_BLOCK, hash: null, replace: false });
}

/** new, planned, signed → canceled: none of its bytes was sent. */
export async function markCanceled(tx: Tx, order: Locked): Promise<OrderRow> {
  return await enter(tx, order, "canceled", {});
}

/** new → batched: some orders are paid by a batch. */
export async function joinBatch(tx: Tx, ids: readonly string[], batch: string): Promise<void> {
  assertAllowed("new", "batched", batch);
  const change = { state: "batched" as const, batch_order_id: batch, error: null };
  await updateOrders(tx, { ids, state: "new" }, change);
}

/** batched → new: the batch was canceled. Gives the orders that it was to pay. */
export async function leaveBatch(tx: Tx, batch: string): Promise<string[]> {
  assertAllowed("batched", "new", batch);
  const change = { state: "new" as const, batch_order_id: null, hash: null, height: null };
  return await updateBatch(tx, { batch, state: "batched" }, {
    ...change,
    confirmations: 0,
  });
}

/** new, planned, signed → batched: a transaction that was found on the chain has paid them. */
export async function joinFound(
  tx: Tx,
  orders: readonly Locked[],
  found: string,
): Promise<void> {
  if (orders.length === 0) return;
  for (const { id, state } of orders) assertAllowed(state, "batched", id);
  const change = { state: "batched" as const, batch_order_id: found, replace: false, error: null };
  await updateTogether(tx, orders.map(({ id }) => id), change);
}

/** Records the block of a batch at its members. Gives them, oldest first. */
export async function noteBatchStatus(
  tx: Tx,
  members: readonly Locked[],
  status: BatchStatus,
): Promise<OrderRow[]> {
  if (members.length === 0) return [];
  return await updateTogether(tx, members.map(({ id }) => id), status);
}

/**
 * batched → done, failed, dropped: orders end as their batch does, each with its share of the fee. Gives them, oldest
 * first.
 */
export async function endWithBatch(
  tx: Tx,
  members: readonly (Locked & { share: string | null })[],
  batch: OrderRow,
): Promise<OrderRow[]> {
  if (members.length === 0) return [];
  const { state, hash, height, confirmations, fee_contract, error } = batch;
  for (const member of members) assertAllowed(member.state, state, member.id);
  const shares = members.map(({ id, share }) => ({ id, fee: share }));
  return await updateShares(tx, shares, {
    ...{ state, hash, height, confirmations, fee_contract, error },
  });
}

/** → mined: begins an order whose transaction only the chain knew; its ramp is in quarantine. */
export async function recordMined(tx: Tx, order: FoundOrder): Promise<void> {
  await insertMinedOrder(tx, order);
}

/** Notes the transaction that booked what an order's block gave back. */
export async function noteRefund(tx: Tx, order: Locked, transaction: string): Promise<void> {
  await updateRefundBooked(tx, order.id, transaction);
}

/** Records that a replacement was planned beside the sent attempt. */
export async function noteReplacement(
  tx: Tx,
  id: string,
  plan: PlannedColumns,
): Promise<OrderRow> {
  return await updateOrder(tx, id, { ...plan, replace: false, error: null });
}

/** Requests a replacement of the sent attempt; before there is one, only another speed. */
export async function requestReplacement(
  tx: Tx,
  order: Locked,
  speed: OrderRow["speed"],
): Promise<OrderRow> {
  return await updateOrder(tx, order.id, { speed, replace: order.state === "sent" });
}

/** Records that a replacement was found on the chain: the one that was asked for, if any was. */
export async function noteFoundReplacement(tx: Tx, id: string): Promise<OrderRow> {
  return await updateOrder(tx, id, { replace: false });
}

/** Records why the sent attempt is not replaced, or how it is canceled instead. */
export async function endReplacement(tx: Tx, id: string, error: string): Promise<OrderRow> {
  return await updateOrder(tx, id, { replace: false, error: error.slice(0, ERROR_MAX) });
}

/** Records why an order waits; null where nothing holds it. */
export async function noteError(tx: Tx, id: string, error: string | null): Promise<OrderRow> {
  return await updateOrder(tx, id, { error: error?.slice(0, ERROR_MAX) ?? null });
}

/** A higher budget of an order, and the additional charge to users; base units as text. */
export type Raise = Partial<Pick<OrderRow, "charged" | "budget" | "gas_block">>;

/** Raises the budget of an order. */
export async function raiseBudget(tx: Tx, id: string, raise: Raise): Promise<OrderRow> {
  return await updateOrder(tx, id, raise);
}

/** Records that a user asked for a speed-up, with the newest block then, and the raised figures. */
export async function markSpedUp(
  tx: Tx,
  id: string,
  { head, raise }: { head: number; raise: Raise },
): Promise<OrderRow> {
  return await updateOrder(tx, id, { ...raise, sped_up_at: head });
}

/** Makes a transition that the table permits. */
async function enter(
  tx: Tx,
  order: Locked,
  to: OrderState,
  change: OrderChange,
): Promise<OrderRow> {
  assertAllowed(order.state, to, order.id);
  return await updateOrder(tx, order.id, { ...change, state: to });
}

/** @throws {TypeError} for a transition that the table does not have */
function assertAllowed(from: OrderState, to: OrderState, id: string): void {
  if (ORDER_TRANSITIONS[from][to] !== undefined) return;
  throw new TypeError(`order ${id} cannot become ${to} from ${from}`);
}
