/** Statements on the credits that realms have used, in the platform's schema. @module */
import type { Db } from "../database.ts";

/** A realm's usage in a month, or an addition to it. */
export interface UsageRow {
  realm: string;
  credits: string;
  requests: string;
}

/** Reads a realm's usage in a month, named by its first day. */
export async function selectUsage(db: Db, realm: string, month: string): Promise<UsageRow | null> {
  const [row] = await db<UsageRow[]>`
    select realm, credits, requests from usage where realm = ${realm} and month = ${month}::text::date`;
  return row ?? null;
}

/**
 * Adds to the usage of realms, and returns the counts of all processes so far. Rows are locked in
 * the order of their ids.
 */
export async function addUsage(
  db: Db,
  month: string,
  used: readonly UsageRow[],
): Promise<UsageRow[]> {
  const text = JSON.stringify(used);
  return await db<UsageRow[]>`
    insert into usage (realm, month, credits, requests)
    select u.realm, ${month}::text::date, u.credits, u.requests
    from jsonb_to_recordset(${text}::text::jsonb) u(realm uuid, credits bigint, requests bigint)
    where exists (select 1 from realms r where r.id = u.realm)
    order by u.realm
    on conflict (realm, month) do update
      set credits = usage.credits + excluded.credits, requests = usage.requests + excluded.requests
    returning realm, credits, requests`;
}
