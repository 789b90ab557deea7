/** Statements on sweeps that were sent, and for which nothing is left. @module */
import type { Db } from "../database.ts";
import type { OrderRow } from "../sending/chain_orders.ts";

/** A sweep that was sent while its account holds nothing, and awaits nothing. */
export interface EmptiedRow {
  sweep: string;
  account: string;
  /** How often gas was sent since, so that it can be canceled. */
  top_ups: number;
  /** Whether such gas is on its way. */
  topping: boolean;
}

/**
 * Reads the sweep of a sent order whose account is empty: only another sweep has taken what it was to move. Null where
 * its account holds something, or a deposit is on its way there, which pays for it.
 */
export async function selectEmptied(
  db: Db,
  { id, reference_id }: Pick<OrderRow, "id" | "reference_id">,
): Promise<EmptiedRow | null> {
  const [row] = await db<EmptiedRow[]>`
    select s.id as sweep, s.account, count(g.id)::integer as top_ups,
      count(g.id) filter (where g.state not in ('done', 'failed', 'dropped', 'canceled')) > 0 as topping
    from sweeps s join accounts a on a.id = s.account
      left join chain_orders g on g.reference_id = s.id and g.purpose = 'gas' and g.id > s.order_id
    where s.id = ${reference_id} and s.order_id = ${id} and s.state = 'sweeping' and a.total = 0
      and not exists (select from deposits d where d.account = s.account and d.status = 'PENDING')
    group by s.id`;
  return row ?? null;
}

/** Whether another sweep of the account, which was found beside this one, has taken what this one was to move. */
export async function isTakenBeside(
  db: Db,
  { id, account }: { id: string; account: string },
): Promise<boolean> {
  const [row] = await db<{ taken: boolean }[]>`
    select exists (select from sweeps where account = ${account} and state = 'done' and beside
      and id > ${id}) as taken`;
  return row.taken;
}

/** Adds up the gas that has arrived for the cancellation of a sweep, in base units. */
export async function sumGasArrived(
  db: Db,
  { id, reference_id }: Pick<OrderRow, "id" | "reference_id">,
): Promise<bigint> {
  const [row] = await db<{ units: string }[]>`
    select coalesce(sum(amount), 0)::text as units from chain_orders
    where reference_id = ${reference_id} and purpose = 'gas' and id > ${id} and state = 'done'`;
  return BigInt(row.units);
}
