/**
 * What idempotency keys of moves stand for. A move's answer is rebuilt from the ledger's own rows; of
 * a refusal the key keeps why, and behind it the tail of the posting that was refused.
 * @module
 */
import type { Db } from "../database.ts";

/** What a key seen before stands for, as it is stored. */
export interface RawReplay {
  /** Whether the request was the same one. */
  same: boolean;
  status: number | null;
  body: string | null;
  transaction: string | null;
}

/** What a key seen before stands for. */
export interface Replay extends RawReplay {
  /** Nobody was answered yet: it is this very request, whose connection to the database was lost. */
  own: boolean;
}

/** What a batch's key stands for, as it is stored; the last four are null where it is no batch's. */
export interface RawBulkReplay extends RawReplay {
  request: string | null;
  transactions: string[] | null;
  /** Beside each transaction, why it was refused; null where none was. */
  refusals: (string | null)[] | null;
  unresolved: unknown;
}

/** What a batch's key stands for. */
export type BulkReplay = RawBulkReplay & Replay;

/**
 * Tells a posting's own key from a repeat of it, and gives a refusal without the tail behind it.
 *
 * @param tail the last 12 digits of the ids that were asked for; empty for who asked for none
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

/** Reads what a key stands for; null where nothing is kept under it. */
export async function selectReplay(
  db: Db,
  claim: { key: string; fingerprint: string },
): Promise<BulkReplay | null> {
  const [{ replay }] = await db<{ replay: RawBulkReplay | null }[]>`
    select ledger_replay(${claim.key}, ${claim.fingerprint}) as replay`;
  return replay === null ? null : ownReplay(replay, "");
}
