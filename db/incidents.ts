/** Statements on incidents: what lasts, and was told of when it began. @module */
import type { Db, Tx } from "./database.ts";

/** The kind of an incident, which is that of its event. */
export type IncidentKind = "chain.lagging" | "withdrawal.stuck";

/**
 * Replaces the incidents of a kind by those that last now; gives the subjects that are new.
 */
export async function replaceIncidents(
  tx: Tx,
  kind: IncidentKind,
  subjects: readonly string[],
  at: number,
): Promise<string[]> {
  const now = JSON.stringify(subjects);
  await tx`
    delete from incidents where kind = ${kind} and subject <> all (
      array(select json_array_elements_text(${now}::text::json)))`;
  const news = await tx<{ subject: string }[]>`
    insert into incidents (kind, subject, since)
    select ${kind}, s, ${at} from json_array_elements_text(${now}::text::json) s
    on conflict do nothing returning subject`;
  return news.map((one) => one.subject);
}

/** Reads the withdrawals that wait for a block since before a time, the oldest first. */
export async function selectUnmined(db: Db, before: number, limit: number): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from withdrawals
    where status = 'PROCESSING' and height is null and created_at < ${before}
    order by id limit ${limit}`;
  return rows.map((row) => row.id);
}
