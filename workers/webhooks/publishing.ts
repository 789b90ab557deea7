/** Publishes the events of a realm, beside the traffic. @module */
import type { Pool } from "../../db/database.ts";
import { locking } from "../../db/transaction.ts";
import { publishWaiting } from "../../domain/event_publishing.ts";

/** Events of one database transaction: enough to share its cost, few enough to take milliseconds. */
const BATCH = 500;

/**
 * Publishes a realm's events until none is left or the time is up; gives their number. Returns at
 * once while another process does the same for this realm.
 */
export async function publishEvents(
  pool: Pool,
  now: () => number,
  over: () => boolean = () => false,
): Promise<number> {
  let events = 0;
  while (!over()) {
    const turn = await locking(pool, (tx) => publishWaiting(tx, { at: now() }, BATCH));
    events += turn?.events ?? 0;
    if (turn === null || turn.events < BATCH) return events;
  }
  return events;
}
