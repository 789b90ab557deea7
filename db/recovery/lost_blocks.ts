/** Statements on transactions of orders that have ended, and whose blocks the chain has lost. @module */
import { placesOfCoins } from "../chains/coin_places.ts";
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";
import { isWanted } from "../sending/late_attempts.ts";

/**
 * Whether the order `o` has ended with its mined attempt `k`, and its end may turn out to be wrong: what failed may succeed
 * in another block, what has a nonce may fail there, and the rest is not sent again here, because it expires, was a loss,
 * or was told to be lost before.
 */
function mayTurnOut(db: Db) {
  return db`o.id in (k.order_id, k.late_order_id) and o.purpose <> 'fill' and not k.cancels
    and (o.state = 'failed' or o.state = 'done'
      and (o.nonce is not null or cardinality(k.inputs) = 0 or not (${isWanted(db)})))`;
}

/**
 * Notes the transactions of orders that lose their blocks above a height.
 *
 * @param of.deep whether the cursor goes back further than a reorganisation is followed: of what is done, that is then noted
 *   which the blocks do not show when they are scanned again, or others than before
 */
export async function noteLost(
  tx: Tx,
  { chain, network }: NetworkKey,
  of: { height: number; at: number; deep: boolean },
): Promise<void> {
  const { height, at, deep } = of;
  await tx`
    update displaced_orders set ${lostAgain(tx, at)}, since = least(since, ${height})
    where chain = ${chain} and network = ${network} and seen_height > ${height}`;
  await tx`
    insert into displaced_orders (hash, order_id, chain, network, ramp, state, since, lost_height, created_at)
    select o.hash, o.id, o.chain, o.network, o.ramp, 'lost', ${height}, o.height, ${at}
    from (select id, chain, network, ramp, purpose, hash, height, state, nonce from chain_orders
        where chain = ${chain} and network = ${network} and height > ${height}
        order by height offset 0) o
      cross join lateral (select * from order_attempts where hash = o.hash offset 0) k
    where ${mayTurnOut(tx)} and (o.state = 'failed' or not ${deep})
    on conflict (hash) do nothing`;
}

/**
 * Notes the transactions of orders that had ended before the scan came to their blocks, where blocks up to a height that are
 * recorded now do not show them.
 *
 * @param shown what as many nodes as the quorum show in the blocks
 */
export async function noteUnshown(
  tx: Tx,
  { chain, network }: NetworkKey,
  of: { above: number; to: number; shown: readonly string[]; at: number },
): Promise<void> {
  const { above, to, shown, at } = of;
  const isShown = tx`jsonb_exists(${tx.json([...shown])}::jsonb, u.hash)`;
  await tx`
    update displaced_orders d set ${lostAgain(tx, at)}
    from (select hash as key, seen_hash as hash from displaced_orders
      where chain = ${chain} and network = ${network} and seen_height > ${above} and seen_height <= ${to}
      order by chain, network, seen_height offset 0) u
    where d.hash = u.key and not ${isShown}`;
  await tx`
    insert into displaced_orders (hash, order_id, chain, network, ramp, state, since, lost_height, created_at)
    select o.hash, o.id, o.chain, o.network, o.ramp, 'lost', ${above}, o.height, ${at}
    from (select id, chain, network, ramp, purpose, hash, height, state, nonce from chain_orders u
        where chain = ${chain} and network = ${network} and height > ${above} and height <= ${to}
          and state in ('done', 'failed') and not ${isShown}
        order by height offset 0) o
      cross join lateral (select * from order_attempts where hash = o.hash offset 0) k
    where ${mayTurnOut(tx)}
    on conflict (hash) do nothing`;
}

/**
 * Notes the transactions of orders that have ended in other blocks than those that show them now: they may do something else
 * there. It is recorded next that these blocks show them.
 *
 * @param of.above what was scanned before
 */
export async function noteElsewhere(
  tx: Tx,
  { chain, network }: NetworkKey,
  of: {
    above: number;
    at: number;
    shown: readonly { hash: string; height: number; block: string }[];
  },
): Promise<void> {
  const { above, at, shown } = of;
  await tx`
    insert into displaced_orders (hash, order_id, chain, network, ramp, state, since, lost_height, created_at)
    select o.hash, o.id, o.chain, o.network, o.ramp, 'lost', ${above}, o.height, ${at}
    from (select distinct on (hash) hash, height, block from jsonb_to_recordset(${
    tx.json(shown as never)
  }) r(hash text, height integer, block text) order by hash, height) g
      cross join lateral (select * from order_attempts where hash = g.hash offset 0) k
      cross join lateral (select id, chain, network, ramp, purpose, hash, height, block_hash, state, nonce from chain_orders
        where id = any (array[k.order_id, k.late_order_id]) offset 0) o
    where ${mayTurnOut(tx)} and o.hash = g.hash and o.chain = ${chain} and o.network = ${network}
      and (o.height <> g.height or o.block_hash <> g.block)
    on conflict (hash) do nothing`;
}

/**
 * States of coins that orders which had ended spent, by their word, in blocks up to a height that are recorded now and do not
 * show it, that nothing has spent them: their payments are sent again, and what else spends them is watched.
 */
export async function freeUnshown(
  tx: Tx,
  place: NetworkKey,
  of: { above: number; to: number; shown: readonly string[] },
): Promise<void> {
  const { chain, network } = place;
  const { above, to, shown } = of;
  const rows = await tx<{ inputs: string[]; hash: string }[]>`
    select k.hash, k.inputs
    from (select hash from chain_orders u
        where chain = ${chain} and network = ${network} and height > ${above} and height <= ${to}
          and state = 'done' and batch_order_id is null
          and not jsonb_exists(${tx.json([...shown])}::jsonb, u.hash)
        order by height offset 0) o
      cross join lateral (select hash, inputs from order_attempts where hash = o.hash offset 0) k`;
  if (rows.length === 0) return;
  const places = placesOfCoins(tx, place, rows.flatMap(({ inputs }) => inputs));
  const hashes = rows.map(({ hash }) => hash);
  await tx`
    update coins c set spent_by = null, spent_height = null
    where c.ctid = any (array(${places})) and (c.spent_by = any (${hashes}::text[])
      and c.spent_height > ${above} and c.spent_height <= ${to}) is true`;
}

/** What was seen in a block is in none, and awaited from now on; what was told of it stays. */
function lostAgain(db: Db, at: number) {
  return db`created_at = case when state in ('returned', 'succeeded') then ${at}::timestamptz else created_at end,
    state = case when state in ('returned', 'succeeded') then 'lost' else state end,
    lost_height = case when state in ('returned', 'succeeded') then seen_height else lost_height end,
    seen_hash = null, seen_height = null`;
}
