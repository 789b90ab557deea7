/** Statements on the attempts of chain orders, and on the inputs that they use up. @module */
import type { Db, Tx } from "../database.ts";
import type { OrderRow } from "./chain_orders.ts";

/** One attempt of an order; without bytes while it is only planned. */
export interface AttemptRow {
  order_id: string;
  attempt: number;
  plan: string;
  inputs: string[];
  hash: string | null;
  raw: string | null;
  expires: Record<string, unknown> | null;
  fee: string | null;
  sent_at: number | null;
  outcome: string | null;
  /** Whether it moves nothing: once it is mined, no other attempt of the order can be. */
  cancels: boolean;
  /** The bearer of its cost where it moves nothing. */
  borne_by: "sender" | "house";
  /** Whether it was found on the chain and its bytes tell no plan, so that nothing can replace it. */
  unreadable: boolean;
  dropped: boolean;
  /** The block in which a scan saw it, on chains where transactions expire. */
  seen_height: number | null;
  created_at: number;
}

/** The plan of bytes that were found on the chain, and that this database has not made. */
const FOUND = "{}";

/** Whether an attempt was found on the chain: nothing here has its plan, so it is sent again as it is. */
export function isFound({ plan }: Pick<AttemptRow, "plan">): boolean {
  return plan === FOUND;
}

/** The proof that no attempt of an order can be mined any more. */
export interface DropProof {
  proof: "consumed" | "expired" | "orphaned" | "unsigned";
  /** The transaction that took an input, where the chain shows it. */
  by: string | null;
  /** The height of its block. */
  height: number | null;
  /** Of an expiry, the final height or time that the chain has passed, in the unit of `expires`. */
  reached?: number | null;
}

const MADE =
  "order_id attempt plan inputs hash expires fee sent_at outcome cancels borne_by unreadable dropped seen_height created_at"
    .split(" ");
const SIGNED = [...MADE.filter((name) => !["outcome", "dropped"].includes(name)), "raw"];

/**
 * Reads all attempts of an order with their bytes, oldest first; for workers. What another order gave up, and
 * this one books because it was mined, is its own, and not dropped.
 */
export async function selectAttempts(db: Db, order: string): Promise<AttemptRow[]> {
  return await db<AttemptRow[]>`
    select ${db(SIGNED)}, dropped and late_order_id is distinct from ${order}::uuid as dropped,
      case when late_order_id = ${order} then coalesce(outcome, 'known') else outcome end as outcome
    from order_attempts where order_id = ${order} or late_order_id = ${order} order by attempt`;
}

/**
 * Reads all attempts of an order, oldest first, without their bytes: the serving role may not
 * read them, because anybody who sends them makes the payment.
 */
export async function selectAttemptSummaries(
  db: Db,
  order: string,
): Promise<Omit<AttemptRow, "raw">[]> {
  return await db<Omit<AttemptRow, "raw">[]>`
    select ${db(MADE)} from order_attempts where order_id = ${order} order by attempt`;
}

/** Reads all attempts of some orders as {@link selectAttemptSummaries} reads those of one. */
export async function selectAllSummaries(
  db: Db,
  orders: readonly string[],
): Promise<Omit<AttemptRow, "raw">[]> {
  return await db<Omit<AttemptRow, "raw">[]>`
    select ${db(MADE)} from order_attempts where order_id = any (${orders as string[]}::uuid[])
    order by order_id, attempt`;
}

/** Adds a plan. */
export async function insertAttempt(
  tx: Tx,
  planned: Pick<AttemptRow, "order_id" | "attempt" | "plan" | "inputs"> & {
    cancels?: boolean;
    borne_by?: AttemptRow["borne_by"];
    created_at: number;
  },
): Promise<void> {
  const { order_id, attempt, plan, inputs, created_at } = planned;
  const { cancels = false, borne_by = "sender" } = planned;
  await tx`
    insert into order_attempts (order_id, attempt, plan, inputs, cancels, borne_by, created_at)
    values (${order_id}, ${attempt}, ${plan}, ${inputs}, ${cancels}, ${borne_by}, ${created_at})`;
}

/** Stores the bytes of a plan that still stands; tells whether they are the first. */
export async function markAttemptSigned(
  tx: Tx,
  name: { order: string; attempt: number },
  signed: { hash: string; raw: string; expires: unknown; fee: string | null },
): Promise<boolean> {
  const rows = await tx`
    update order_attempts set hash = ${signed.hash}, raw = ${signed.raw}, fee = ${signed.fee},
      expires = ${signed.expires === null ? null : tx.json(signed.expires as never)}
    where order_id = ${name.order} and attempt = ${name.attempt} and raw is null and not dropped
    returning attempt`;
  return rows.length > 0;
}

/** Records that bytes are about to be sent. */
export async function markAttemptSent(
  tx: Tx,
  name: { order: string; attempt: number },
  at: number,
): Promise<void> {
  await tx`
    update order_attempts set sent_at = coalesce(sent_at, ${at})
    where order_id = ${name.order} and attempt = ${name.attempt}`;
}

/** Records the nodes' answers to a broadcast. */
export async function markAttemptOutcome(
  tx: Tx,
  name: { order: string; attempt: number },
  outcome: string,
): Promise<void> {
  await tx`
    update order_attempts set outcome = ${outcome}
    where order_id = ${name.order} and attempt = ${name.attempt}`;
}

/** Records that nothing can replace an attempt that was found, because its bytes tell no plan. */
export async function markAttemptUnreadable(
  tx: Tx,
  name: { order: string; attempt: number },
): Promise<void> {
  await tx`
    update order_attempts set unreadable = true
    where order_id = ${name.order} and attempt = ${name.attempt}`;
}

/** Records that no attempt of an order so far can be mined, with the proof. */
export async function markAttemptsDropped(
  tx: Tx,
  order: string,
  { proof, by, height, reached = null }: DropProof,
): Promise<void> {
  await tx`
    update order_attempts set dropped = true, proof = ${proof}, proof_by = ${by},
      proof_height = ${height}, proof_reached = ${reached}
    where order_id = ${order} and not dropped`;
}

/** Reserves the inputs of a plan; false where an open order has reserved some of them. */
export async function insertReservedInputs(
  tx: Tx,
  order: Pick<OrderRow, "id" | "chain" | "network">,
  inputs: readonly string[],
  at: number,
): Promise<boolean> {
  await tx`
    insert into reserved_inputs (chain, network, input, order_id, created_at)
    select ${order.chain}, ${order.network}, input, ${order.id}, ${at}
    from unnest(${inputs as string[]}::text[]) input
    on conflict (chain, network, input) do nothing`;
  const held = await selectReservedInputs(tx, order.id);
  return inputs.every((input) => held.includes(input));
}

/** Gives the inputs that are reserved by an order. */
export async function selectReservedInputs(db: Db, order: string): Promise<string[]> {
  const rows = await db<{ input: string }[]>`
    select input from reserved_inputs where order_id = ${order} order by input`;
  return rows.map((row) => row.input);
}

/** Releases all inputs that an order has reserved. */
export async function deleteReservedInputs(tx: Tx, order: string): Promise<void> {
  await tx`delete from reserved_inputs where order_id = ${order}`;
}
