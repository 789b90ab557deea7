/** Statements on deposits. @module */
import { rowsOfAddresses } from "../accounts/address_rows.ts";
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";
import type { Fragment } from "../collections/filter.ts";

/** A deposit as stored; amounts in whole units of the asset. */
export interface DepositRow extends NetworkKey {
  id: string;
  hash: string;
  index: number;
  account: string;
  /** The virtual account that it serves; the database names it. */
  beneficiary: string | null;
  address: string;
  asset: string;
  contract: string | null;
  amount: string;
  sender: string | null;
  /** Null while it is in no block. */
  block: number | null;
  block_hash: string | null;
  matures_at: number | null;
  confirmations: number;
  status: "PENDING" | "CONFIRMED" | "ORPHANED";
  /** The credited amount. */
  credited: string | null;
  transaction: string | null;
  sweep: string | null;
  app: string | null;
  address_data: Record<string, unknown> | null;
  /** Reason why it is not booked before a reconciliation. */
  held: string | null;
  /** Number of failed tries to prove it. */
  tries: number;
  owner: string | null;
  error: unknown;
  updated_at: number | null;
  created_at: number;
}

/** A pending deposit with the scale of its account. */
export type PendingRow = DepositRow & { decimals: number };

/** The account behind an address. */
export interface TargetRow {
  address: string;
  account: string;
  asset: string;
  owner: string | null;
  data: Record<string, unknown>;
  /** Whether it is the address of a ramp itself, which also holds the coins for fees. */
  ramp: boolean;
  /** Blocks up to here do not count for a linked address; null for an own address. */
  since: number | null;
}

const COLUMNS = [
  "id",
  "chain",
  "network",
  "hash",
  "index",
  "account",
  "beneficiary",
  "address",
  "asset",
  "contract",
  "amount",
  "sender",
  "block_hash",
  "confirmations",
  "status",
  "credited",
  "transaction",
  "sweep",
  "app",
  "address_data",
  "held",
  "tries",
  "owner",
  "error",
  "updated_at",
  "created_at",
] as const;

/** Heights are int8, which the driver gives as text; as float8 they are exact numbers. */
function columns(db: Db) {
  return db`${db(COLUMNS)}, block::float8 as block, matures_at::float8 as matures_at`;
}

function decimals(db: Db) {
  return db`(select a.decimals from accounts a where a.id = deposits.account) as decimals`;
}

/** The columns of a deposit, with the scale of its account. */
export function columnsOf(db: Db): Fragment {
  return db`${columns(db)}, ${decimals(db)}`;
}

/** Lists the assets of a network's pending deposits: one step along an index for each, however many deposits are pending. */
export async function selectPendingAssets(db: Db, place: NetworkKey): Promise<string[]> {
  const rows = await db<{ asset: string }[]>`
    with recursive found as (
      (select asset from deposits
        where chain = ${place.chain} and network = ${place.network} and status = 'PENDING'
        order by asset limit 1)
      union all
      select (select d.asset from deposits d
        where d.chain = ${place.chain} and d.network = ${place.network} and d.status = 'PENDING'
          and d.asset > f.asset order by d.asset limit 1)
      from found f where f.asset is not null)
    select asset from found where asset is not null`;
  return rows.map((row) => row.asset);
}

/** Deposits of an asset that may not be credited now, with the reason. */
export interface Hold {
  asset: string;
  /** Deposits of this contract may be credited; null: none may. */
  except: string | null;
  error: Record<string, unknown>;
}

/** Holds pending deposits that may not be credited now, and frees those that may again. */
export async function holdDeposits(
  db: Db,
  place: NetworkKey,
  holds: readonly Hold[],
  code: string,
): Promise<void> {
  await db`
    with judged as (
      select d.id, (select h.error from jsonb_to_recordset(${db.json(holds as never)})
          h(asset text, "except" text, error jsonb)
        where h.asset = d.asset and (h.except is null or h.except is distinct from d.contract)
        limit 1) as error
      from deposits d
      where d.chain = ${place.chain} and d.network = ${place.network} and d.status = 'PENDING'
    )
    update deposits d set error = j.error, updated_at = now() from judged j
    where d.id = j.id and d.error is distinct from j.error
      and (j.error is not null or d.error->>'code' = ${code})`;
}

/** Finds the accounts of some addresses: own addresses, else linked ones. */
export async function selectTargets(
  tx: Tx,
  place: NetworkKey,
  addresses: readonly string[],
): Promise<TargetRow[]> {
  return await tx<TargetRow[]>`
    select address, account, asset, owner, data, derivation_key = 0 as ramp, null::float8 as since
    from (${rowsOfAddresses(tx, place, addresses)}) own
    union all
    select e.address, e.account, a.asset, a.owner, '{}'::jsonb, false, e.since::float8
    from (select distinct unnest(${addresses as string[]}::text[]) as text) g,
      lateral (select chain, network, address, account, since from external_addresses
        where deleted_at is null and address = g.text order by address offset 0) e,
      lateral (select asset, owner from accounts where id = e.account and deleted_at is null offset 0) a
    where e.chain = ${place.chain} and e.network = ${place.network}
      and (select true from addresses o
        where o.chain = e.chain and o.network = e.network and o.address = e.address limit 1) is null`;
}

/** Reads purpose and sender of those transactions that own orders sent. */
export async function selectOwnTransactions(
  tx: Tx,
  place: NetworkKey,
  hashes: readonly string[],
): Promise<{ hash: string; purpose: string; sender: string }[]> {
  return await tx<{ hash: string; purpose: string; sender: string }[]>`
    select c.hash, o.purpose, o.sender
    from (select distinct jsonb_array_elements_text(${tx.json([...hashes])}) as hash) h,
      lateral (select * from order_attempts c where c.hash = h.hash offset 0) c,
      lateral (select * from chain_orders o where o.id = c.order_id offset 0) o
    where o.chain = ${place.chain} and o.network = ${place.network}`;
}

/** A deposit as a scan gives it. */
export type SeenDeposit = Pick<
  DepositRow,
  | "id"
  | "hash"
  | "index"
  | "account"
  | "address"
  | "asset"
  | "contract"
  | "amount"
  | "sender"
  | "block"
  | "block_hash"
  | "matures_at"
  | "address_data"
  | "owner"
>;

/**
 * Adds deposits, and moves known ones to their new block; an orphaned one is pending again. New ones
 * are of the database's time, and so are the beginnings of their ids, by which lists and figures
 * find a time. Gives those that are new to their owner.
 */
export async function upsertDeposits(
  tx: Tx,
  place: NetworkKey,
  seen: readonly SeenDeposit[],
  at: number,
): Promise<DepositRow[]> {
  return await tx<DepositRow[]>`
    with given as (
      select id_at(g.id, m.at) as id, ms_time(m.at) as at, g.hash, g.index, g.account, g.address,
        g.asset, g.contract, g.amount, g.sender, g.block, g.block_hash, g.matures_at,
        g.address_data, g.owner
      from (select database_ms() as at offset 0) m,
        jsonb_to_recordset(${tx.json(seen as never)}) g(id uuid, hash text, index integer,
        account uuid, address text, asset text, contract text, amount numeric, sender text,
        block bigint, block_hash text, matures_at bigint, address_data jsonb, owner uuid)
    ), known as (
      select d.hash, d.index, d.address, d.status from given g,
        lateral (select * from deposits d where d.hash = g.hash and d.index = g.index offset 0) d
      where d.chain = ${place.chain} and d.network = ${place.network}
        and (d.index <> -2 or d.address = g.address)
    ), written as (
      insert into deposits (id, chain, network, hash, index, account, address, asset, contract,
        amount, sender, block, block_hash, matures_at, address_data, owner, created_at)
      select id, ${place.chain}, ${place.network}, hash, index, account, address, asset, contract,
        amount, sender, block, block_hash, matures_at, address_data, owner, at
      from given
      on conflict (chain, network, hash, index, (case when index = -2 then address else '' end))
        do update
        set block = excluded.block, block_hash = excluded.block_hash,
          matures_at = excluded.matures_at, updated_at = ${at},
          error = case when deposits.status = 'CONFIRMED' then deposits.error end,
          retry_at = case when deposits.status <> 'ORPHANED' then deposits.retry_at end,
          tries = case when deposits.status = 'ORPHANED' then 0 else deposits.tries end,
          status = case when deposits.status = 'ORPHANED' then 'PENDING' else deposits.status end
        where (excluded.block_hash is not null
            and deposits.block_hash is distinct from excluded.block_hash)
          or deposits.status = 'ORPHANED'
      returning ${columns(tx)}
    )
    select ${columns(tx)} from written w
    where not exists (select 1 from known k where k.hash = w.hash and k.index = w.index
      and (k.index <> -2 or k.address = w.address) and k.status <> 'ORPHANED')
    order by id`;
}

/** Updates the confirmations of pending deposits. */
export async function updateConfirmations(db: Db, place: NetworkKey, head: number): Promise<void> {
  await db`
    update deposits set confirmations = greatest(0, ${head} - block + 1)
    where chain = ${place.chain} and network = ${place.network} and status = 'PENDING'
      and block is not null and confirmations <> greatest(0, ${head} - block + 1)`;
}

/**
 * Reads pending deposits that are deep enough, oldest first, past an id; without deferred ones that
 * are not due and those of suspended assets.
 */
export async function selectRipe(
  db: Db,
  place: NetworkKey,
  at: { settled: number; head: number; after: string | null; limit: number },
): Promise<PendingRow[]> {
  return await db<PendingRow[]>`
    select ${columnsOf(db)} from deposits
    where chain = ${place.chain} and network = ${place.network} and status = 'PENDING'
      and block <= ${at.settled} and (matures_at is null or matures_at <= ${at.head})
      and (error is null
        or (error->>'code' <> 'asset.suspended' and coalesce(retry_at, updated_at) <= now()))
      and held is null and (${at.after}::uuid is null or id > ${at.after}::uuid)
    order by id limit ${at.limit}`;
}

/** Reads pending deposits that are in no block. */
export async function selectDetached(
  db: Db,
  place: NetworkKey,
  limit: number,
): Promise<PendingRow[]> {
  return await db<PendingRow[]>`
    select ${columnsOf(db)} from deposits
    where chain = ${place.chain} and network = ${place.network} and status = 'PENDING'
      and block is null
    order by id limit ${limit}`;
}

/** Reads deposits by their ids. */
export async function selectDeposits(db: Db, ids: string[]): Promise<DepositRow[]> {
  return await db<DepositRow[]>`
    select ${columns(db)} from deposits where id = any (${`{${ids.join(",")}}`}::text::uuid[])`;
}

/** Locks a pending deposit, if it is still in the given block. */
export async function lockPending(
  tx: Tx,
  id: string,
  blockHash: string | null,
): Promise<DepositRow | null> {
  const [row] = await tx<DepositRow[]>`
    select ${columns(tx)} from deposits
    where id = ${id} and ${isPending(tx)} and block_hash is not distinct from ${blockHash}
    for update`;
  return row ?? null;
}

/** As a plain condition the status would have PostgreSQL read an index of all that is pending while the table is empty. */
function isPending(db: Db): Fragment {
  return db`case status when 'PENDING' then true end`;
}

/** Deletes a pending deposit that is still in the given block; false if it is not. */
export async function deletePending(
  tx: Tx,
  { id, block_hash }: Pick<DepositRow, "id" | "block_hash">,
): Promise<boolean> {
  const rows = await tx`
    delete from deposits where id = ${id} and ${isPending(tx)} and held is null
      and block_hash is not distinct from ${block_hash} returning id`;
  return rows.length > 0;
}

/** Marks deposits ORPHANED; those that may come back are asked for again in an hour. */
export async function markOrphaned(
  tx: Tx,
  ids: string[],
  how: { error: unknown; at: number; again?: boolean },
): Promise<DepositRow[]> {
  return await tx<DepositRow[]>`
    update deposits set status = 'ORPHANED', confirmations = 0, updated_at = ${how.at},
      error = ${how.error === null ? null : tx.json(how.error as never)},
      retry_at = case when ${how.again ?? false} then now() + interval '1 hour' end
    where id = any (${ids}::uuid[]) and (status = 'PENDING') is true returning ${columns(tx)}`;
}

/** Records one error of some deposits without changing their status. */
export async function markDepositErrors(tx: Tx, ids: string[], error: unknown): Promise<void> {
  await tx`
    update deposits set error = ${tx.json(error as never)}, updated_at = now()
    where id = any (${ids}::uuid[])`;
}

/** Removes the block of deposits above a height, and gives them. */
export async function detachAbove(tx: Tx, key: NetworkKey, height: number): Promise<DepositRow[]> {
  return await tx<DepositRow[]>`
    update deposits set block = null, block_hash = null, confirmations = 0, updated_at = now()
    where chain = ${key.chain} and network = ${key.network} and block > ${height}
    returning ${columns(tx)}`;
}
