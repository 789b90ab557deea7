/**
 * Index steps: migrations that make an index on a table that has rows, while others read and write it. PostgreSQL makes
 * such an index outside of any transaction, and waits for every transaction that began before.
 * @module
 */
import type { Db } from "./pool_types.ts";

/** The index of a step. */
export interface IndexStep {
  name: string;
  table: string;
  /** The statement after the table's name. */
  rest: string;
  unique: boolean;
}

const FORM =
  /^create (unique )?index concurrently if not exists ([a-z_][a-z0-9_]*) on ([a-z_][a-z0-9_]*)([\s(][^;]*);?\s*$/;

/**
 * Reads the one statement of an index step.
 *
 * @throws {Error} where it has another form
 */
export function readIndexStep(text: string): IndexStep {
  const [, unique, name, table, rest] = FORM.exec(text.replace(/^\s*(--.*\n\s*)*/, "")) ?? [];
  if (name === undefined) {
    throw new Error(
      "an index step is one statement: create [unique] index concurrently if not exists <name> on <table> …",
    );
  }
  return { name, table, rest, unique: unique !== undefined };
}

/** The statement that makes the index in a transaction: for tables of a schema that is being built. */
export function plainStatement({ name, table, rest, unique }: IndexStep): string {
  return `create ${unique ? "unique " : ""}index if not exists ${name} on ${table}${rest}`;
}

/** The statement that makes the index while its table is used: in no transaction. */
export function concurrentStatement(schema: string, step: IndexStep): string {
  const { name, table, rest, unique } = step;
  const kind = unique ? "unique index" : "index";
  return `create ${kind} concurrently ${name} on "${schema}".${table}${rest}`;
}

/** The statement that drops the index while its table is used: in no transaction. */
export function dropStatement(schema: string, { name }: IndexStep): string {
  return `drop index concurrently if exists "${schema}".${name}`;
}

/** Refuses a step whose index is not there, or not valid. */
export async function assertIndex(db: Db, schema: string, step: IndexStep): Promise<void> {
  if (await selectValidity(db, schema, step)) return;
  throw new Error(`index ${step.name} of table ${step.table} is not valid`);
}

/** Whether the index of a step is valid; null where its table has none of the name. */
export async function selectValidity(
  db: Db,
  schema: string,
  step: IndexStep,
): Promise<boolean | null> {
  const [row] = await db<{ valid: boolean }[]>`
    select i.indisvalid as valid from pg_catalog.pg_index i
    join pg_catalog.pg_class c on c.oid = i.indexrelid
    join pg_catalog.pg_class t on t.oid = i.indrelid
    join pg_catalog.pg_namespace n on n.oid = t.relnamespace
    where n.nspname = ${schema} and t.relname = ${step.table} and c.relname = ${step.name}`;
  return row?.valid ?? null;
}
