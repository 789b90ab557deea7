/** The tables of a realm's schema, as the copy of a realm to another database needs them. @module */
import type { Db, Tx } from "../database.ts";

/** A table to copy. */
export interface TableShape {
  name: string;
  /** Columns that are stored, without those that the server computes. */
  columns: string[];
  /** Columns of the primary key; empty where there is none, and the table is copied whole each time. */
  key: string[];
  /** Bytes of its rows, roughly. */
  bytes: number;
}

/** Quotes a name. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes the name of an object in a schema. */
export function within(schema: string, name: string): string {
  return `${quoted(schema)}.${quoted(name)}`;
}

/** Tables and functions with this prefix belong to the move, and do not move. */
export const OWN_PREFIX = "move_";

/** Reads the tables of a schema that have columns, without those of the move itself. */
export async function selectTables(db: Db, schema: string): Promise<TableShape[]> {
  const rows = await db<{ name: string; columns: string; key: string | null; bytes: string }[]>`
    select c.relname as name, pg_relation_size(c.oid)::text as bytes,
      (select string_agg(a.attname, ',' order by a.attnum) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
      (select string_agg(a.attname, ',' order by a.attnum) from pg_index i
        join pg_attribute a on a.attrelid = c.oid and a.attnum = any (i.indkey)
        where i.indrelid = c.oid and i.indisprimary) as key
    from pg_class c where c.relnamespace = to_regnamespace(${quoted(schema)}) and c.relkind = 'r'
      and c.relname not like 'move\\_%' and exists (select from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
    order by c.relname`;
  return rows.map(({ name, columns, key, bytes }) => ({
    ...{ name, columns: columns.split(","), key: key === null ? [] : key.split(",") },
    bytes: Number(bytes),
  }));
}

/** Sums up the contents of tables: the same rows give the same text, in whatever order they are stored. */
export async function fingerprint(
  tx: Tx,
  schema: string,
  tables: readonly TableShape[],
): Promise<string[]> {
  if (tables.length === 0) return [];
  const each = tables.map(({ name, columns }) =>
    `select '${name} ' || count(*) || ' ' || coalesce(sum(hashtextextended(row(${
      columns.map((column) => `t.${quoted(column)}`).join()
    })::text, 0)::numeric), 0) as line from ${within(schema, name)} t`
  );
  const rows = await tx.unsafe<{ line: string }[]>(`${each.join(" union all ")} order by 1`);
  return rows.map(({ line }) => line);
}

/** Takes away the time limits of a transaction that copies. */
export async function allowCopying(tx: Tx): Promise<void> {
  await tx.unsafe(
    "set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0",
  );
}

/** Counts the migrations that a schema has. */
export async function countMigrations(db: Db, schema: string): Promise<number> {
  const [{ count }] = await db.unsafe<{ count: number }[]>(
    `select count(*)::integer as count from ${within(schema, "migrations")}`,
  );
  return count;
}

/** Bytes of a schema on the disk, with indexes. */
export async function selectRealmSize(db: Db, schema: string): Promise<{ bytes: number }> {
  const [{ bytes }] = await db<{ bytes: string }[]>`
    select coalesce(sum(pg_total_relation_size(c.oid)), 0)::text as bytes from pg_class c
    where c.relnamespace = to_regnamespace(${quoted(schema)}) and c.relkind in ('r', 'm')`;
  return { bytes: Number(bytes) };
}

/** Gives the planner the figures of tables that were just filled. */
export async function analyzeTables(
  db: Db,
  schema: string,
  tables: readonly TableShape[],
): Promise<void> {
  for (const { name } of tables) await db.unsafe(`analyze ${within(schema, name)}`);
}
