/** Statements on orders that wait for their next run. @module */
import type { Db } from "../database.ts";

/** The waiting orders whose runs value lets be tried, and how many at once. */
export interface WokenOrders {
  senders: readonly string[];
  /** Of each sender the oldest, so many. */
  most: number;
  /** Rest of each since its run was scheduled. */
  seconds: number;
}

/**
 * Makes the next run due of the oldest new orders of some senders: of each so many, and none before so many seconds have
 * passed since it was scheduled. Runs that are due are left as they are, and so are those that have failed: each has a few
 * attempts, whose pauses grow.
 */
export async function markWaitingDue(
  db: Db,
  { chain, network }: { chain: string; network: string },
  of: WokenOrders,
): Promise<void> {
  const due = db`greatest(now(), created_at + make_interval(secs => ${of.seconds}))`;
  // As a plain condition the state would have PostgreSQL 15 read a partial index of all that is ready.
  await db`
    update jobs set run_at = ${due} where case state when 'ready' then run_at > ${due} end and id = any (array(
      select j.id from unnest(${of.senders as string[]}::text[]) s(sender)
      cross join lateral (
        select o.id, o.schedule_version from chain_orders o
        where o.chain = ${chain} and o.network = ${network} and o.sender = s.sender and o.state = 'new'
        order by o.id limit ${of.most}) w
      cross join lateral (
        select d.id, d.state, d.attempts from jobs d where d.name = 'order.advance'
          and d.dedupe = w.id || ' ' || w.schedule_version and d.state in ('ready', 'running') offset 0) j
      where j.state = 'ready' and j.attempts = 0))`;
}

/**
 * Notes at the runs under way of the oldest new orders of some senders that value has come since they began: when they were
 * due changes. Waits for the step that a run is in, which may schedule the next one.
 */
export async function markRunningWoken(
  db: Db,
  { chain, network }: { chain: string; network: string },
  of: Omit<WokenOrders, "seconds">,
): Promise<void> {
  await db`
    update jobs set run_at = clock_timestamp() where case state when 'running' then true end and id = any (array(
      select j.id from unnest(${of.senders as string[]}::text[]) s(sender)
      cross join lateral (
        select o.id, o.schedule_version from chain_orders o
        where o.chain = ${chain} and o.network = ${network} and o.sender = s.sender and o.state = 'new'
        order by o.id limit ${of.most}) w
      cross join lateral (
        select d.id, d.state from jobs d where d.name = 'order.advance'
          and d.dedupe = w.id || ' ' || w.schedule_version and d.state in ('ready', 'running') offset 0) j
      where j.state = 'running'))`;
}

/**
 * Lists the senders of the oldest new orders whose fees addresses of ramps pay: of each ramp so many orders. What comes to
 * such an address lets them be tried.
 */
export async function selectSendersPaidBy(
  db: Db,
  { chain, network }: { chain: string; network: string },
  { payers, most }: { payers: readonly string[]; most: number },
): Promise<string[]> {
  const rows = await db<{ sender: string }[]>`
    select distinct w.sender from unnest(${payers as string[]}::text[]) p(payer)
    cross join lateral (
      select ramp from addresses where chain = ${chain} and network = ${network} and address = p.payer offset 0) a
    cross join lateral (
      select o.sender from chain_orders o
      where o.ramp = a.ramp and o.state = 'new' and o.request ->> 'feePayer' = p.payer
      order by o.id limit ${most}) w`;
  return rows.map(({ sender }) => sender);
}

/** When a run of an order was due, as text; null where it has no job. It changes where value comes while it is under way. */
export async function selectDueTime(
  db: Db,
  { order, version }: { order: string; version: number },
): Promise<string | null> {
  const [row] = await db<{ due: string }[]>`
    select run_at::text as due from jobs where name = 'order.advance' and dedupe = ${`${order} ${version}`}
      and state in ('ready', 'running')`;
  return row?.due ?? null;
}
