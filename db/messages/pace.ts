/** Statements on how many messages a recipient gets, and of whom. @module */
import type { Db } from "../database.ts";

/** Who sent messages to a recipient lately. */
export interface PacedSender {
  /** Null for those who work for the realm. */
  customer: string | null;
  /** How many of them in the last minute. */
  recent: number;
}

/** Reads who sent messages to a destination since a time, aside from the service itself. */
export async function selectSenders(
  db: Db,
  of: { destination: string; since: number; recentSince: number },
): Promise<PacedSender[]> {
  return await db<PacedSender[]>`
    select customer, (count(*) filter (where created_at > ${of.recentSince}))::integer as recent
    from messages
    where lower(destination) = lower(${of.destination}) and created_at > ${of.since} and notice is null
    group by customer`;
}

/**
 * Gives the time of the oldest of the last `count` messages of a customer since a time, aside from the service itself;
 * null if there were fewer.
 */
export async function selectPaceOfCustomer(
  db: Db,
  { customer, since, count }: { customer: string; since: number; count: number },
): Promise<number | null> {
  const [row] = await db<{ created_at: number }[]>`
    select created_at from messages where customer = ${customer} and created_at > ${since} and notice is null
    order by created_at desc offset ${count - 1} limit 1`;
  return row?.created_at ?? null;
}
