/** Reads of the catalog: what a schema holds, as far as a backup copies it. @module */
import type { Db, Tx } from "../database.ts";

/** A table with the columns that hold values of their own. */
export interface TableShape {
  name: string;
  columns: string[];
}

/** A table, and the bytes of its rows on the disk, roughly. */
export interface SizedTable extends TableShape {
  bytes: number;
}

/** The state of a sequence. */
export interface SequenceState {
  name: string;
  /** Decimal text. */
  last: string;
  called: boolean;
}

/** A foreign key, with its definition in SQL. */
export interface ForeignKey {
  table: string;
  name: string;
  definition: string;
}

/** Writes a name as an identifier of SQL. */
export function identifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * Lists the tables of a schema with their columns, without those of partitions, generated columns, the tables that a
 * move of the realm keeps there while it is under way, and those of parts that were archived: their rows are in files.
 */
export async function selectTables(
  tx: Tx,
  schema: string,
): Promise<SizedTable[]> {
  const rows = await tx<(TableShape & { bytes: string })[]>`
    select c.relname::text as name, array_agg(a.attname::text order by a.attnum) as columns,
      coalesce((select sum(pg_table_size(t.relid)) from pg_partition_tree(c.oid) t),
        pg_table_size(c.oid))::text as bytes
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = (select oid from pg_namespace where nspname = ${schema})
      and c.relkind in ('r', 'p') and not c.relispartition and c.relname not like 'move\\_%'
      and c.relname not like 'detached\\_%' and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    group by c.oid, c.relname order by c.relname`;
  return rows.map((row) => ({ ...row, bytes: Number(row.bytes) }));
}

/**
 * Keeps the tables of a schema from being dropped, emptied or changed in form until the transaction ends; their rows are
 * read and written on.
 */
export async function holdTables(
  tx: Tx,
  schema: string,
  tables: readonly TableShape[],
): Promise<void> {
  const names = tables.map(({ name }) => `${identifier(schema)}.${identifier(name)}`);
  await tx.unsafe(`lock table ${names.join(", ")} in access share mode`);
}

/**
 * Lists tables of a schema that were emptied, written anew or exchanged since the transaction's moment: their rows are new rows,
 * which it does not see. So are parts that were archived or attached since. The tables must be held.
 */
export async function selectRewritten(
  tx: Tx,
  schema: string,
  without: readonly string[],
): Promise<string[]> {
  // The catalog is read as of the moment, and the function tells the file of the present.
  const rows = await tx<{ name: string }[]>`
    select c.relname::text as name from pg_class c
    where c.relnamespace = (select oid from pg_namespace where nspname = ${schema})
      and c.relkind = 'r' and c.relname not like 'move\\_%'
      and not c.relname = any (${[...without]}::text[])
      and (pg_relation_filenode(c.oid) is distinct from c.relfilenode
        or c.relispartition is distinct from (pg_partition_root(c.oid) is not null))
    order by 1`;
  return rows.map(({ name }) => name);
}

/** Sums up the bytes of the rows of several schemas, roughly. */
export async function sumBytes(tx: Tx, schemas: readonly string[]): Promise<number> {
  const [{ bytes }] = await tx<{ bytes: string }[]>`
    select coalesce(sum(pg_table_size(c.oid)), 0)::text as bytes from pg_class c
    where c.relkind = 'r' and c.relnamespace in
      (select oid from pg_namespace where nspname = any (${[...schemas]}::text[]))`;
  return Number(bytes);
}

/** Reads the states of all sequences of a schema. */
export async function selectSequences(
  tx: Tx,
  schema: string,
): Promise<SequenceState[]> {
  const names = await tx<{ name: string }[]>`
    select relname::text as name from pg_class
    where relnamespace = (select oid from pg_namespace where nspname = ${schema})
      and relkind = 'S' order by relname`;
  const states: SequenceState[] = [];
  for (const { name } of names) {
    states.push({ name, ...await selectSequence(tx, schema, name) });
  }
  return states;
}

async function selectSequence(
  tx: Tx,
  schema: string,
  name: string,
): Promise<Omit<SequenceState, "name">> {
  const [row] = await tx<Omit<SequenceState, "name">[]>`
    select last_value::text as last, is_called as called from ${tx(schema)}.${tx(name)}`;
  return row;
}

/** Lists the foreign keys of a schema; its search path must be set. */
export async function selectForeignKeys(
  tx: Tx,
  schema: string,
): Promise<ForeignKey[]> {
  return await tx<ForeignKey[]>`
    select r.relname::text as table, c.conname::text as name, pg_get_constraintdef(c.oid) as definition
    from pg_constraint c join pg_class r on r.oid = c.conrelid
    where c.connamespace = (select oid from pg_namespace where nspname = ${schema})
      and c.contype = 'f' and c.conparentid = 0
    order by 1, 2`;
}

/** A trigger of a table. */
export interface TriggerName {
  table: string;
  name: string;
}

/** Lists the triggers of the current schema that no setting of a session switches off. */
export async function selectAlwaysEnabled(tx: Tx): Promise<TriggerName[]> {
  return await tx<TriggerName[]>`
    select c.relname::text as table, t.tgname::text as name
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = current_schema()::regnamespace and not t.tgisinternal and t.tgenabled = 'A'
    order by 1, 2`;
}

/** Tells whether a schema exists. */
export async function schemaExists(db: Db, schema: string): Promise<boolean> {
  const [{ there }] = await db<{ there: boolean }[]>`
    select exists (select 1 from pg_namespace where nspname = ${schema}) as there`;
  return there;
}

/** Lists the schemas of realms in a database, whichever installation knows them. */
export async function selectRealmSchemas(tx: Tx): Promise<string[]> {
  const rows = await tx<{ name: string }[]>`
    select nspname::text as name from pg_namespace where nspname ~ '^realm_[0-9a-f]{32}$'
    order by nspname`;
  return rows.map(({ name }) => name);
}

/** Reads the major version of the server. */
export async function selectMajorVersion(tx: Tx): Promise<number> {
  const [{ major }] = await tx<{ major: number }[]>`
    select current_setting('server_version_num')::integer / 10000 as major`;
  return major;
}

/** Reads the checksums of the migrations that the current schema applied, in order. */
export async function selectAppliedChecksums(tx: Tx): Promise<string[]> {
  const rows = await tx<
    { checksum: string }[]
  >`select checksum from migrations order by number`;
  return rows.map(({ checksum }) => checksum);
}
