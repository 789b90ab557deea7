/** The tables of a realm's schema, as the copy of a realm to another database needs them. @module */
import type { Db, Tx } from "../database.ts";
import { VALUES_AS_TEXT } from "../session_settings.ts";

/** A table to copy. */
export interface TableShape {
  name: string;
  /** Columns that travel: none that the server computes, and no number of a transaction of this server (xid8). */
  columns: string[];
  /** Columns of the primary key; empty where there is none, and the table is copied whole each time. */
  key: string[];
  /** Bytes of its rows, roughly. */
  bytes: number;
  /** Whether values of it are kept outside of its pages: its rows may be large. */
  isWide: boolean;
  /** Whether it has parts: the place of a row (ctid) is then one in its part. */
  parted: boolean;
}

/** Quotes a name. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Quotes the name of an object in a schema. */
export function within(schema: string, name: string): string {
  return `${quoted(schema)}.${quoted(name)}`;
}

interface SelectedTable {
  name: string;
  columns: string;
  key: string | null;
  bytes: string;
  wide: boolean;
  parted: boolean;
}

/** Reads the tables of a schema that have columns, without those of the move itself and of archived parts. */
export async function selectTables(db: Db, schema: string): Promise<TableShape[]> {
  const rows = await db<SelectedTable[]>`
    select c.relname as name, c.relkind = 'p' as parted,
      coalesce((select sum(pg_relation_size(t.relid)) from pg_partition_tree(c.oid) t),
        pg_relation_size(c.oid))::text as bytes,
      coalesce((select sum(pg_relation_size(nullif(o.reltoastrelid, 0))) from pg_class o
        where o.oid = c.oid or o.oid in (select t.relid from pg_partition_tree(c.oid) t)), 0) > 0 as wide,
      (select string_agg(a.attname, ',' order by a.attnum) from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
          and a.atttypid <> 'xid8'::regtype) as columns,
      (select string_agg(a.attname, ',' order by a.attnum) from pg_index i
        join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
        where i.indexrelid = (select k.indexrelid from pg_index k where k.indisprimary and k.indrelid in
          (select c.oid union all select t.relid from pg_partition_tree(c.oid) t)
          order by k.indrelid <> c.oid, k.indrelid limit 1)) as key
    from pg_class c where c.relnamespace = to_regnamespace(${quoted(schema)})
      and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname not like 'move\\_%' and c.relname not like 'detached\\_%' and exists (select from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped)
    order by c.relname`;
  return rows.map(({ name, columns, key, bytes, wide, parted }) => ({
    ...{ name, columns: columns.split(","), key: key === null ? [] : key.split(",") },
    ...{ bytes: Number(bytes), isWide: wide, parted },
  }));
}

/** The sum over a row, of the columns that travel. */
export function sumOf({ columns }: TableShape, row: string): string {
  const values = columns.map((column) => `${row}.${quoted(column)}`).join();
  return `hashtextextended(row(${values})::text, 0)`;
}

/** Whether a row has the key of another. */
export function sameKey({ key }: TableShape, row: string, other: string): string {
  return key.map((one) => `${row}.${quoted(one)} = ${other}.${quoted(one)}`).join(" and ");
}

/** Sums up the contents of tables: the same rows give the same text, in whatever order they are stored. */
export async function fingerprint(
  tx: Tx,
  schema: string,
  tables: readonly TableShape[],
): Promise<string[]> {
  if (tables.length === 0) return [];
  const each = tables.map((table) =>
    `select '${table.name} ' || count(*) || ' ' || coalesce(sum(${
      sumOf(table, "t")
    }::numeric), 0) as line from ${within(schema, table.name)} t`
  );
  const rows = await tx.unsafe<{ line: string }[]>(`${each.join(" union all ")} order by 1`);
  return rows.map(({ line }) => line);
}

/** Counts the rows of a schema that this session has read, by scans and by indexes; it only grows within a transaction. */
export async function countReads(tx: Tx, schema: string): Promise<number> {
  const [{ count }] = await tx<{ count: string }[]>`
    select coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::text as count
    from pg_stat_xact_user_tables where schemaname = ${schema}`;
  return Number(count);
}

/** Takes away the time limits of a transaction that copies, and states how it writes and reads values. */
export async function allowCopying(tx: Tx): Promise<void> {
  await tx.unsafe(
    `set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; ${VALUES_AS_TEXT}`,
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
