/**
 * Statements on blocks. A trigger keeps the blocked sum of the account, and its history, with each
 * of them.
 * @module
 */
import type { Db, Tx } from "./database.ts";

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
  /** What the service made it for, such as a withdrawal; null for a user's own block. */
  serves: string | null;
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
  "serves",
  "data",
  "owner",
  "closed_at",
  "created_at",
] as const;

/** What a new block consists of. */
export type NewBlockRow = Omit<BlockRow, "captured" | "status" | "transaction" | "closed_at">;

/** Opens a block. */
export async function insertBlock(tx: Tx, block: NewBlockRow): Promise<BlockRow> {
  const [row] = await tx<BlockRow[]>`
    insert into blocks (id, account, amount, reason, expires_at, serves, data, owner, created_at)
    values (${block.id}, ${block.account}, ${block.amount}, ${block.reason}, ${block.expires_at},
      ${block.serves}, ${tx.json(block.data as never)}, ${block.owner}, ${block.created_at})
    returning ${tx(COLUMNS)}`;
  return row;
}

/** Closes a block that is open; null if it is not. */
export async function closeBlock(
  tx: Tx,
  id: string,
  how: { status: "RELEASED" | "EXPIRED"; at: number },
): Promise<BlockRow | null> {
  const [row] = await tx<BlockRow[]>`
    update blocks set status = ${how.status}, closed_at = ${how.at}
    where id = ${id} and status = 'OPEN' returning ${tx(COLUMNS)}`;
  return row ?? null;
}

/** Closes an open block because value leaves through it; what is not captured is free again. */
export async function captureBlock(
  tx: Tx,
  id: string,
  how: { captured: string; transaction: string; at: number },
): Promise<BlockRow | null> {
  const [row] = await tx<BlockRow[]>`
    update blocks set status = 'CAPTURED', captured = ${how.captured},
      transaction = ${how.transaction}, closed_at = ${how.at}
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

/** Closes open blocks whose time is over, at most `limit`; tells how many. */
export async function expireBlocks(tx: Tx, at: number, limit: number): Promise<number> {
  const rows = await tx`
    update blocks set status = 'EXPIRED', closed_at = ${at}
    where status = 'OPEN' and id = any (array(
      select id from blocks where status = 'OPEN' and expires_at <= ${at}
      order by expires_at limit ${limit}))
    returning id`;
  return rows.length;
}
