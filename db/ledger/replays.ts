/**
 * Replays: the stored outcome under the idempotency key of a move. A posted move's answer is
 * rebuilt from the ledger's own rows. A refusal is stored under the key, with the tail of the
 * refused posting behind it.
 * @module
 */
import type { Db } from "../database.ts";

/** The stored outcome of a key. */
export interface RawReplay {
  /** Whether the request was the same one. */
  same: boolean;
  status: number | null;
  body: string | null;
  transaction: string | null;
}

/** The outcome of a key. */
export interface Replay extends RawReplay {
  /**
   * The key belongs to this very request, which lost its database connection before it was
   * answered.
   */
  own: boolean;
}

/** The stored outcome of a batch's key; the last four are null if the key is not a batch's. */
export interface RawBulkReplay extends RawReplay {
  request: string | null;
  transactions: string[] | null;
  /** The refusal of each transaction; null for those that were posted. */
  refusals: (string | null)[] | null;
  unresolved: unknown;
}

/** The outcome of a batch's key. */
export type BulkReplay = RawBulkReplay & Replay;

/**
 * Tells a posting's own key from a repeat of it, and returns a refusal without its tail.
 *
 * @param tail the last 12 digits of the requested ids; empty if none were requested
 */
export function ownReplay<T extends RawReplay & Partial<RawBulkReplay>>(
  raw: T,
  tail: string,
): T & Replay {
  if (raw.status !== null || raw.body === null) {
    const id = raw.transaction ?? raw.transactions?.[0];
    return { ...raw, own: raw.same && tail !== "" && id?.endsWith(tail) === true };
  }
  const end = raw.body.lastIndexOf(" ");
  const own = raw.same && raw.body.slice(end + 1) === tail;
  return { ...raw, body: raw.body.slice(0, end), own };
}

/** Reads the outcome of a key; null if none is stored. */
export async function selectReplay(
  db: Db,
  claim: { key: string; fingerprint: string },
): Promise<BulkReplay | null> {
  const [{ replay }] = await db<{ replay: RawBulkReplay | null }[]>`
    select ledger_replay(${claim.key}, ${claim.fingerprint}) as replay`;
  return replay === null ? null : ownReplay(replay, "");
}
