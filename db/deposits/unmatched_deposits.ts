/**
 * Statements on unmatched deposits: value in an asset that its address does not accept.
 * @module
 */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";

/** An unmatched deposit as stored. */
export interface UnmatchedDepositRow extends NetworkKey {
  id: string;
  hash: string;
  index: number;
  /** The account of its address, and that account's asset. */
  account: string;
  wanted: string;
  address: string;
  /** The asset of its contract; null for an unknown token. */
  asset: string | null;
  contract: string | null;
  /** Base units, as text. */
  amount_base: string;
  sender: string | null;
  block: number;
  created_at: number;
}

/** An unmatched deposit as a scan gives it. */
export type SeenUnmatchedDeposit = Omit<
  UnmatchedDepositRow,
  "wanted" | "created_at" | "chain" | "network"
>;

/** Adds unmatched deposits; known ones get the block and the asset that were read last. */
export async function upsertUnmatchedDeposits(
  tx: Tx,
  place: NetworkKey,
  seen: readonly SeenUnmatchedDeposit[],
  at: number,
): Promise<void> {
  await tx`
    insert into unmatched_deposits (id, chain, network, hash, index, account, address, asset,
      contract, amount_base, sender, block, created_at)
    select g.id, ${place.chain}, ${place.network}, g.hash, g.index, g.account, g.address, g.asset,
      g.contract, g.amount_base, g.sender, g.block, ${at}
    from jsonb_to_recordset(${tx.json(seen as never)}) g(id uuid, hash text, index integer,
      account uuid, address text, asset text, contract text, amount_base numeric, sender text,
      block bigint)
    on conflict (chain, network, hash, index, (case when index = -2 then address else '' end))
      do update
      set block = excluded.block, asset = excluded.asset`;
}

/** Deletes unmatched deposits that were read in blocks above a height. */
export async function deleteUnmatchedAbove(
  tx: Tx,
  place: NetworkKey,
  height: number,
): Promise<void> {
  await tx`
    delete from unmatched_deposits
    where chain = ${place.chain} and network = ${place.network} and block > ${height}`;
}

/** Deletes unmatched deposits that have become deposits. */
export async function deleteMatched(
  tx: Tx,
  place: NetworkKey,
  found: readonly { hash: string; index: number; address: string }[],
): Promise<void> {
  await tx`
    delete from unmatched_deposits s using jsonb_to_recordset(${tx.json(found as never)})
      g(hash text, index integer, address text)
    where s.hash = g.hash and s.index = g.index and s.address = g.address and s.ctid = any (array(
      select f.ctid from unnest(${[...new Set(found.map(({ hash }) => hash))]}::text[]) k,
        lateral (select ctid, chain, network from unmatched_deposits where hash = k offset 0) f
      where f.chain = ${place.chain} and f.network = ${place.network}))`;
}

/** Deletes unmatched deposits at a ramp's address that are part of a registered token's supply. */
export async function deleteUnmatchedInSupply(
  tx: Tx,
  place: NetworkKey,
  of: { ramp: string; contract: string; height: number },
): Promise<void> {
  await tx`
    delete from unmatched_deposits s using addresses d
    where d.account = ${of.ramp} and s.chain = ${place.chain} and s.network = ${place.network}
      and s.address = d.address and s.contract = ${of.contract} and s.block <= ${of.height}`;
}

/** Reads unmatched deposits past an id, oldest first. */
export async function selectUnmatchedDeposits(
  db: Db,
  of: { after: string | null; limit: number },
): Promise<UnmatchedDepositRow[]> {
  return await db<UnmatchedDepositRow[]>`
    select s.id, s.chain, s.network, s.hash, s.index, s.account, a.asset as wanted, s.address,
      s.asset, s.contract, s.amount_base::text as amount_base, s.sender, s.block::float8 as block, s.created_at
    from unmatched_deposits s,
      lateral (select c.asset from accounts c where c.id = s.account offset 0) a
    where s.id > coalesce(${of.after}::uuid, '00000000-0000-0000-0000-000000000000')
    order by s.id limit ${of.limit}`;
}
