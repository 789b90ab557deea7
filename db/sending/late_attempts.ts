/**
 * Statements on the blocks in which scans saw attempts, and on those that were mined although they had been given up.
 * @module
 */
import type postgres from "postgres";
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";

/**
 * Whether the mined attempt `k` of an order that is done is to be sent again where the chain loses its block. One that was
 * mined late is where it was a sweep, or paid a withdrawal: a loss is not made anew. Nor is what was told to be lost: its
 * user may have been paid since.
 */
export function isWanted(db: Db): postgres.PendingQuery<postgres.Row[]> {
  return db`(k.late_order_id is null or exists (select from chain_orders b where b.id = k.late_order_id
      and (b.purpose = 'sweep' or exists (select from chain_orders m where m.batch_order_id = b.id)
        or exists (select from withdrawals w where w.found_order_id = b.id))))
    and not exists (select from displaced_orders d where d.hash = k.hash and d.told_at is not null)`;
}

/**
 * Records the blocks in which a scan saw attempts: of some only where they were given up. Its transaction locks no order.
 *
 * @param seen.expires whether transactions of the chain expire: what is seen is not given up then
 */
export async function markAttemptsSeen(
  tx: Tx,
  place: NetworkKey,
  seen: readonly { hash: string; height: number; expires: boolean }[],
): Promise<void> {
  await tx`
    update order_attempts k set seen_height = g.height, late = k.late or is_given_up(k)
    from jsonb_to_recordset(${tx.json(seen as never)}) g(hash text, height integer, expires boolean)
    where k.hash = g.hash and (g.expires or k.late or is_given_up(k))
      and (k.seen_height is distinct from g.height or not k.late and is_given_up(k))
      and (select (o.chain, o.network) = (${place.chain}, ${place.network})
        from chain_orders o where o.id = k.order_id)
      and k.ctid = any (array(
        select f.ctid from jsonb_array_elements_text(${
    tx.json(seen.map(({ hash }) => hash))
  }) h, lateral (select ctid from order_attempts where hash = h offset 0) f))`;
}

/**
 * Records the blocks in which fewer nodes than the quorum show attempts, also of orders that are open: one that is canceled
 * later is given up then.
 */
export async function markAttemptsTold(
  tx: Tx,
  place: NetworkKey,
  told: readonly { hash: string; height: number }[],
): Promise<void> {
  await tx`
    update order_attempts k set told_height = g.height
    from jsonb_to_recordset(${tx.json(told as never)}) g(hash text, height integer)
    where k.hash = g.hash and k.told_height is distinct from g.height and k.seen_height is null
      and (select (o.chain, o.network) = (${place.chain}, ${place.network})
        from chain_orders o where o.id = k.order_id)
      and k.ctid = any (array(
        select f.ctid from jsonb_array_elements_text(${
    tx.json(told.map(({ hash }) => hash))
  }) h, lateral (select ctid from order_attempts where hash = h offset 0) f))`;
}

/** Lists the attempts that were given up, and that too few nodes show in a block; oldest first. */
export async function selectTold(
  db: Db,
  place: NetworkKey,
  of: { ramps: readonly string[] | null; limit: number },
): Promise<SeenAttempt[]> {
  const ramps = `{${(of.ramps ?? []).join(",")}}`;
  return await db<SeenAttempt[]>`
    select k.hash, k.told_height as height, k.order_id as order
    from order_attempts k join chain_orders o on o.id = k.order_id
    where k.told_height is not null and k.seen_height is null and is_given_up(k)
      and o.chain = ${place.chain} and o.network = ${place.network}
      and (${of.ramps === null} or o.ramp = any (${ramps}::text::uuid[]))
    order by k.told_height, k.hash limit ${of.limit}`;
}

/** Forgets the block in which too few nodes showed an attempt, unless it was told of another one since. */
export async function forgetTold(
  tx: Tx,
  { hash, height }: { hash: string; height: number },
): Promise<void> {
  await tx`
    update order_attempts set told_height = null where hash = ${hash} and told_height = ${height}`;
}

/** Forgets the blocks above a height: the chain has lost them. What an order books that has not ended stays its. */
export async function forgetSeenAbove(
  tx: Tx,
  { chain, network }: NetworkKey,
  height: number,
): Promise<void> {
  await tx`
    update order_attempts set seen_height = null, late = false
    where seen_height > ${height} and late_order_id is null and order_id in (
      select id from chain_orders where chain = ${chain} and network = ${network}
        and state in ('new', 'planned', 'signed', 'sent', 'mined')
      union
      select o.id from order_attempts k join chain_orders o on o.id = k.order_id
      where k.late and k.late_order_id is null and o.chain = ${chain} and o.network = ${network})`;
  await tx`
    update order_attempts set told_height = null where told_height > ${height} and seen_height is null
      and order_id in (
        select o.id from order_attempts k join chain_orders o on o.id = k.order_id
        where k.told_height is not null and k.seen_height is null
          and o.chain = ${chain} and o.network = ${network})`;
  await tx`
    update order_attempts set seen_height = null
    where seen_height > ${height} and late_order_id in (
      select id from chain_orders where chain = ${chain} and network = ${network}
        and state in ('new', 'planned', 'signed', 'sent', 'mined') and purpose in ('recovered', 'sweep'))`;
}

/**
 * Forgets the block in which a scan saw an attempt, unless it was seen in another one since, or an order that has ended
 * books it. Its ramp is in quarantine.
 */
export async function forgetSeen(
  tx: Tx,
  { hash, height }: { hash: string; height: number },
): Promise<void> {
  await tx`
    update order_attempts k set seen_height = null, told_height = null, late = late_order_id is not null
    where hash = ${hash} and seen_height = ${height} and (late_order_id is null
      or exists (select from chain_orders o where o.id = k.late_order_id and o.state in ('sent', 'mined')))`;
  await tx`
    update reserved_inputs set consumed_by = null, consumed_height = null
    where consumed_by = ${hash} and consumed_height = ${height} and order_id in (
      select unnest(array[order_id, late_order_id]) from order_attempts where hash = ${hash})`;
}

/** Lists the attempts of open orders of some ramps that a scanned block has, oldest first. */
export async function selectSeenOpen(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<SeenAttempt[]> {
  return await db<SeenAttempt[]>`
    select distinct k.hash, coalesce(k.seen_height, c.consumed_height)::float8 as height, o.id as order
    from chain_orders o cross join lateral (
        select hash, seen_height from order_attempts where order_id = o.id and not dropped
        union all
        select hash, seen_height from order_attempts where late_order_id = o.id) k
      left join reserved_inputs c on c.order_id = o.id and c.consumed_by = k.hash
    where o.state in ('signed', 'sent', 'mined') and o.chain = ${place.chain} and o.network = ${place.network}
      and o.ramp = any (${`{${ramps.join(",")}}`}::text::uuid[])
      and (k.seen_height is not null or c.input is not null)
    order by height, k.hash`;
}

/**
 * Reads by what a scanned block shows that one of an order's transactions is mined: its bytes, or what used up an input
 * of the order; null where none does.
 */
export async function selectSeenOwn(
  db: Db,
  order: string,
): Promise<{ hash: string; height: number } | null> {
  const [row] = await db<{ hash: string; height: number }[]>`
    select k.hash, coalesce(k.seen_height, c.consumed_height)::float8 as height
    from order_attempts k
      left join reserved_inputs c on c.order_id = k.order_id and c.consumed_by = k.hash
    where (k.order_id = ${order} and not k.dropped or k.late_order_id = ${order})
      and (k.seen_height is not null or c.input is not null)
    order by k.attempt limit 1`;
  return row ?? null;
}

/** Selects the transactions in blocks that were given up, and not booked since; with their orders and ramps. */
export async function selectMinedLate(
  tx: Tx,
  place: NetworkKey,
  consumed: readonly { hash: string }[],
): Promise<{ hash: string; order: string; ramp: string }[]> {
  return await tx<{ hash: string; order: string; ramp: string }[]>`
    select g.hash, o.id as order, o.ramp
    from (select distinct jsonb_array_elements_text(${
    tx.json(consumed.map(({ hash }) => hash))
  }) as hash) g,
      lateral (select k.order_id, k.late, k.late_order_id from order_attempts k where k.hash = g.hash offset 0) k,
      lateral (select o.id, o.ramp, o.chain, o.network from chain_orders o where o.id = k.order_id offset 0) o
    where k.late and k.late_order_id is null and o.chain = ${place.chain} and o.network = ${place.network}
    order by g.hash`;
}

/** An attempt that a scanned block has. */
export interface SeenAttempt {
  hash: string;
  height: number;
  order: string;
}

/** Lists the attempts of some ramps that were given up, that a block shows, and that no order books; oldest first. */
export async function selectLateAttempts(
  db: Db,
  place: NetworkKey,
  ramps: readonly string[],
): Promise<SeenAttempt[]> {
  return await db<SeenAttempt[]>`
    select k.hash, k.seen_height as height, k.order_id as order
    from order_attempts k join chain_orders o on o.id = k.order_id
    where k.late and k.late_order_id is null
      and o.chain = ${place.chain} and o.network = ${place.network}
      and o.ramp = any (${`{${ramps.join(",")}}`}::text::uuid[])
    order by k.seen_height, k.hash`;
}

/** Locks an attempt that was mined late; false where an order books it, or the chain has lost its block, meanwhile. */
export async function lockLateAttempt(tx: Tx, hash: string): Promise<boolean> {
  const rows = await tx`
    select from order_attempts where hash = ${hash} and case when late then late_order_id is null end for update`;
  return rows.length > 0;
}

/** Records the order that books an attempt which was mined late. */
export async function markLateBooked(
  tx: Tx,
  { hash, order }: { hash: string; order: string },
): Promise<void> {
  await tx`update order_attempts set late_order_id = ${order} where hash = ${hash}`;
}

/**
 * Gives the attempt that an order books back to the order that had given it up: the chain has lost its block. Tells
 * whether there was one.
 */
export async function releaseLateAttempt(tx: Tx, order: string): Promise<boolean> {
  const rows = await tx`
    update order_attempts set late_order_id = null, late = false where late_order_id = ${order} returning 1`;
  return rows.length > 0;
}
