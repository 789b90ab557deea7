/** Statements that end stored answers after their time in the contract: row by row, or as whole tables. @module */
import type { Db, Pool, Sql } from "./database.ts";

/**
 * Deletes some of the answers that are older than the contract's limit, and the batches under their keys; gives the
 * number of keys. Called again until there are none: one statement for all would exceed its time limit after a backlog.
 */
export async function deleteOldAnswers(db: Db, limit: number): Promise<number> {
  // A batch is stored later than its key. Left behind by its own time, it would stand in the way of a new claim of the key.
  const [{ count }] = await db<{ count: number }[]>`
    with gone as (
      delete from idempotency where ctid = any(array(select ctid from idempotency
        where created_at < now() - interval '7 days' limit ${limit})) returning key),
    batch as (delete from batches where key = any(array(select key from gone)))
    select count(*)::integer as count from gone`;
  return count;
}

/** The stored answers of a realm. */
export interface KeptSizes {
  /** Rows of the current generation, roughly. */
  rows: number;
  /** Whether postings look into the generation before: it has rows, or was not looked at yet. */
  isEarlierKept: boolean;
}

/** Tells how many answers a realm keeps. */
export async function selectKeptSizes(db: Db): Promise<KeptSizes> {
  const [{ rows, kept }] = await db<{ rows: string; kept: boolean }[]>`
    select estimated_rows('idempotency')::text as rows, earlier_kept() as kept`;
  return { rows: Number(rows), isEarlierKept: kept };
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
