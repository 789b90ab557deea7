/**
 * The parts of transactions and entries. A cut has steps, each a transaction of its own: a bound in the future is
 * demanded, the rows are proven to be below it, the part is attached with it (migrations/realm/0022_parts.sql).
 * @module
 */
import type { Db, Pool, Tx } from "../database.ts";
import { enterSchema } from "../migrate.ts";
import { building } from "../transaction.ts";

/** The tables that have parts. */
export const PARTED = ["transactions", "entries"] as const;

/** Where the cut of a realm's newest part stands. */
export interface PartsState {
  /** The time by the database's clock, which alone gives ids their time; in milliseconds. */
  at: number;
  /** Milliseconds; null: no cut is under way. */
  bound: number | null;
  /** Whether all rows are proven to be below the bound. */
  validated: boolean;
  /** Rows of the newest part of transactions, roughly. */
  rows: number;
  /** Whether the realm is being copied to another database. */
  moving: boolean;
  /** Whether the planner's figures of all parts together are old. */
  stale: boolean;
}

/**
 * A proof waits so long for its lock, and nobody waits behind it: autovacuum leaves a table to others after a second.
 * Alterations have limits of their own (`lock_parts`).
 */
const LOCK_WAIT_MAX_MS = 10_000;

/** Reads where the cut of the newest part stands. */
export async function selectPartsState(db: Db): Promise<PartsState> {
  const [row] = await db<
    (Omit<PartsState, "at" | "bound" | "rows"> & {
      at: string;
      bound: string | null;
      rows: string;
    })[]
  >`
    select database_ms()::text as at, id_ms(bound)::text as bound, validated, rows::text as rows, moving, coalesce(stale, false) as stale
    from parts_state()`;
  const bound = row.bound === null ? null : Number(row.bound);
  return { ...row, at: Number(row.at), bound, rows: Number(row.rows) };
}

/** Reads the upper bounds of all parts but the newest, in order; also with a login that calls no functions. */
export async function selectPartBounds(db: Db): Promise<string[]> {
  const rows = await db<{ bound: string }[]>`
    select bound from (select substring(pg_get_expr(c.relpartbound, c.oid) from $r$TO [(]'(.*)'[)]$r$) as bound
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = to_regclass('transactions')) q
    where bound is not null order by bound`;
  return rows.map(({ bound }) => bound);
}

/** Cuts a ledger without rows as another one is cut. */
export async function shapeParts(tx: Tx, bounds: readonly string[]): Promise<void> {
  if (bounds.length > 0) await tx`select shape_parts(${`{${bounds.join(",")}}`}::text::uuid[])`;
}

/** Runs a step of a cut, which may read all rows of a part, in a transaction of its own. */
export async function inStep(pool: Pool, work: (tx: Tx) => Promise<void>): Promise<void> {
  await building(pool, (sql) =>
    sql.begin(async (tx) => {
      if (pool.settings !== "") await tx.unsafe(pool.settings);
      await work(tx);
    }));
}

/** Demands of all later transactions to be before a bound, the first id of a millisecond. */
export async function boundParts(tx: Tx, bound: string): Promise<void> {
  await tx`select bound_parts(${bound}::uuid)`;
}

/** Takes the demand back. */
export async function unboundParts(tx: Tx): Promise<void> {
  await tx`select unbound_parts()`;
}

/**
 * Takes the demand of a cut that is under way back from a realm that is copied from now on. No step of a cut is taken
 * meanwhile; a copy that lasts beyond its time, from which on the demand refuses postings, would hold the locks that taking
 * it back needs.
 */
export async function giveCutUp(tx: Tx, schema: string): Promise<void> {
  await enterSchema(tx, schema);
  if ((await selectPartsState(tx)).bound !== null) await unboundParts(tx);
}

/** Proves that the rows of a table meet the demand; reads them all, beside readers and writers. */
export async function validatePart(tx: Tx, table: typeof PARTED[number]): Promise<void> {
  await readAtLength(tx);
  await tx`select validate_part(${table})`;
}

/** Ends the newest part at its bound, and begins another one. */
export async function attachParts(tx: Tx): Promise<void> {
  await tx`select attach_parts()`;
}

/** Takes figures of all parts together. */
export async function analyzeParts(tx: Tx): Promise<void> {
  await readAtLength(tx);
  await tx`select analyze_parts()`;
}

/** Takes away the time limit of statements that read whole parts. */
export async function readAtLength(tx: Tx): Promise<void> {
  await tx.unsafe(`set local lock_timeout = ${LOCK_WAIT_MAX_MS}; set local statement_timeout = 0`);
}
