/** Statements that end stored answers after their time in the contract: row by row, or as whole tables. @module */
import type { Db, Pool, Sql } from "./database.ts";

/**
 * Deletes some of the answers that are older than the contract's limit; gives their number. Called
 * again until there are none: one statement for all would exceed its time limit after a backlog.
 */
export async function deleteOldAnswers(db: Db, limit: number): Promise<number> {
  const keys = await db`
    delete from idempotency where ctid = any(array(select ctid from idempotency
      where created_at < now() - interval '7 days' limit ${limit}))`;
  const batches = await db`
    delete from batches where ctid = any(array(select ctid from batches
      where created_at < now() - interval '7 days' limit ${limit}))`;
  return keys.count + batches.count;
}

/** How many answers a realm keeps, roughly: those of the current generation, and bytes of the one before. */
export async function selectKeptSizes(db: Db): Promise<{ rows: number; earlier: number }> {
  const [{ rows, earlier }] = await db<{ rows: string; earlier: string }[]>`
    select estimated_rows('idempotency')::text as rows,
      (pg_relation_size('idempotency_earlier') + pg_relation_size('batches_earlier'))::text as earlier`;
  return { rows: Number(rows), earlier: Number(earlier) };
}

/** What a new generation did: see `renew_answers` in the migrations. */
export type Renewal = "exchanged" | "emptied" | null;

/**
 * Begins a generation of answers, if all of the one before are past their time: empties the earlier tables, and exchanges
 * them with the current ones where these have about so many rows.
 */
export async function renewAnswers(pool: Pool, sql: Sql, rows: number): Promise<Renewal> {
  return await sql.begin("isolation level read committed", async (tx) => {
    // The search of young rows reads what vacuum has not summarized, however much that is; nobody waits for it.
    await tx.unsafe(`${pool.settings} set local statement_timeout = 0`);
    const [{ done }] = await tx<{ done: Renewal }[]>`select renew_answers(${rows}) as done`;
    return done;
  }) as Renewal;
}
