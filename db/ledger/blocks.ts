/**
 * Statements on blocks. A trigger updates the blocked sum of the account and its history with each
 * of them.
 * @module
 */
import type { LedgerTx } from "../transaction.ts";
import type { Db } from "../database.ts";

/** A block as stored. Amounts are decimals in whole units of the account's asset. */
export interface BlockRow {
  id: string;
  account: string;
  amount: string;
  captured: string;
  reason: string | null;
  status: "OPEN" | "CAPTURED" | "RELEASED" | "EXPIRED";
  expires_at: number | null;
  /** The capture. */
  transaction: string | null;
  /** The entity that the service made it for, such as a withdrawal; null for a user's own block. */
  reference_id: string | null;
  data: Record<string, unknown>;
  owner: string | null;
  closed_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "account",
  "amount",
  "captured",
  "reason",
  "status",
  "expires_at",
  "transaction",
  "reference_id",
  "data",
  "owner",
  "closed_at",
  "created_at",
] as const;

/** A new block. */
export type NewBlockRow = Omit<
  BlockRow,
  "captured" | "status" | "transaction" | "closed_at" | "created_at"
>;

/** Opens a block. */
export async function insertBlock(tx: LedgerTx, block: NewBlockRow): Promise<BlockRow> {
  const [row] = await tx<BlockRow[]>`
    insert into blocks (id, account, amount, reason, expires_at, reference_id, data, owner)
    values (${block.id}, ${block.account}, ${block.amount}, ${block.reason}, ${block.expires_at},
      ${block.reference_id}, ${tx.json(block.data as never)}, ${block.owner})
    returning ${tx(COLUMNS)}`;
  return row;
}

/** Closes a block that is open; null if it is not. */
export async function closeBlock(tx: LedgerTx, id: string): Promise<BlockRow | null> {
  const [row] = await tx<BlockRow[]>`
    update blocks set status = 'RELEASED'
    where id = ${id} and status = 'OPEN' returning ${tx(COLUMNS)}`;
  return row ?? null;
}

/** Closes those of some blocks that are open; gives their ids. */
export async function closeBlocks(tx: LedgerTx, ids: readonly string[]): Promise<string[]> {
  const rows = await tx<{ id: string }[]>`
    update blocks set status = 'RELEASED'
    where id = any (${ids as string[]}::uuid[]) and status = 'OPEN' returning id`;
  return rows.map(({ id }) => id);
}

/**
 * Closes an open block by its capture; the rest becomes available again. Draws the id of the
 * transaction, which is posted next. Null if the block is closed or expired.
 */
export async function captureBlock(
  tx: LedgerTx,
  id: string,
  captured: string,
): Promise<BlockRow & { transaction: string } | null> {
  const [row] = await tx<(BlockRow & { transaction: string })[]>`
    update blocks set status = 'CAPTURED', captured = ${captured}, transaction =
      ledger_id(ledger_head(ledger_newest()), 1, right(gen_random_uuid()::text, 12))
    where id = ${id} and status = 'OPEN' returning ${tx(COLUMNS)}`;
  return row ?? null;
}

/** Reads one block of an account. */
export async function selectBlock(db: Db, account: string, id: string): Promise<BlockRow | null> {
  const [row] = await db<BlockRow[]>`
    select ${db(COLUMNS)} from blocks where id = ${id} and account = ${account}`;
  return row ?? null;
}

/** Reads blocks of an account, oldest first, with how many there are. */
export async function selectBlocks(
  db: Db,
  account: string,
  part: { status: string | null; limit: number; offset: number },
): Promise<{ rows: BlockRow[]; total: number }> {
  const which =
    db`account = ${account} and (${part.status}::text is null or status = ${part.status})`;
  const rows = await db<BlockRow[]>`
    select ${db(COLUMNS)} from blocks where ${which}
    order by id limit ${part.limit} offset ${part.offset}`;
  const [{ count }] = await db<{ count: string }[]>`select count(*) from blocks where ${which}`;
  return { rows, total: parseInt(count, 10) };
}

/** Whether a time, in milliseconds since the epoch, has passed by the ledger's clock. */
export async function isOver(db: Db, time: number): Promise<boolean> {
  const [row] = await db<{ over: boolean }[]>`select ${time}::bigint <= ledger_ms() as over`;
  return row.over;
}

/** Closes expired blocks, at most `limit`; returns how many. */
export async function expireBlocks(tx: LedgerTx, limit: number): Promise<number> {
  const closed = await tx`
    update blocks set status = 'EXPIRED'
    where status = 'OPEN' and id = any (array(
      select id from blocks where status = 'OPEN' and expires_at <= (select ledger_now())
      order by expires_at limit ${limit}))`;
  return closed.count;
}
