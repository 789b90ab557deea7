/** Readers of a realm's events: while there are any, and for as long as events are kept, all are written. @module */
import type { Pool } from "../../db/database.ts";
import { listenUntil, selectListening } from "../../db/events.ts";
import { reading, writing } from "../../db/transaction.ts";

/** A reader is noted anew when so much of its time has passed. */
const RENEW_MS = 3_600_000;

/**
 * Notes that somebody reads events: from now on all are written for as long as they are kept, so a
 * reader that comes back within that time misses none.
 */
export async function noteReader(pool: Pool, at: number, keptMs: number): Promise<void> {
  const until = await reading(pool, selectListening);
  if (until !== null && until >= at + keptMs - RENEW_MS) return;
  await writing(pool, (db) => listenUntil(db, at + keptMs));
}
