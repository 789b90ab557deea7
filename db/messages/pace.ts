/** Statements on how many messages a recipient gets, and of whom. @module */
import type { Db } from "../database.ts";

/** Who sent messages to a recipient lately. */
export interface PacedSender {
  owner: string | null;
  /** Whether that user works for the realm. */
  isHouse: boolean;
  /** How many of them in the last minute. */
  recent: number;
}

/** Reads who sent messages to a destination since a time, aside from the service itself. */
export async function selectSenders(
  db: Db,
  of: { destination: string; since: number; recentSince: number },
): Promise<PacedSender[]> {
  return await db<PacedSender[]>`
    select m.owner, coalesce('realm' = any (u.scopes), false) as "isHouse",
      (count(*) filter (where m.created_at > ${of.recentSince}))::integer as recent
    from messages m left join users u on u.id = m.owner
    where lower(m.destination) = lower(${of.destination}) and m.created_at > ${of.since} and not m.notice
    group by 1, 2`;
}
