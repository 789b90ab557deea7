/** Statements on chain orders: transactions to be sent on a chain. @module */
import type { Db, Tx } from "../database.ts";
import { insertOf, type NewJobRow } from "../jobs.ts";

/** States of a chain order. `domain/sending/order_states.ts` lists the permitted transitions. */
export const ORDER_STATES = [
  "new",
  "batched",
  "planned",
  "signed",
  "sent",
  "mined",
  "done",
  "failed",
  "dropped",
  "canceled",
] as const;
/** State of a chain order. */
export type OrderState = typeof ORDER_STATES[number];

/** An order as stored. Amounts are base units as text. */
export interface OrderRow {
  id: string;
  chain: string;
  network: string;
  ramp: string;
  purpose:
    | "withdrawal"
    | "batch"
    | "sweep"
    | "cpfp"
    | "gas"
    | "deploy"
    | "fill"
    | "consolidation"
    | "recovered";
  /** The entity that it is for. */
  reference_id: string | null;
  sender: string;
  request: Record<string, unknown>;
  /** '' is the chain's own coin. */
  contract: string;
  /** The amount that leaves; null until planned where everything leaves. */
  amount: string | null;
  speed: "slow" | "medium" | "fast";
  state: OrderState;
  /** The batch order whose transaction pays it. */
  batch_order_id: string | null;
  schedule_version: number;
  replace: boolean;
  nonce: number | null;
  since: number | null;
  hash: string | null;
  height: number | null;
  confirmations: number;
  /** Whether the transaction had its effect; null while no block has it. */
  succeeded: boolean | null;
  /** The most it may cost until it is mined, then its cost. */
  fee: string | null;
  /** The asset of the fee; null is the chain's own coin. */
  fee_contract: string | null;
  /** What its block gave back beside the fee, in the chain's own coin: rent of closed accounts. */
  refund: string;
  /** The amount that users were charged for it, in base units of `budget_contract`. */
  charged: string;
  /** The most it may cost, in base units of `budget_contract`; null: only the market limits it. */
  budget: string | null;
  budget_contract: string | null;
  /** The block of its budget on the account of its ramp, where that account pays. */
  gas_block: string | null;
  /** The newest chain block when a user last asked for a speed-up. */
  sped_up_at: number | null;
  /** The fault code that callers see, where there is one. */
  fault: "fee_exceeded" | null;
  /** Address of a deployed contract. */
  creates: string | null;
  error: string | null;
  created_at: number;
}

/** Fields of a new order. */
export type NewOrderRow = Pick<
  OrderRow,
  | "id"
  | "chain"
  | "network"
  | "ramp"
  | "purpose"
  | "reference_id"
  | "sender"
  | "request"
  | "contract"
  | "amount"
  | "speed"
  | "schedule_version"
  | "nonce"
  | "charged"
  | "budget"
  | "budget_contract"
  | "gas_block"
  | "created_at"
>;

/** A sender on a chain. */
export interface SenderName {
  chain: string;
  network: string;
  sender: string;
}

/** The columns of an order. */
export const ORDER_COLUMNS = [
  "id",
  "chain",
  "network",
  "ramp",
  "purpose",
  "reference_id",
  "sender",
  "request",
  "contract",
  "amount",
  "speed",
  "state",
  "batch_order_id",
  "schedule_version",
  "replace",
  "nonce",
  "since",
  "hash",
  "height",
  "confirmations",
  "succeeded",
  "fee",
  "fee_contract",
  "refund",
  "charged",
  "budget",
  "budget_contract",
  "gas_block",
  "sped_up_at",
  "fault",
  "creates",
  "error",
  "created_at",
] as const;
/** Adds an order together with the job of its first run. */
export async function insertOrder(tx: Tx, order: NewOrderRow, job: NewJobRow): Promise<void> {
  await tx`
    with job as (${insertOf(tx, job)})
    insert into chain_orders ${tx({ ...order, request: tx.json(order.request as never) })}`;
}

/** Reads an order. */
export async function selectOrder(db: Db, id: string): Promise<OrderRow | null> {
  const [row] = await db<OrderRow[]>`select ${
    db(ORDER_COLUMNS)
  } from chain_orders where id = ${id}`;
  return row ?? null;
}

/** Reads and locks an order. */
export async function lockOrder(tx: Tx, id: string): Promise<OrderRow | null> {
  const [row] = await tx<OrderRow[]>`
    select ${tx(ORDER_COLUMNS)} from chain_orders where id = ${id} for update`;
  return row ?? null;
}

/** Reads orders by their ids, oldest first. */
export async function selectOrders(db: Db, ids: readonly string[]): Promise<OrderRow[]> {
  return await db<OrderRow[]>`
    select ${db(ORDER_COLUMNS)} from chain_orders where id = any (${ids as string[]}::uuid[])
    order by id`;
}

/** Reads orders, oldest first, and locks them until the transaction ends. */
export async function lockOrders(tx: Tx, ids: readonly string[]): Promise<OrderRow[]> {
  return await tx<OrderRow[]>`
    select ${tx(ORDER_COLUMNS)} from chain_orders
    where id = any (${ids as string[]}::uuid[]) order by id for update`;
}

/** Finds the CPFP order of a parent, unless it was canceled. */
export async function selectCpfp(db: Db, parent: string): Promise<string | null> {
  const [row] = await db<{ id: string }[]>`
    select id from chain_orders where reference_id = ${parent} and purpose = 'cpfp' and state <> 'canceled'`;
  return row?.id ?? null;
}

/** Raises the schedule version of an order, so runs that were scheduled before do nothing; null if it has ended. */
export async function nextScheduleVersion(tx: Tx, id: string): Promise<number | null> {
  const [row] = await tx<{ schedule_version: number }[]>`
    update chain_orders set schedule_version = schedule_version + 1, last_attempt_at = now()
    where id = ${id} and state in ('new', 'planned', 'signed', 'sent', 'mined')
    returning schedule_version`;
  return row?.schedule_version ?? null;
}

/** Raises the schedule versions of orders at once; those that have ended are left out. */
export async function nextScheduleVersions(
  tx: Tx,
  ids: readonly string[],
): Promise<{ id: string; schedule_version: number }[]> {
  return await tx<{ id: string; schedule_version: number }[]>`
    update chain_orders set schedule_version = schedule_version + 1, last_attempt_at = now()
    where ctid = any (array(
      select o.ctid from unnest(${ids.toSorted()}::uuid[]) u(id),
        lateral (select c.ctid from chain_orders c where c.id = u.id
          and c.state in ('new', 'planned', 'signed', 'sent', 'mined') offset 0 for update) o))
    returning id, schedule_version`;
}

/**
 * Reads the open orders that had no run for so many seconds, at most 500. In the order of the index of open orders: by id
 * alone, a table of a million rows without statistics was read through.
 */
export async function selectForgottenOrders(tx: Tx, seconds: number): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    select id from chain_orders
    where state in ('new', 'planned', 'signed', 'sent', 'mined')
      and coalesce(last_attempt_at, created_at) < now() - make_interval(secs => ${seconds})
    order by ramp, id limit 500`;
  return rows.map((row) => row.id);
}

/**
 * Adds up the amounts that open orders will take of a sender, and that blocks above a height took, in
 * base units.
 */
export async function sumInFlight(
  db: Db,
  of: SenderName & { contract: string },
  since: { height: number | null; waiting: boolean },
): Promise<string> {
  const [row] = await db<{ units: string }[]>`
    select (coalesce(sum(amount) filter (where contract = ${of.contract}), 0)
      + coalesce(sum(fee) filter (where coalesce(fee_contract, '') = ${of.contract}), 0)
      )::text as units
    from (
      select amount, contract, fee, fee_contract from chain_orders
      where chain = ${of.chain} and network = ${of.network} and sender = ${of.sender}
        and (state in ('planned', 'signed', 'sent') or (state = 'new' and ${since.waiting})
          or (state = 'mined' and height > ${since.height}::integer))
      union all
      select case when state = 'done' then amount end, contract, fee, fee_contract from chain_orders
      where chain = ${of.chain} and network = ${of.network} and sender = ${of.sender}
        and height > ${since.height}::integer and state in ('done', 'failed')) o`;
  return row.units;
}
