/** Generations of stored answers: begun at once, and looked into. @module */
import { type Renewal, renewAnswers } from "../../db/kept_answers.ts";
import { building } from "../../db/transaction.ts";
import { rowsOf, type TestRealm } from "./realm.ts";

/** More rows than any realm has: no generation begins, and an earlier one past its time is emptied. */
export const MANY = Number.MAX_SAFE_INTEGER;

/** Begins a generation with the rights of a worker, where the current one has so many rows. */
export async function renew(realm: TestRealm, rows = 0): Promise<Renewal> {
  return await building(realm.pool, (sql) => renewAnswers(realm.pool, sql, rows));
}

/** Lets the rows of the earlier generation, or of a table, be eight days older. */
export async function age(
  realm: TestRealm,
  tables: readonly string[] = ["idempotency_earlier", "batches_earlier"],
): Promise<void> {
  for (const table of tables) {
    await rowsOf(realm, `update ${table} set created_at = created_at - interval '8 days'`);
  }
}

/** Counts the rows of both generations: keys and batches of the current one, then of the earlier one. */
export async function keptOf(realm: TestRealm): Promise<number[]> {
  const tables = ["idempotency", "batches", "idempotency_earlier", "batches_earlier"];
  const each = tables.map((table) => `(select count(*)::integer from ${table}) as ${table}`);
  const [row] = await rowsOf<Record<string, number>>(realm, `select ${each.join()}`);
  return tables.map((table) => row[table]);
}
