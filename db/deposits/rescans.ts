/** Statements on rescans: what an operator asked to be searched again, and what was found. @module */
import type { NetworkKey } from "../chains/cursors.ts";
import type { Db, Tx } from "../database.ts";

/** A transfer that a rescan found: the deposit or unmatched deposit that it is, or itself. */
export interface FoundTransfer {
  hash: string;
  index: number;
  address: string;
  deposit: string | null;
  unmatched: string | null;
}

/** What a node knows of a transaction. */
export type NodeState = "unknown" | "pending" | "failed" | "mined";

/** A rescan as stored, with the state of its job. */
export interface RescanRow extends NetworkKey {
  id: string;
  hash: string | null;
  from_height: number | null;
  to_height: number | null;
  found: FoundTransfer[];
  found_count: number;
  node: NodeState | null;
  node_height: number | null;
  error: unknown;
  owner: string;
  finished_at: number | null;
  created_at: number;
  /** Null once the job is deleted. */
  job_state: "ready" | "running" | "done" | "dead" | null;
}

/** A new rescan. */
export type NewRescanRow =
  & NetworkKey
  & Pick<RescanRow, "id" | "hash" | "from_height" | "to_height" | "owner" | "created_at">;

/** Adds a rescan. */
export async function insertRescan(tx: Tx, row: NewRescanRow): Promise<void> {
  await tx`insert into rescans ${tx({ ...row })}`;
}

/** Counts the rescans of a network that run, or wait for their first turn. */
export async function countOpenRescans(db: Db, place: NetworkKey): Promise<number> {
  const [row] = await db<{ n: number }[]>`
    select count(*)::integer as n from rescans r
    where r.chain = ${place.chain} and r.network = ${place.network} and r.finished_at is null
      and (select j.state = 'running' or (j.state = 'ready' and j.attempts = 0)
        from jobs j where j.id = r.id)`;
  return row.n;
}

/** Reads a rescan with the state of its job. */
export async function selectRescan(db: Db, id: string): Promise<RescanRow | null> {
  const [row] = await db<RescanRow[]>`
    select ${columns(db)}, (select j.state from jobs j where j.id = r.id) as job_state
    from rescans r where r.id = ${id}`;
  return row ?? null;
}

/** Reads the last rescan of a transaction, in any of the forms of its hash; null: on any chain. */
export async function selectLastRescan(
  db: Db,
  { hashes, chain, testnet }: {
    hashes: readonly string[];
    chain: string | null;
    testnet: boolean | null;
  },
): Promise<RescanRow | null> {
  const [row] = await db<RescanRow[]>`
    select ${columns(db)}, (select j.state from jobs j where j.id = r.id) as job_state
    from unnest(${hashes as string[]}::text[]) g(hash),
      lateral (select * from rescans r where r.hash = g.hash
        and ${chain === null ? db`true` : db`r.chain = ${chain}`}
        and ${testnet === null ? db`true` : db`(r.network <> 'main') = ${testnet}`}
        order by r.id desc limit 1) r
    order by r.id desc limit 1`;
  return row ?? null;
}

/** Tells which deposits and unmatched deposits some transfers are. */
export async function selectFound(
  db: Db,
  place: NetworkKey,
  transfers: readonly Pick<FoundTransfer, "hash" | "index" | "address">[],
): Promise<FoundTransfer[]> {
  const { chain, network } = place;
  return await db<FoundTransfer[]>`
    select g.hash, g.index, g.address, d.id as deposit, u.id as unmatched
    from jsonb_to_recordset(${db.json(transfers as never)})
        g(hash text, index integer, address text)
      left join lateral (select x.id, x.chain, x.network from deposits x
        where x.hash = g.hash and x.index = g.index
        and (x.index <> -2 or x.address = g.address) offset 0) d
        on d.chain = ${chain} and d.network = ${network}
      left join lateral (select x.id, x.chain, x.network from unmatched_deposits x
        where x.hash = g.hash and x.index = g.index
        and (x.index <> -2 or x.address = g.address) offset 0) u
        on u.chain = ${chain} and u.network = ${network}`;
}

/** Notes what a rescan found, at its end. */
export async function markRescanned(
  tx: Tx,
  id: string,
  of: { found: readonly FoundTransfer[]; count: number; at: number },
): Promise<void> {
  await tx`
    update rescans set found = ${tx.json(of.found as never)}, found_count = ${of.count},
      error = null, finished_at = ${of.at}, updated_at = ${of.at}
    where id = ${id}`;
}

/** Notes what a node knows of the transaction of a rescan. */
export async function markLocated(
  tx: Tx,
  id: string,
  of: { node: NodeState; height: number | null; at: number },
): Promise<void> {
  await tx`
    update rescans set node = ${of.node}, node_height = ${of.height}, updated_at = ${of.at}
    where id = ${id}`;
}

/** Notes why an attempt at a rescan failed. */
export async function markRescanError(
  tx: Tx,
  id: string,
  of: { error: Record<string, unknown>; at: number },
): Promise<void> {
  await tx`
    update rescans set error = ${tx.json(of.error as never)}, updated_at = ${of.at}
    where id = ${id}`;
}

/** Deletes rescans up to an id, so many at most; gives their number. */
export async function deleteOldRescans(tx: Tx, upTo: string, limit: number): Promise<number> {
  const gone = await tx`
    delete from rescans where id = any(array(
      select id from rescans where id <= ${upTo} order by id limit ${limit}))`;
  return gone.count;
}

function columns(db: Db) {
  return db`r.id, r.chain, r.network, r.hash, r.from_height::float8 as from_height,
    r.to_height::float8 as to_height, r.found, r.found_count, r.node,
    r.node_height::float8 as node_height, r.error, r.owner, r.finished_at, r.created_at`;
}
