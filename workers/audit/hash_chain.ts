/** Extends the hash chains of realms in batches, beside the traffic. @module */
import { linkPlain } from "../../db/audit/hash_chain.ts";
import type { Pool } from "../../db/database.ts";
import { locking, writing } from "../../db/transaction.ts";
import { appendLinks, type Turn } from "../../domain/audit/hash_chain.ts";

/**
 * Links appended in one database transaction: enough to share its cost, few enough to take
 * milliseconds.
 */
const BATCH = 1000;

/**
 * Adds a realm's transactions and events to its hash chain until none is left or the time is up; gives the
 * number of transactions. Returns at once while another process does the same for this realm.
 */
export async function extendHashChain(
  pool: Pool,
  now: () => number,
  over: () => boolean = () => false,
): Promise<number> {
  let linked = 0;
  while (!over()) {
    const turn = await extendChain(pool, { at: now() }, BATCH);
    linked += turn?.transactions ?? 0;
    if (turn === null || !turn.more) return linked;
  }
  return linked;
}

/**
 * Appends links for the oldest transactions and events without one, about `limit` at most, and lines to the audit trail's
 * chain; null while another process appends. Plain transactions stay in the database, for two thirds of the cost.
 */
export async function extendChain(
  pool: Pool,
  by: { at: number },
  limit: number,
): Promise<Turn | null> {
  const plain = await writing(pool, (db) => linkPlain(db, limit));
  if (plain === null) return null;
  const { links, more, trail } = plain;
  // Lines of the trail wait for no end of the plain transactions: under steady load there is none.
  if (!trail && (links > 0 || !more)) return { links, transactions: links, more };
  const rest = await locking(pool, (tx) => appendLinks(tx, by, limit));
  if (rest === null) return { links, transactions: links, more: false };
  return { ...rest, links: links + rest.links, transactions: links + rest.transactions };
}
