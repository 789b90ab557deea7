/** Statements on coins that orders spend and make. @module */
import type postgres from "postgres";
import { placesOfCoins } from "../chains/coin_places.ts";
import type { Db, Tx } from "../database.ts";
import { isWanted } from "./late_attempts.ts";
import type { AttemptRow } from "./order_attempts.ts";

/** Coins that are offered to one plan, however many there are. */
export const COINS_MAX = 1000;

/** A coin that may be spent; amounts in base units. */
export interface CoinRow {
  hash: string;
  index: number;
  address: string;
  amount: string;
  height: number | null;
  parent_fee: string | null;
  parent_vsize: number | null;
}

/** Whose coins may be spent, and at which block. */
export interface FreeCoins {
  chain: string;
  network: string;
  address: string;
  /** Height of the newest block. */
  head: number;
  /** Height of a block at the depth of a deposit. */
  settled: number;
}

/**
 * Reads and locks the free coins of an address, largest first. Change that is not in a block is
 * offered only while its order has no other attempt: of two attempts that replace each other one will
 * never be mined. Coins that others paid are offered at the depth of a deposit.
 */
export async function lockFreeCoins(tx: Tx, of: FreeCoins, limit: number): Promise<CoinRow[]> {
  return await tx<CoinRow[]>`${freeCoins(tx, of, limit)} for update of o`;
}

/** Reads the coins that {@link lockFreeCoins} would, and locks none. */
export async function selectFreeCoins(db: Db, of: FreeCoins, limit: number): Promise<CoinRow[]> {
  return await db<CoinRow[]>`${freeCoins(db, of, limit)}`;
}

function freeCoins(
  db: Db,
  of: FreeCoins,
  limit: number,
): postgres.PendingQuery<postgres.Row[]> {
  return db`
    select hash, index, address, amount::text as amount, height::integer as height,
      parent_fee::text as parent_fee, parent_vsize
    from coins o
    where chain = ${of.chain} and network = ${of.network} and address = ${of.address}
      and spent_by is null and (matures_at is null or matures_at <= ${of.head})
      and (height <= ${of.settled}
        or (height is not null and exists (
          select 1 from order_attempts m where m.hash = o.hash))
        or (height is null and (select count(*) from order_attempts m
          join order_attempts s using (order_id) where m.hash = o.hash) = 1))
      and ${unreservedCoins(db)}
    order by o.amount desc, hash, index limit ${limit}`;
}

/** Adds up the largest free coins of an address, in base units, and counts them; they stay free. */
export async function sumFreeCoins(
  db: Db,
  of: { chain: string; network: string; address: string },
  limit: number,
): Promise<{ units: string; count: number }> {
  const [row] = await db<{ units: string; count: number }[]>`
    select coalesce(sum(amount), 0)::text as units, count(*)::integer as count from (
      select amount from coins o
      where chain = ${of.chain} and network = ${of.network} and address = ${of.address}
        and spent_by is null and ${unreservedCoins(db)}
      order by o.amount desc limit ${limit}) as largest`;
  return row;
}

/**
 * Selects coins that no order has reserved or spent for good. Each is looked up by its key, because
 * PostgreSQL may plan a join from the wrong side.
 */
export function unreservedCoins(db: Db): postgres.PendingQuery<postgres.Row[]> {
  return db`o.kept is null and (select c.order_id from reserved_inputs c
    where c.chain = o.chain and c.network = o.network and c.input = o.hash || ':' || o.index) is null`;
}

/** Stores the change of a transaction of ours, before any block shows it. */
export async function insertChange(
  tx: Tx,
  coin: {
    chain: string;
    network: string;
    hash: string;
    index: number;
    address: string;
    ramp: string;
    amount: string;
    parent_fee: string;
    parent_vsize: number | null;
    created_at: number;
  },
): Promise<void> {
  await tx`insert into coins ${tx(coin)} on conflict do nothing`;
}

/** Deletes the change of dropped transactions, which will never exist. */
export async function deleteUnmadeCoins(
  tx: Tx,
  of: { chain: string; network: string },
  hashes: readonly string[],
): Promise<void> {
  await tx`
    delete from coins where (height is null) is true and ctid = any (array(
      select c.ctid from unnest(${hashes as string[]}::text[]) k,
        lateral (select ctid, chain, network from coins where hash = k offset 0) c
      where c.chain = ${of.chain} and c.network = ${of.network}))`;
}

/** Records the transaction that spent some coins, as `txid:index`. */
export async function markSpent(
  tx: Tx,
  of: { chain: string; network: string; hash: string; height: number },
  inputs: readonly string[],
): Promise<void> {
  await tx`
    update coins set spent_by = ${of.hash}, spent_height = coalesce(spent_height, ${of.height})
    where ctid = any (array(${placesOfCoins(tx, of, inputs)})) and (spent_by is null) is true`;
}

/**
 * Reserves coins for the transaction of a finished order that spent them: its bytes may be mined again
 * if the chain loses their block. Those of another that is finished stay its, until it is told that the chain has lost
 * that one.
 */
export async function keepCoins(
  tx: Tx,
  of: { chain: string; network: string; hash: string },
  inputs: readonly string[],
): Promise<void> {
  await tx`
    update coins set kept = ${of.hash}
    where ctid = any (array(${placesOfCoins(tx, of, inputs)})) and (kept is null) is true`;
}

/**
 * Whether an open order spends outputs of some transactions. Chain and network are compared behind the lookup by the
 * transaction: the key of the inputs begins with them, and costs as little while there are none.
 */
export async function selectDependants(
  db: Db,
  of: { chain: string; network: string },
  hashes: readonly string[],
): Promise<boolean> {
  const rows = await db`
    select k.input from unnest(${hashes as string[]}::text[]) h,
      lateral (select chain, network, input from reserved_inputs where split_part(input, ':', 1) = h offset 0) k
    where k.chain = ${of.chain} and k.network = ${of.network} limit 1`;
  return rows.length > 0;
}

/** Reads those of some coins of an address that are known, in base units. */
export async function selectAmounts(
  db: Db,
  of: { chain: string; network: string; address: string },
  inputs: readonly string[],
): Promise<{ input: string; amount: string }[]> {
  return await db<{ input: string; amount: string }[]>`
    select c.hash || ':' || c.index as input, c.amount::text as amount from coins c
    where c.ctid = any (array(${placesOfCoins(db, of, inputs)})) and c.address = ${of.address}`;
}

/** Counts how many of an address's free coins, largest first, add up to an amount; at least 1. */
export async function countCoinsFor(
  db: Db,
  of: { chain: string; network: string; address: string; amount: string },
): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select (count(*) filter (where before < ${of.amount}::numeric))::integer as count
    from (select coalesce(sum(amount) over (order by amount desc, hash, index
        rows between unbounded preceding and 1 preceding), 0) as before
      from coins where chain = ${of.chain} and network = ${of.network}
        and address = ${of.address} and spent_by is null
      order by amount desc, hash, index limit ${COINS_MAX}) as sums`;
  return Math.max(1, row.count);
}

/** A coin stored as unspent, in a block; amount in base units. */
export interface BelievedCoin {
  input: string;
  address: string;
  amount: string;
  height: number;
}

/** Reads the next stored coins of the round, at most `limit`; none at its end. */
export async function selectRound(
  db: Db,
  of: { chain: string; network: string; height: number; limit: number },
): Promise<BelievedCoin[]> {
  return await db<BelievedCoin[]>`
    select hash || ':' || index as input, address, amount::text as amount,
      height::integer as height
    from coins c where chain = ${of.chain} and network = ${of.network} and spent_by is null
      and height <= ${of.height} and (hash, index) > (
        coalesce((select r.hash from coin_rounds r
          where r.chain = ${of.chain} and r.network = ${of.network}), ''),
        coalesce((select r.index from coin_rounds r
          where r.chain = ${of.chain} and r.network = ${of.network}), -1))
    order by c.hash, c.index limit ${of.limit}`;
}

/** Stores the last coin that a round has covered; null: the next round begins again. */
export async function upsertRound(
  tx: Tx,
  of: { chain: string; network: string },
  last: string | null,
): Promise<void> {
  await tx`
    insert into coin_rounds (chain, network, hash, index) values (${of.chain}, ${of.network},
      split_part(${last ?? ":-1"}, ':', 1), split_part(${last ?? ":-1"}, ':', 2)::integer)
    on conflict (chain, network) do update set hash = excluded.hash, index = excluded.index`;
}

/** Selects the coins that are stored as unspent, in blocks up to a height. */
export async function selectBelieved(
  db: Db,
  of: { chain: string; network: string; height: number },
  inputs: readonly string[],
): Promise<BelievedCoin[]> {
  return await db<BelievedCoin[]>`
    select c.hash || ':' || c.index as input, c.address, c.amount::text as amount,
      c.height::integer as height
    from coins c where c.ctid = any (array(${placesOfCoins(db, of, inputs)}))
      and (c.spent_by is null) is true and c.height <= ${of.height}`;
}

/**
 * Records the spenders of some coins and their blocks. Gives the coins whose spender was not known
 * before.
 */
export async function markSpentBy(
  tx: Tx,
  of: { chain: string; network: string },
  spent: readonly { input: string; by: string; height: number }[],
): Promise<{ input: string; address: string; ramp: string; amount: string; by: string }[]> {
  return await tx<{ input: string; address: string; ramp: string; amount: string; by: string }[]>`
    update coins c set spent_by = s.by, spent_height = s.height
    from jsonb_to_recordset(${tx.json(spent as never)}) s(input text, by text, height bigint)
    where c.ctid = any (array(${placesOfCoins(tx, of, spent.map(({ input }) => input))}))
      and (c.spent_by is null or (c.spent_by = 'unknown' and s.by <> 'unknown')) is true
      and c.hash || ':' || c.index = s.input
    returning s.input, c.address, c.ramp, c.amount::text as amount, c.spent_by as by`;
}

/** Finds the height of the oldest of some coins of ours; null where none is known. */
export async function selectOldest(
  db: Db,
  of: { chain: string; network: string },
  inputs: readonly string[],
): Promise<number | null> {
  const [row] = await db<{ height: number | null }[]>`
    select min(c.height)::integer as height from coins c
    where c.ctid = any (array(${placesOfCoins(db, of, inputs)}))`;
  return row.height;
}

/** Recomputes the balances of some addresses after a correction of their coins. */
export async function recountOnchainBalances(
  tx: Tx,
  of: { chain: string; network: string },
  addresses: readonly string[],
): Promise<void> {
  await tx`
    update onchain_balances h set amount = (select coalesce(sum(c.amount), 0) from coins c
      where c.chain = h.chain and c.network = h.network and c.address = h.address
        and c.height is not null and c.spent_by is null)
    where h.chain = ${of.chain} and h.network = ${of.network} and h.contract = ''
      and h.address = any (${addresses as string[]}::text[])`;
}

/**
 * Whether no attempt of an order can ever be mined, because each spends an output of a
 * transaction of ours that will never be mined.
 */
export async function selectOrphaned(db: Db, order: string): Promise<boolean> {
  const [row] = await db<{ orphaned: boolean }[]>`
    select coalesce(bool_and(exists (
      select 1 from unnest(c.inputs) k
        join order_attempts p on p.hash = split_part(k, ':', 1)
        join chain_orders o on o.id = p.order_id
      where p.dropped or o.state in ('dropped', 'canceled')
        or (o.state in ('done', 'failed') and o.hash is distinct from p.hash)
        or exists (select from displaced_orders d
          where d.hash = p.hash and d.state in ('displaced', 'replaced')))), false) as orphaned
    from order_attempts c where c.order_id = ${order} and not c.dropped`;
  return row.orphaned;
}

/**
 * Reads the mined attempts of orders that are done, and whose coins the chain shows as unspent again, oldest first, and those
 * up to the order that was read last after all others. A loss is not made anew, nor what was told to be lost; nor is
 * anything in quarantine, as a newer database may have been told so.
 */
export async function selectLostPayments(
  db: Db,
  { chain, network }: { chain: string; network: string },
  of: { limit: number; after: string | null },
): Promise<AttemptRow[]> {
  return await db<AttemptRow[]>`
    select order_id, attempt, plan, inputs, hash, raw, expires, fee, sent_at, outcome, cancels,
      borne_by, unreadable, dropped
    from order_attempts k where hash in (select c.kept from coins c
      where c.chain = ${chain} and c.network = ${network} and c.kept is not null
        and c.spent_by is null and c.height is not null and not in_quarantine(c.ramp))
      and ${isWanted(db)}
    order by (order_id <= ${of.after}::uuid) is true, order_id limit ${of.limit}`;
}

/** A coin that is gone, whose spender no block has shown so far. */
export interface LostCoin extends BelievedCoin {
  tries: number;
}

/** Reads the coins of unknown spenders that are due to be searched again. */
export async function selectSpenderless(
  db: Db,
  of: { chain: string; network: string },
  limit: number,
): Promise<LostCoin[]> {
  return await db<LostCoin[]>`
    select hash || ':' || index as input, address, amount::text as amount,
      coalesce(height, 0)::float8 as height, spender_tries as tries
    from coins where chain = ${of.chain} and network = ${of.network} and spent_by = 'unknown'
      and (spender_retry_at is null or spender_retry_at <= now())
    order by spender_retry_at nulls first, hash, index limit ${limit}`;
}

/** Counts the coins of unknown spenders. */
export async function countSpenderless(
  db: Db,
  of: { chain: string; network: string },
): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)::integer as count from coins
    where chain = ${of.chain} and network = ${of.network} and spent_by = 'unknown'`;
  return row.count;
}

/** Postpones the search for the spenders of coins: by a minute, then by growing pauses. */
export async function deferSpenders(
  tx: Tx,
  of: { chain: string; network: string },
  inputs: readonly string[],
): Promise<void> {
  await tx`
    update coins set spender_tries = spender_tries + 1,
      spender_retry_at = now() + interval '1 minute' * 2 ^ least(spender_tries, 9)
    where ctid = any (array(${placesOfCoins(tx, of, inputs)})) and (spent_by = 'unknown') is true`;
}

/** Marks coins of unknown spenders as unspent again; gives those that had been marked. */
export async function reviveCoins(
  tx: Tx,
  of: { chain: string; network: string },
  inputs: readonly string[],
): Promise<{ input: string; address: string; ramp: string; amount: string }[]> {
  return await tx<{ input: string; address: string; ramp: string; amount: string }[]>`
    update coins c set spent_by = null, spent_height = null, spender_retry_at = null
    where c.ctid = any (array(${
    placesOfCoins(tx, of, inputs)
  })) and (c.spent_by = 'unknown') is true
    returning c.hash || ':' || c.index as input, c.address, c.ramp, c.amount::text as amount`;
}
