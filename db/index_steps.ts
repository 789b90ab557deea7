/**
 * Index steps: migrations that make an index on a table that has rows, while others read and write it. PostgreSQL makes
 * such an index outside of any transaction, and waits for every transaction that began before.
 * @module
 */
import type { Db, Sql } from "./pool_types.ts";

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
const POLL_MS = 250;

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

/**
 * Makes the index of a step where it is missing. One that a stopped build has left is dropped and made anew; one that
 * another session makes now is waited for. Leaves a valid index, or none.
 *
 * @param sql one connection, in no transaction, without limits of time
 */
export async function makeIndex(sql: Sql, schema: string, step: IndexStep): Promise<void> {
  // A killed process leaves its session behind, which goes on. Two builds on one table would wait for each other.
  while (await isBuilding(sql, schema, step)) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  const valid = await isValid(sql, schema, step);
  if (valid) return;
  const drop = `drop index concurrently if exists "${schema}".${step.name}`;
  if (valid === false) await sql.unsafe(drop).simple();
  const { name, table, rest, unique } = step;
  try {
    await sql.unsafe(
      `create ${unique ? "unique " : ""}index concurrently ${name} on "${schema}".${table}${rest}`,
    ).simple();
  } catch (error) {
    // An invalid index costs writes, and one that is unique refuses some.
    const left = await isValid(sql, schema, step).catch(() => null);
    if (left === false) await sql.unsafe(drop).simple().catch(() => {});
    throw error;
  }
}

/** Refuses a step whose index is not there, or not valid. */
export async function assertIndex(db: Db, schema: string, step: IndexStep): Promise<void> {
  if (await isValid(db, schema, step)) return;
  throw new Error(`index ${step.name} of table ${step.table} is not valid`);
}

/** Whether the index is valid; null where the table has none of the name. */
async function isValid(db: Db, schema: string, step: IndexStep): Promise<boolean | null> {
  const [row] = await db<{ valid: boolean }[]>`
    select i.indisvalid as valid from pg_catalog.pg_index i
    join pg_catalog.pg_class c on c.oid = i.indexrelid
    join pg_catalog.pg_class t on t.oid = i.indrelid
    join pg_catalog.pg_namespace n on n.oid = t.relnamespace
    where n.nspname = ${schema} and t.relname = ${step.table} and c.relname = ${step.name}`;
  return row?.valid ?? null;
}

/** Whether a session makes an index on the table now. */
async function isBuilding(db: Db, schema: string, { table }: IndexStep): Promise<boolean> {
  const [{ builds }] = await db<{ builds: boolean }[]>`
    select exists (select from pg_catalog.pg_stat_progress_create_index p
      join pg_catalog.pg_class t on t.oid = p.relid
      join pg_catalog.pg_namespace n on n.oid = t.relnamespace
      where p.datname = current_database() and n.nspname = ${schema} and t.relname = ${table}) as builds`;
  return builds;
}
