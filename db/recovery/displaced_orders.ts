/** Statements on transactions of orders that are done, and that the chain has lost. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import { placesOfCoins } from "../chains/coin_places.ts";
import type { Db, Tx } from "../database.ts";
import { ORDER_COLUMNS, type OrderRow } from "../sending/chain_orders.ts";
import { isWanted } from "../sending/late_attempts.ts";

/** A transaction that the chain has lost. */
export interface DisplacedRow {
  hash: string;
  order: string;
  ramp: string;
  state: "lost" | "replaced" | "displaced" | "succeeded" | "returned";
  /** What was told last. */
  told: "displaced" | "succeeded" | "returned" | null;
  /** The highest block from which it is searched again. */
  since: number;
  lost_height: number;
  /** A transaction of its order in a block that was scanned since. */
  seen_hash: string | null;
  seen_height: number | null;
  /** When it was lost, the last time. */
  created_at: number;
}

/** What is told of such a transaction. */
export interface DisplacedNote extends Pick<DisplacedRow, "hash" | "order" | "ramp" | "since"> {
  state: "replaced" | "displaced" | "succeeded" | "returned";
  by: string | null;
  lost_height: number;
  /** The transaction of its order that a block has again. */
  seen: { hash: string; height: number } | null;
  detail: string | null;
  /** Whether a quarantine began with the detail as its reason. */
  announced: boolean;
}

const ROW =
  "hash, order_id as order, ramp, state, told, since, lost_height, seen_hash, seen_height, created_at";

/** Reads what is known of a transaction that the chain has lost, and locks it; null where it has lost none. */
export async function lockDisplaced(tx: Tx, hash: string): Promise<DisplacedRow | null> {
  const [row] = await tx<DisplacedRow[]>`
    select ${tx.unsafe(ROW)} from displaced_orders where hash = ${hash} for update`;
  return row ?? null;
}

/**
 * Notes the blocks in which a scan saw transactions of orders whose own the chain had lost. The word of fewer nodes than the
 * quorum is enough where only a block tells what became of one: nodes are asked before anything is told. One that had
 * succeeded, and was told to be in no block any more, is lost until they answer.
 */
export async function markDisplacedSeen(
  tx: Tx,
  place: NetworkKey,
  seen: readonly { hash: string; height: number; few?: boolean }[],
): Promise<void> {
  await tx`
    update displaced_orders d set seen_hash = g.hash, seen_height = g.height,
      state = case when d.state = 'returned' then 'lost' else d.state end
    from (select r.hash, r.height, r.few, f.order_id, f.late_order_id
        from jsonb_to_recordset(${
    tx.json(seen as never)
  }) r(hash text, height integer, few boolean),
          lateral (select order_id, late_order_id, cancels from order_attempts
            where hash = r.hash offset 0) f
        where not f.cancels) g
    where d.order_id in (g.order_id, g.late_order_id) and d.chain = ${place.chain}
      and d.network = ${place.network} and d.state <> 'succeeded'
      and (d.state <> 'returned' or d.seen_hash is null)
      and (d.hash = g.hash or d.state <> 'replaced') and exists (select from chain_orders o
        where o.id = d.order_id and case when o.state = 'failed' then d.hash = g.hash
          else g.few is not true or o.nonce is not null end)`;
}

/** Coins that another transaction spent than the order that is done with them. */
export interface TakenCoins {
  /** The transaction of that order. */
  hash: string;
  by: string;
  height: number;
}

/**
 * Lists the transactions of orders that are done, of whose coins the chain shows that others spent them, in blocks up to a
 * height; oldest first, and those up to the one that was listed last after all others.
 */
export async function selectTaken(
  db: Db,
  { chain, network }: NetworkKey,
  of: { settled: number; limit: number; after: Pick<TakenCoins, "hash" | "height"> | null },
): Promise<TakenCoins[]> {
  const { hash, height } = of.after ?? { hash: "", height: -1 };
  return await db<TakenCoins[]>`
    select kept as hash, spent_by as by, min(spent_height)::float8 as height
    from (select kept, spent_by, spent_height from coins
      where chain = ${chain} and network = ${network} and kept > '' and kept <> spent_by
      order by chain, network, kept, spent_by offset 0) c
    where spent_by <> 'unknown' and spent_height <= ${of.settled}
    group by kept, spent_by
    order by (min(spent_height), kept) <= (${height}, ${hash}), 3, 1 limit ${of.limit}`;
}

/**
 * Takes what is in a block again that is deep enough, or was lost for long. What was asked about
 * longest ago is taken first; of what never was, that which no block shows. Oldest first. What no block shows is asked about
 * more and more seldom after its first ten minutes, down to each ten.
 */
export async function takeDisplacedDue(
  db: Db,
  { chain, network }: NetworkKey,
  of: { settled: number; limit: number; at: number },
): Promise<DisplacedRow[]> {
  const rows = await db<DisplacedRow[]>`
    update displaced_orders set asked_at = ${of.at}
    where hash in (
      select hash from displaced_orders
      where chain = ${chain} and network = ${network} and state in ('lost', 'replaced', 'displaced')
        and (seen_height is not null or state = 'lost' and (done or told = 'succeeded'))
        and coalesce(seen_height, lost_height + 1) <= ${of.settled}
        and (seen_height is not null or asked_at is null
          or asked_at + least(interval '10 minutes', (asked_at - created_at) / 10 - interval '1 minute') <= ${of.at})
      order by asked_at nulls first, seen_hash is not null, coalesce(seen_height, lost_height), hash
      limit ${of.limit})
    returning ${db.unsafe(ROW)}`;
  const heightOf = (row: DisplacedRow) => row.seen_height ?? row.lost_height;
  return rows.toSorted((one, other) =>
    heightOf(one) - heightOf(other) || (one.hash < other.hash ? -1 : 1)
  );
}

/** Whether the chain still shows that another transaction spent coins of an order that is done. */
export async function selectIsTaken(
  tx: Tx,
  { chain, network }: NetworkKey,
  { hash, by, height }: TakenCoins,
): Promise<boolean> {
  const rows = await tx`
    select from coins where chain = ${chain} and network = ${network} and kept <> spent_by
      and spent_height = ${height} and kept = ${hash} and spent_by = ${by} limit 1`;
  return rows.length > 0;
}

/** Whether the transaction of an order that is done is to be sent again where the chain has lost it. */
export async function selectIsWanted(db: Db, hash: string): Promise<boolean> {
  const rows = await db`select from order_attempts k where hash = ${hash} and ${isWanted(db)}`;
  return rows.length > 0;
}

/** What is sent again here, because the chain has lost it, and what would be, were its ramp not in quarantine. */
export interface SentAgain {
  count: number;
  /** The hash of one that is sent again. */
  first: string | null;
  held: number;
  /** The hash of one that quarantine holds. */
  first_held: string | null;
}

/**
 * Counts the payments that are done, are sent again here, and that no block has, as deep as a payment must be below a height:
 * those with a nonce, and those whose coins the chain shows as unspent. What lost its block because the cursor was put back
 * waits until the scan has passed the height again.
 */
export async function countSentAgain(
  db: Db,
  { chain, network }: NetworkKey,
  settled: number,
): Promise<SentAgain> {
  const [row] = await db<[SentAgain]>`
    select count(*) filter (where not q.held)::integer as count, min(k.hash) filter (where not q.held) as first,
      count(*) filter (where q.held)::integer as held, min(k.hash) filter (where q.held) as first_held
    from (select d.hash from displaced_orders d,
          lateral (select nonce from chain_orders where id = d.order_id offset 0) o
        where d.chain = ${chain} and d.network = ${network} and d.state = 'lost' and d.done
          and d.seen_height is null and d.lost_height < ${settled} and o.nonce is not null
        union
        select c.kept from coins c
        where c.chain = ${chain} and c.network = ${network} and c.kept is not null
          and c.spent_by is null and c.height is not null) l,
      lateral (select hash, order_id, late_order_id from order_attempts where hash = l.hash offset 0) k,
      lateral (select height, ramp from chain_orders where id = coalesce(k.late_order_id, k.order_id) offset 0) e,
      lateral (select in_quarantine(e.ramp) as held offset 0) q
    where e.height < ${settled} and ${isWanted(db)}`;
  return row;
}

/** Selects the order that is done with one of its transactions, and the hashes of all; null where none is. */
export async function selectDoneWith(
  db: Db,
  hash: string,
): Promise<{ order: OrderRow; hashes: string[] } | null> {
  const [order] = await db<OrderRow[]>`
    select ${db(ORDER_COLUMNS)} from chain_orders
    where id = (select coalesce(late_order_id, order_id) from order_attempts where hash = ${hash})
      and state = 'done'`;
  if (order === undefined) return null;
  const rows = await db<{ hash: string }[]>`
    select hash from order_attempts where hash is not null and coalesce(late_order_id, order_id) = ${order.id}
      and (order_id = ${order.id} or late_order_id = ${order.id})`;
  return { order, hashes: rows.map((row) => row.hash) };
}

/**
 * Whether a transaction is one of ours whose end tells what it took the place of: it is followed, or a reconciliation is to
 * book it.
 */
export async function selectIsToEnd(tx: Tx, hash: string): Promise<boolean> {
  const rows = await tx`
    select from order_attempts k join chain_orders o on o.id = coalesce(k.late_order_id, k.order_id)
    where k.hash = ${hash} and (k.late and k.late_order_id is null or o.state in ('sent', 'mined'))`;
  return rows.length > 0;
}

/** An order that is done with outputs of a transaction, or of what spends these. */
export interface Heir {
  id: string;
  /** Its transaction that spends them. */
  spender: string;
}

/** Lists the orders that are done with outputs of a transaction, or of what spends these, and were not told lost; oldest first. */
export async function selectHeirs(db: Db, of: NetworkKey, hash: string): Promise<Heir[]> {
  return await db<Heir[]>`
    with recursive heirs as (
      select ${hash}::text as hash
      union
      select c.kept from heirs h,
        lateral (select chain, network, kept from coins where hash = h.hash offset 0) c
      where c.chain = ${of.chain} and c.network = ${of.network} and c.kept is not null
    )
    select o.id, h.hash as spender from heirs h,
      lateral (select coalesce(late_order_id, order_id) as order_id from order_attempts
        where hash = h.hash offset 0) k,
      lateral (select id, state from chain_orders where id = k.order_id offset 0) o
    where h.hash <> ${hash} and o.state = 'done'
      and not exists (select from displaced_orders d where d.hash = h.hash and d.state = 'displaced')
    order by o.id, h.hash`;
}

/** Records what was told of transactions that the chain has lost, or has again. */
export async function upsertDisplaced(
  tx: Tx,
  place: NetworkKey,
  notes: readonly DisplacedNote[],
  at: number,
): Promise<void> {
  const rows = notes.map(({ hash, order, ramp, state, by, since, lost_height, seen, ...told }) => ({
    ...{ hash, order, ramp, state, by, since, lost_height },
    ...{ seen_hash: seen?.hash ?? null, seen_height: seen?.height ?? null },
    ...{ detail: told.detail, announced: told.announced },
  }));
  const last = [...new Map(rows.map((row) => [row.hash, row])).values()];
  await tx`
    insert into displaced_orders (hash, order_id, chain, network, ramp, state, by_hash, since, lost_height,
      seen_hash, seen_height, told, told_at, detail, announced, created_at)
    select r.hash, r.order, ${place.chain}, ${place.network}, r.ramp, r.state, r.by, r.since, r.lost_height,
      r.seen_hash, r.seen_height, nullif(r.state, 'replaced'),
      case when r.state <> 'replaced' then ${at}::timestamptz end, r.detail, r.announced, ${at}
    from jsonb_to_recordset(${
    tx.json(last as never)
  }) r(hash text, "order" uuid, ramp uuid, state text,
      by text, since integer, lost_height integer, seen_hash text, seen_height integer, detail text,
      announced boolean)
    on conflict (hash) do update set state = excluded.state, by_hash = excluded.by_hash,
      seen_hash = excluded.seen_hash, seen_height = excluded.seen_height,
      told = coalesce(excluded.told, displaced_orders.told),
      told_at = greatest(displaced_orders.told_at, excluded.told_at),
      detail = coalesce(excluded.detail, displaced_orders.detail), announced = excluded.announced`;
}

/** Notes that a block has a transaction again, of which nobody is told, or nothing that was not told before. */
export async function markReturned(
  tx: Tx,
  { hash, seen, height }: { hash: string; seen: string; height: number },
  state: "returned" | "succeeded" = "returned",
): Promise<void> {
  await tx`
    update displaced_orders set state = ${state}, seen_hash = ${seen}, seen_height = ${height}
    where hash = ${hash}`;
}

/** Forgets the block in which a transaction was seen again: nodes deny it, or what it did there was told before. */
export async function forgetSeenAgain(tx: Tx, hash: string, height: number): Promise<void> {
  await tx`
    update displaced_orders set seen_hash = null, seen_height = null
    where hash = ${hash} and seen_height = ${height} and state <> 'returned'`;
}

/**
 * Gives the coins of a transaction that the chain has lost to the order that is done with what spent them instead; those that
 * nothing has spent are free.
 */
export async function passCoinsOn(tx: Tx, place: NetworkKey, hash: string): Promise<void> {
  const [made] = await tx<{ inputs: string[] }[]>`
    select inputs from order_attempts where hash = ${hash}`;
  await tx`
    update coins c set kept = (select k.hash from order_attempts k
        join chain_orders o on o.id = coalesce(k.late_order_id, k.order_id) and o.state = 'done'
      where k.hash = c.spent_by)
    where c.ctid = any (array(${
    placesOfCoins(tx, place, made?.inputs ?? [])
  })) and (c.kept = ${hash}) is true`;
}

/** Gives the coins that a transaction spends to it, whoever was done with them before. */
export async function giveCoinsBack(tx: Tx, place: NetworkKey, hash: string): Promise<void> {
  const [made] = await tx<{ inputs: string[] }[]>`
    select inputs from order_attempts where hash = ${hash}`;
  await tx`
    update coins c set kept = ${hash}
    where c.ctid = any (array(${placesOfCoins(tx, place, made?.inputs ?? [])}))
      and (c.spent_by = ${hash} and c.kept is null) is true`;
}

/** What was told of an order whose transaction the chain has lost, or has again. */
export interface DisplacedTold {
  order: string;
  ramp: string;
  hash: string;
  state: "displaced" | "succeeded" | "returned";
  by: string | null;
  detail: string;
}

/** Lists what was told of orders of some ramps since their quarantines began, or has been no reason of one; oldest first. */
export async function selectToldOf(db: Db, ramps: readonly string[]): Promise<DisplacedTold[]> {
  return await db<DisplacedTold[]>`
    select d.order_id as order, d.ramp, d.hash, d.state, d.by_hash as by, d.detail
    from displaced_orders d join ramps r on r.account = d.ramp
    where d.ramp = any (${`{${
    ramps.join(",")
  }}`}::text::uuid[]) and d.state in ('displaced', 'succeeded', 'returned')
      and d.told_at is not null and (not d.announced
        or extract(epoch from d.told_at) * 1000 >= floor((r.quarantined ->> 'at')::float8) - 1)
    order by d.lost_height, d.hash`;
}

/** Takes what is to be the reason of a quarantine of some ramps, and was none yet; oldest first. */
export async function takeUnannounced(
  tx: Tx,
  ramps: readonly string[],
  at: number,
): Promise<{ ramp: string; detail: string }[]> {
  const rows = await tx<{ ramp: string; detail: string; hash: string; lost_height: number }[]>`
    update displaced_orders set announced = true, told_at = greatest(told_at, ${at})
    where ramp = any (${`{${
    ramps.join(",")
  }}`}::text::uuid[]) and told_at is not null and not announced
      and state in ('displaced', 'succeeded', 'returned')
    returning ramp, detail, hash, lost_height`;
  return rows.toSorted((one, other) => one.lost_height - other.lost_height);
}
