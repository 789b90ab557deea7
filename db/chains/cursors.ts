/**
 * Statements on cursors and scanned blocks of the chains, and on proofs of token contracts.
 * @module
 */
import { linkedNetworks } from "./linked_networks.ts";
import type { Db, Tx } from "../database.ts";

/** A chain on a network, as rows name it. */
export interface NetworkKey {
  chain: string;
  network: string;
}

/** The cursor of a network: how far a realm has scanned it. */
export interface CursorRow extends NetworkKey {
  height: number;
  hash: string;
  /** The newest block that the node has shown. */
  head: number;
  /** The newest block that the nodes call final; null where too few tell. */
  finalized: number | null;
  /** Height of the last comparison of balances; below 0 for none. */
  balances_height: number;
  halted: Record<string, unknown> | null;
  error: string | null;
  /** A problem for an operator; scanning continues. */
  warning: string | null;
  scanned_at: number;
}

/** A block that was scanned. */
export interface ChainBlockRow {
  height: number;
  hash: string;
  parent_hash: string;
}

/** Reads how far a place was scanned; null if never. */
export async function selectCursor(db: Db, place: NetworkKey): Promise<CursorRow | null> {
  const [row] = await db<CursorRow[]>`
    select chain, network, height::float8 as height, hash, head::float8 as head,
      finalized::float8 as finalized, balances_height::float8 as balances_height, halted, error, warning, scanned_at
    from chain_cursors where chain = ${place.chain} and network = ${place.network}`;
  return row ?? null;
}

/** Reads all cursors. */
export async function selectCursors(db: Db): Promise<CursorRow[]> {
  return await db<CursorRow[]>`
    select chain, network, height::float8 as height, hash, head::float8 as head,
      finalized::float8 as finalized, balances_height::float8 as balances_height, halted, error, warning, scanned_at
    from chain_cursors order by chain, network`;
}

/** Of some places without a cursor, those that the realm has ramps or watched addresses on: no node was reached yet. */
export async function selectUnreached(
  db: Db,
  places: readonly NetworkKey[],
): Promise<NetworkKey[]> {
  return await db<NetworkKey[]>`
    with recursive ${linkedNetworks(db)}
    select p.chain, p.network
    from jsonb_to_recordset(${JSON.stringify(places)}::text::jsonb) p(chain text, network text)
    where exists (select from ramps r where r.chain = p.chain and r.network = p.network)
      or (p.chain, p.network) in (select chain, network from linked)`;
}

/** Begins a place's cursor, unless it has begun. */
export async function insertCursor(
  tx: Tx,
  cursor: NetworkKey & { height: number; hash: string; at: number },
): Promise<void> {
  await tx`
    insert into chain_cursors (chain, network, height, hash, head, scanned_at, created_at)
    values (${cursor.chain}, ${cursor.network}, ${cursor.height}, ${cursor.hash},
      ${cursor.height}, ${cursor.at}, ${cursor.at})
    on conflict do nothing`;
}

/** Moves a cursor, if it stands where the caller believes; false if another moved it. */
export async function moveCursor(
  tx: Tx,
  place: NetworkKey,
  from: { height: number; hash: string },
  to: { height: number; hash: string },
): Promise<boolean> {
  const rows = await tx`
    update chain_cursors set height = ${to.height}, hash = ${to.hash}
    where chain = ${place.chain} and network = ${place.network}
      and height = ${from.height} and hash = ${from.hash} returning height`;
  return rows.length > 0;
}

/** Records the newest block of a poll, or the error that ended it. */
export async function updateScanState(
  db: Db,
  place: NetworkKey,
  state: { head: number | null; finalized: number | null; error: string | null; at: number },
): Promise<void> {
  await db`
    update chain_cursors set head = coalesce(${state.head}, head), error = ${state.error},
      finalized = case when ${state.error}::text is null then ${state.finalized}::bigint
        else finalized end,
      scanned_at = case when ${state.error}::text is null then ${state.at}::timestamptz
        else scanned_at end
    where chain = ${place.chain} and network = ${place.network}`;
}

/** Records a problem for an operator; scanning continues. */
export async function updateWarning(
  db: Db,
  place: NetworkKey,
  warning: string | null,
): Promise<void> {
  await db`
    update chain_cursors set warning = ${warning}
    where chain = ${place.chain} and network = ${place.network}
      and warning is distinct from ${warning}`;
}

/** Records the height at which balances were last compared. */
export async function updateBalancesHeight(
  db: Db,
  place: NetworkKey,
  height: number,
): Promise<void> {
  await db`
    update chain_cursors set balances_height = ${height}
    where chain = ${place.chain} and network = ${place.network}`;
}

/** Records why scanning halted until an operator acts; null ends the halt. */
export async function updateHalted(
  tx: Tx,
  place: NetworkKey,
  halted: Record<string, unknown> | null,
): Promise<void> {
  await tx`
    update chain_cursors set halted = ${halted === null ? null : tx.json(halted as never)}
    where chain = ${place.chain} and network = ${place.network}`;
}

/** Adds scanned blocks. */
export async function insertChainBlocks(
  tx: Tx,
  place: NetworkKey,
  blocks: readonly ChainBlockRow[],
): Promise<void> {
  await tx`
    insert into chain_blocks (chain, network, height, hash, parent_hash)
    select ${place.chain}, ${place.network}, b.height, b.hash, b.parent_hash
    from jsonb_to_recordset(${
    tx.json(blocks as never)
  }) b(height bigint, hash text, parent_hash text)
    on conflict (chain, network, height) do update
      set hash = excluded.hash, parent_hash = excluded.parent_hash`;
}

/** Reads the window of scanned blocks from the top down. */
export async function selectChainBlocks(
  db: Db,
  place: NetworkKey,
  below: number,
  limit: number,
): Promise<ChainBlockRow[]> {
  return await db<ChainBlockRow[]>`
    select height::float8 as height, hash, parent_hash from chain_blocks
    where chain = ${place.chain} and network = ${place.network} and height <= ${below}
    order by height desc limit ${limit}`;
}

/** Reads the hash of a scanned block; null where none is kept of that height. */
export async function selectScannedBlock(
  db: Db,
  place: NetworkKey,
  height: number,
): Promise<string | null> {
  const [row] = await db<{ hash: string }[]>`
    select hash from chain_blocks where chain = ${place.chain} and network = ${place.network}
      and height = ${height}`;
  return row?.hash ?? null;
}

/** Removes blocks above a height, and those too deep to matter. */
export async function deleteChainBlocks(
  tx: Tx,
  place: NetworkKey,
  keep: { from: number; to: number },
): Promise<void> {
  await tx`
    delete from chain_blocks where chain = ${place.chain} and network = ${place.network}
      and (height < ${keep.from} or height > ${keep.to})`;
}

/** Whether a contract was verified as an asset's. */
export async function selectTokenProof(
  db: Db,
  of: NetworkKey & { contract: string; asset: string },
): Promise<boolean> {
  const rows = await db`
    select 1 from token_proofs where chain = ${of.chain} and network = ${of.network}
      and contract = ${of.contract} and asset = ${of.asset}`;
  return rows.length > 0;
}

/** Whether a contract was ever verified as the contract of any asset here. */
export async function existsTokenProof(
  db: Db,
  of: NetworkKey & { contract: string },
): Promise<boolean> {
  const rows = await db`
    select 1 from token_proofs where chain = ${of.chain} and network = ${of.network}
      and lower(contract) = lower(${of.contract}) limit 1`;
  return rows.length > 0;
}

/** Records that a contract was verified as an asset's. */
export async function insertTokenProof(
  db: Db,
  proof: NetworkKey & { contract: string; asset: string; created_at: number },
): Promise<void> {
  await db`insert into token_proofs ${db(proof)} on conflict do nothing`;
}
