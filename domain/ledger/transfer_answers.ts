/**
 * Answers of transfers. A refusal is stored under the request's idempotency key before it is
 * answered. If a request is refused before its key is read, the outcome stored under the key takes
 * precedence.
 * @module
 */
import type { Pool } from "../../db/database.ts";
import type { LostStanding } from "../../db/ledger/posting_batches.ts";
import { type BulkReplay, selectReplay } from "../../db/ledger/replays.ts";
import { reading } from "../../db/transaction.ts";
import { type Answer, type IdempotencyClaim, keepRefusal, refuseUnder } from "../command.ts";
import { DomainError } from "../errors.ts";

/** The request that transfers came in. */
export interface TransferRequest {
  id: string;
  idempotency: IdempotencyClaim | null;
  /** Status of the answer to a posted transfer. */
  status: number;
  /** Prints a refusal as a problem, of the request with this id where it is another one. */
  problem: (refused: DomainError, requestId?: string) => { status: number; body: string };
  /** Runs statements beside the posting queue in their turn, so that one user's keep nobody else's waiting. */
  besideQueue: <T>(work: () => Promise<T>) => Promise<T>;
  /** Asks before the transfer is sent whether the caller may still act: null where that was asked just now. */
  lostStanding: LostStanding;
}

/** Answers with the text of the posted transactions. */
export function answerPosted(request: TransferRequest, body: string, replayed = false): Answer {
  return { status: request.status, body, replayed };
}

/**
 * Answers with the ledger's refusal under the request's key.
 *
 * @throws {DomainError} the refusal, where the request has no key
 */
export async function answerRefused(
  pool: Pool,
  request: TransferRequest,
  refused: DomainError,
  replayed = false,
): Promise<Answer> {
  if (request.idempotency === null) throw refused;
  const { idempotency } = request;
  const keep = () => keepRefusal(pool, idempotency, request.problem(refused));
  const kept = await request.besideQueue(keep);
  return { ...kept, replayed };
}

/**
 * Answers a request that was refused before its key was read, because it names an entity that does
 * not exist.
 *
 * @param replay answers with the outcome stored under the key
 * @throws {DomainError} idempotency.key_reused; the refusal, where the request has no key
 */
export async function answerUnresolved(
  pool: Pool,
  request: TransferRequest,
  refused: DomainError,
  replay: (kept: BulkReplay) => Promise<Answer>,
): Promise<Answer> {
  const { idempotency } = request;
  if (idempotency === null) throw refused;
  const print = () => request.problem(refused);
  const find = () => reading(pool, (db) => selectReplay(db, idempotency));
  for (let last = false;; last = true) {
    const kept = await request.besideQueue(find);
    if (kept !== null) return await replay(kept);
    try {
      return await request.besideQueue(() => refuseUnder(pool, idempotency, refused, print));
    } catch (error) {
      // The first request under this key was posted between the two reads.
      if (last || !(error instanceof DomainError) || error.code !== "idempotency.key_reused") {
        throw error;
      }
    }
  }
}
