/** Statements on orders that wait for their next run. @module */
import type { Db } from "../database.ts";

/**
 * Makes the next run due of the oldest new orders of some senders: of each so many, and none that was tried within so
 * many seconds. Runs that are under way or due are left as they are.
 */
export async function markWaitingDue(
  db: Db,
  { chain, network }: { chain: string; network: string },
  of: { senders: readonly string[]; most: number; seconds: number },
): Promise<void> {
  await db`
    update jobs set run_at = now() where state = 'ready' and id = any (array(
      select j.id from unnest(${of.senders as string[]}::text[]) s(sender)
      cross join lateral (
        select o.id, o.schedule_version, coalesce(o.last_attempt_at, o.created_at) as tried from chain_orders o
        where o.chain = ${chain} and o.network = ${network} and o.sender = s.sender and o.state = 'new'
        order by o.id limit ${of.most}) w
      cross join lateral (
        select d.id, d.run_at, d.state from jobs d where d.name = 'order.advance'
          and d.dedupe = w.id || ' ' || w.schedule_version and d.state in ('ready', 'running') offset 0) j
      where j.state = 'ready' and j.run_at > now() and w.tried < now() - make_interval(secs => ${of.seconds})))`;
}
