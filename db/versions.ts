/** Statements on versions of rows, which show whether a row was changed since it was read. @module */
import type { Db } from "./database.ts";

/** A row of a table. */
export interface VersionedRow {
  table: string;
  /** The column that names the row. */
  key: string;
  /** Columns that change without a change of the row: balances, times of use, secrets. */
  except: readonly string[];
  id: string;
}

/**
 * Reads the version of a row: a digest of its columns; null where there is no row.
 *
 * @param lock locks the row until the transaction ends
 */
export async function selectVersion(
  db: Db,
  { table, key, except, id }: VersionedRow,
  lock = false,
): Promise<string | null> {
  const [row] = await db<{ version: string }[]>`
    select substr(encode(sha256(convert_to((to_jsonb(x) - ${[
    ...except,
  ]}::text[])::text, 'UTF8')), 'hex'), 1, 24)
      as version
    from ${db(table)} x where x.${db(key)} = ${id} ${lock ? db`for update of x` : db``}`;
  return row?.version ?? null;
}
