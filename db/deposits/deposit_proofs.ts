/** Statements on deposits that nodes must prove before they are credited. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";
import type { Fragment } from "../collections/filter.ts";
import { columnsOf, type PendingRow, type SeenDeposit } from "./deposits.ts";
import { placesOfPending } from "./pending_deposits.ts";

/** A deposit that nodes did not prove, with the reason. */
export interface Deferred {
  id: string;
  error: unknown;
  /** Whether the count of its tries starts again. */
  anew?: boolean;
}

/** Defers deposits that nodes did not prove: tried again by the next pass, then ever more rarely. */
export async function deferDeposits(tx: Tx, deferred: readonly Deferred[]): Promise<void> {
  await tx`
    update deposits d set error = g.error, updated_at = now(),
      tries = case when g.anew then 1 else tries + 1 end,
      retry_at = now() + interval '5 seconds'
        * (2 ^ least(case when g.anew then 0 else tries end, 7) - 1)
    from jsonb_to_recordset(${tx.json(deferred as never)}) g(id uuid, error jsonb, anew boolean)
    where d.id = g.id and d.ctid = any (array(${
    placesOfPending(tx, deferred.map(({ id }) => id))
  }))`;
}

/** Records why the ledger refused deposits; each is due again in a minute, then after growing pauses. */
export async function putOffDeposits(
  tx: Tx,
  refused: readonly { id: string; error: unknown }[],
): Promise<void> {
  await tx`
    update deposits d set error = g.error, updated_at = now(), tries = tries + 1,
      retry_at = now() + interval '1 minute' * (2 ^ least(tries, 9))
    from jsonb_to_recordset(${tx.json(refused as never)}) g(id uuid, error jsonb)
    where d.id = g.id and d.ctid = any (array(${
    placesOfPending(tx, refused.map(({ id }) => id))
  }))`;
}

/** Reads denied deposits that are due to be asked for again, longest due first. */
export async function selectDenied(
  db: Db,
  place: NetworkKey,
  limit: number,
): Promise<PendingRow[]> {
  return await db<PendingRow[]>`
    select ${columnsOf(db)} from deposits
    where chain = ${place.chain} and network = ${place.network} and status = 'ORPHANED'
      and retry_at <= now() and held is null
    order by retry_at limit ${limit}`;
}

/** When asking for a denied deposit ends, and the error that it gets then. */
export interface DeniedEnd {
  /** After so many tries. */
  after: number;
  error: unknown;
}

/**
 * Postpones a denied deposit: twice as long each time, a day at most. A try without a clear answer of
 * the nodes is not counted.
 *
 * @param how.first the number of tries at which it was given up
 */
export async function putOffDenied(
  tx: Tx,
  id: string,
  { first, unclear, end }: { first: number; unclear: boolean; end: DeniedEnd },
): Promise<void> {
  await tx`
    update deposits set tries = tries + ${unclear ? 0 : 1}, updated_at = now(),
      retry_at = case when tries < ${end.after} or ${unclear} then now()
        + least(interval '1 day', interval '1 hour' * 2 ^ least(greatest(tries - ${first}, 0), 5)) end,
      error = case when tries < ${end.after} or ${unclear} then error
        else ${tx.json(end.error as never)} end
    where id = ${id} and case status when 'ORPHANED' then retry_at end is not null`;
}

/** Deletes deposits of the mempool whose block shows them differently. */
export async function deleteUnlike(
  tx: Tx,
  place: NetworkKey,
  seen:
    readonly (Pick<SeenDeposit, "hash" | "index" | "address" | "asset" | "contract" | "amount">)[],
): Promise<void> {
  await tx`
    delete from deposits d using jsonb_to_recordset(${tx.json(seen as never)})
      g(hash text, index integer, address text, asset text, contract text, amount numeric)
    where d.hash = g.hash and d.index = g.index and (d.index <> -2 or d.address = g.address)
      and d.ctid = any (array(
        select f.ctid from unnest(${[...new Set(seen.map(({ hash }) => hash))]}::text[]) k,
          lateral (select ctid, chain, network, status, block from deposits where hash = k offset 0) f
        where f.chain = ${place.chain} and f.network = ${place.network}
          and f.status <> 'CONFIRMED' and f.block is null))
      and (d.address, d.asset, d.amount, coalesce(d.contract, ''))
        is distinct from (g.address, g.asset, g.amount, coalesce(g.contract, ''))`;
}

/** Counts the deposits that nodes have not proven. */
export async function countUnconfirmed(db: Db, place: NetworkKey, code: string): Promise<number> {
  const [row] = await db<{ count: number }[]>`
    select count(*)::integer as count from deposits
    where chain = ${place.chain} and network = ${place.network} and status = 'PENDING'
      and error->>'code' = ${code}`;
  return row.count;
}

/** Reported transfers of the chain's own coin to an own address, in whole units. */
export interface ReportedRow {
  id: string;
  /** In the block of the deposit. */
  in_block: string;
  /** Of these, what calls brought and what is credited, without the deposit itself. */
  called: string;
  /** Up to that block; null for deposits that do not come out of calls. */
  ever: string | null;
}

/** Adds up all deposits that changed the same balances as some deposits of coins. */
export async function sumReported(
  db: Db,
  place: NetworkKey,
  ids: readonly string[],
): Promise<ReportedRow[]> {
  return await db<ReportedRow[]>`
    select d.id,
      (select sum(o.amount) from (select * from deposits o
          where o.address = d.address and o.block = d.block offset 0) o
        where o.chain = d.chain and o.network = d.network and o.contract is null
          and o.status <> 'ORPHANED') as in_block,
      ${calledOf(db)} as called,
      case when d.index = -2 then (select sum(o.amount) from deposits o
        where o.account = d.account and o.address = d.address and o.contract is null
        and o.status <> 'ORPHANED') end as ever
    from unnest(${`{${ids.join(",")}}`}::text::uuid[]) u(id),
      lateral (select * from deposits d where d.id = u.id offset 0) d
    where d.contract is null and d.chain = ${place.chain} and d.network = ${place.network}
      and exists (select 1 from addresses a where a.chain = d.chain and a.network = d.network
        and a.address = d.address offset 0)`;
}

/** The amount of other credited deposits of calls in the block of a deposit `d`. */
function calledOf(db: Db): Fragment {
  return db`(select coalesce(sum(o.amount), 0) from (select * from deposits o
      where o.address = d.address and o.block = d.block offset 0) o
    where o.chain = d.chain and o.network = d.network and o.contract is null
      and o.status = 'CONFIRMED' and o.index = -2 and o.id <> d.id)`;
}

/** Adds up what other deposits of calls in the same block were credited, in whole units. */
export async function selectCalled(
  db: Db,
  ids: readonly string[],
): Promise<Pick<ReportedRow, "id" | "called">[]> {
  return await db<Pick<ReportedRow, "id" | "called">[]>`
    select d.id, ${calledOf(db)} as called
    from unnest(${`{${ids.join(",")}}`}::text::uuid[]) u(id),
      lateral (select * from deposits d where d.id = u.id offset 0) d`;
}

/** An address, an asset and a range of blocks. */
export interface TransferRange {
  address: string;
  contract: string | null;
  from: number;
  to: number;
}

/** Adds up the deposits of addresses in ranges of blocks, in whole units; the sums in the order of the ranges. */
export async function sumArrived(
  db: Db,
  place: NetworkKey,
  ranges: readonly TransferRange[],
): Promise<string[]> {
  const rows = await db<{ sum: string }[]>`
    select (select coalesce(sum(coalesce(d.credited, d.amount)), 0)
      from (select * from deposits where address = g.address and chain = ${place.chain}
          and network = ${place.network} and block between g."from" and g."to" offset 0) d
      where d.contract is not distinct from g.contract and d.status <> 'ORPHANED') as sum
    from rows from (jsonb_to_recordset(${db.json(ranges as never)})
      as (address text, contract text, "from" bigint, "to" bigint)) with ordinality
      g(address, contract, "from", "to", at)
    order by g.at`;
  return rows.map((row) => row.sum);
}
