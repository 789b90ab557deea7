/**
 * Archived parts of transactions and entries: the oldest part leaves the ledger, and its last balances and its record stay
 * (migrations/realm/0023_archive.sql).
 * @module
 */
import type { Db, Tx } from "../database.ts";

/** A part that has ended, or was archived. */
export interface PartRow {
  /** The first id that is not in it. */
  bound: string;
  /** The end of the names of its tables. */
  suffix: string;
  /** When it ended, in milliseconds. */
  until: number;
}

/** The record of a part that is archived. Hashes are hexadecimal. */
export interface ArchivedRow extends PartRow {
  transactions: string;
  entries: string;
  last_seq: string;
  last_hash: string;
  accounts: string;
  checkpoints: string;
  manifest: string;
  /** Whether its tables are still there, beside the ledger. */
  attachable: boolean;
}

/** What was found in a part: its rows, its last link, and why it may not leave. */
export interface PartFigures {
  transactions: string;
  entries: string;
  last_seq: string;
  last_hash: string;
  fault: string | null;
}

/** Whether a transaction left the ledger with its part. */
export async function isArchived(db: Db, id: string): Promise<boolean> {
  const [{ archived }] = await db<{ archived: boolean }[]>`
    select is_archived(${id}::uuid) as archived`;
  return archived;
}

/** Reads the oldest part that has ended; null where there is none. */
export async function selectOldestPart(db: Db): Promise<PartRow | null> {
  const [row] = await db<(Omit<PartRow, "until"> & { until: string })[]>`
    select bound, part_suffix(bound) as suffix, id_ms(bound)::text as until
    from oldest_bound() o(bound) where bound is not null`;
  return row === undefined ? null : { ...row, until: Number(row.until) };
}

/** Reads the records of archived parts, oldest first. */
export async function selectArchived(db: Db): Promise<ArchivedRow[]> {
  const rows = await db<(Omit<ArchivedRow, "until"> & { until: string })[]>`
    select bound, part_suffix(bound) as suffix, id_ms(bound)::text as until,
      transactions::text as transactions, entries::text as entries, last_seq::text as last_seq,
      encode(last_hash, 'hex') as last_hash, accounts::text as accounts,
      encode(checkpoints, 'hex') as checkpoints, encode(manifest, 'hex') as manifest,
      to_regclass('detached_transactions_' || part_suffix(bound)) is not null as attachable
    from archived_parts order by bound`;
  return rows.map((row) => ({ ...row, until: Number(row.until) }));
}

/** Tells why a part may not be archived; null where it may. */
export async function selectRefusal(db: Db, bound: string): Promise<string | null> {
  const [{ why }] = await db<{ why: string | null }[]>`
    select archive_refusal(${bound}::uuid) as why`;
  return why;
}

/** Reads a part that is attached, and proves it; reads all its rows. */
export async function readPart(db: Db, { bound, suffix }: PartRow): Promise<PartFigures> {
  const [row] = await db<PartFigures[]>`
    select transactions::text as transactions, entries::text as entries, last_seq::text as last_seq,
      encode(last_hash, 'hex') as last_hash, fault
    from read_part(${`transactions_${suffix}`}::regclass, ${`entries_${suffix}`}::regclass, ${bound}::uuid)`;
  return row;
}

/** Takes the oldest part out of the ledger. @param manifest SHA-256, hexadecimal */
export async function archivePart(tx: Tx, bound: string, manifest: string): Promise<void> {
  await tx`select archive_part(${bound}::uuid, decode(${manifest}, 'hex'))`;
}

/** Brings the part that was archived last back. */
export async function attachPart(tx: Tx, bound: string): Promise<void> {
  await tx`select attach_part(${bound}::uuid)`;
}

/** Drops the tables of an archived part. */
export async function dropPart(tx: Tx, bound: string): Promise<void> {
  await tx`select drop_part(${bound}::uuid)`;
}

/** Names the columns of a table that has parts, in their order. */
export async function selectColumns(db: Db, table: string): Promise<string[]> {
  const rows = await db<{ name: string }[]>`
    select attname::text as name from pg_attribute where attrelid = ${table}::regclass
      and attnum > 0 and not attisdropped order by attnum`;
  return rows.map(({ name }) => name);
}
