/** Statements on orders that wait for their next run. @module */
import type { Db } from "../database.ts";

/**
 * Makes the next run due of the oldest new orders of some senders: of each so many, and none before so many seconds have
 * passed since it was scheduled. Runs that are under way or due are left as they are, and so are those that have failed:
 * each has a few attempts, whose pauses grow.
 */
export async function markWaitingDue(
  db: Db,
  { chain, network }: { chain: string; network: string },
  of: { senders: readonly string[]; most: number; seconds: number },
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
