/** Statements on strays: what came to an address of ours in an asset that it is not for. @module */
import type { PlaceKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";

/** A stray as stored. */
export interface StrayRow extends PlaceKey {
  id: string;
  hash: string;
  index: number;
  /** The ramp or deposit account whose address it came to, and what that account is of. */
  account: string;
  wanted: string;
  address: string;
  /** Known by its contract; null for a token of strangers. */
  asset: string | null;
  contract: string | null;
  /** Base units, as text. */
  units: string;
  sender: string | null;
  block: number;
  created_at: number;
}

/** What a seen stray consists of. */
export type SeenStray = Omit<StrayRow, "wanted" | "created_at" | "chain" | "network">;

/** Adds strays, or gives known ones the block they were seen in. */
export async function upsertStrays(
  tx: Tx,
  place: PlaceKey,
  seen: readonly SeenStray[],
  at: number,
): Promise<void> {
  await tx`
    insert into strays (id, chain, network, hash, index, account, address, asset, contract, units,
      sender, block, created_at)
    select g.id, ${place.chain}, ${place.network}, g.hash, g.index, g.account, g.address, g.asset,
      g.contract, g.units, g.sender, g.block, ${at}
    from jsonb_to_recordset(${tx.json(seen as never)}) g(id uuid, hash text, index integer,
      account uuid, address text, asset text, contract text, units numeric, sender text,
      block bigint)
    on conflict (chain, network, hash, index, (case when index = -2 then address else '' end))
      do update
      set block = excluded.block, asset = excluded.asset`;
}

/** Takes away strays that blocks above a height had shown. */
export async function deleteStraysAbove(
  tx: Tx,
  place: PlaceKey,
  height: number,
): Promise<void> {
  await tx`
    delete from strays where chain = ${place.chain} and network = ${place.network}
      and block > ${height}`;
}

/** Takes away strays that have become deposits. */
export async function deleteFoundStrays(
  tx: Tx,
  place: PlaceKey,
  found: readonly { hash: string; index: number; address: string }[],
): Promise<void> {
  await tx`
    delete from strays s using jsonb_to_recordset(${tx.json(found as never)})
      g(hash text, index integer, address text)
    where s.chain = ${place.chain} and s.network = ${place.network} and s.hash = g.hash
      and s.index = g.index and s.address = g.address`;
}

/** Takes away strays at a ramp's address that a token's registration has counted in. */
export async function deleteCountedStrays(
  tx: Tx,
  place: PlaceKey,
  of: { ramp: string; contract: string; height: number },
): Promise<void> {
  await tx`
    delete from strays s using addresses d
    where d.account = ${of.ramp} and s.chain = ${place.chain} and s.network = ${place.network}
      and s.address = d.address and s.contract = ${of.contract} and s.block <= ${of.height}`;
}

/** Reads strays past an id, oldest first. */
export async function selectStrays(
  db: Db,
  of: { after: string | null; limit: number },
): Promise<StrayRow[]> {
  return await db<StrayRow[]>`
    select s.id, s.chain, s.network, s.hash, s.index, s.account, a.asset as wanted, s.address,
      s.asset, s.contract, s.units::text as units, s.sender, s.block::float8 as block, s.created_at
    from strays s join accounts a on a.id = s.account
    where ${of.after}::uuid is null or s.id > ${of.after}::uuid
    order by s.id limit ${of.limit}`;
}
