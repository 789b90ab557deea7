/**
 * Commands: one serializable transaction that claims the idempotency key, does the work, keeps the
 * answer beside the effect and writes the audit line. A refusal rolls the work back to a savepoint
 * and is kept under the key in the same transaction, so effect and answer never part.
 * @module
 */
import type { Db, Pool, Tx } from "../db/database.ts";
import {
  claimKey,
  completeRefusal,
  insertAudit,
  insertAuditAndAnswer,
  keepAnswer,
  type NewAuditRow,
  selectKept,
} from "../db/records.ts";
import {
  dryRun,
  type LedgerTx,
  lockOf,
  type LockOption,
  type OptionsFor,
  optionsOf,
  reading,
  readingBriefly,
  savepoint,
  serializable,
  type TxFor,
} from "../db/transaction.ts";
import { onConnection } from "../db/own_connection.ts";
import type { Actor } from "./actor.ts";
import { DomainError } from "./errors.ts";
import { idTime, isId, newId } from "./ids.ts";

export { lockOf, onConnection, optionsOf };
export type { Db, LedgerTx, LockOption, OptionsFor, Pool, Tx, TxFor };

/** The key under which an answer is stored, and the fingerprint of its request. */
export interface IdempotencyClaim {
  /** First 128 bits of the SHA-256 of user and key, as a UUID without hyphens. */
  key: string;
  /** First 124 bits of the SHA-256 of method, path and body, and the caller's rights, as a UUID without hyphens. */
  fingerprint: string;
}

/** An answer as it is sent and stored. */
export interface Answer {
  status: number;
  body: string;
  /** Whether it was kept from an earlier request. */
  replayed: boolean;
}

/** Encrypts the stored copy of an answer. */
export interface AnswerCipher {
  encrypt(body: string): string;
  /** Null where it was encrypted under another platform key. */
  decrypt(kept: string): string | null;
}

/** The view that the work returned, or its refusal. */
export type CommandResult = { view: unknown } | { refused: DomainError };

/** Parameters of a command besides its work. */
export interface CommandContext {
  /** The action for the audit trail, such as `POST /v1/accounts`. */
  action: string;
  idempotency: IdempotencyClaim | null;
  /** Names of the fields that the request gave, for the audit trail. */
  fields?: string[] | null;
  /** The realm that a command of the platform is about, for the audit trail. */
  realm?: string;
  /** For answers that show a secret: their stored copy is encrypted. */
  cipher?: AnswerCipher;
  /** Reads after the work, sent together with the last statement. */
  beside?: (tx: Tx, view: unknown) => Promise<void>;
  /** Prints the answer of the work, or of its refusal. */
  print: (result: CommandResult) => { status: number; body: string };
  /** Called after each run that lost a race. */
  onRetry?: () => void;
}

/** How a command runs. */
export type CommandOptions<Locked extends boolean> = CommandContext & LockOption<Locked>;

/**
 * Runs `work` once and for all under its idempotency key.
 *
 * @throws {DomainError} idempotency.key_reused, and the work's own refusals where there is no key
 */
export async function runCommand<Locked extends boolean = false>(
  pool: Pool,
  actor: Actor,
  work: (tx: TxFor<Locked>) => Promise<unknown>,
  options: CommandOptions<Locked>,
): Promise<Answer> {
  return await serializable<Answer, Locked>(pool, async (tx) => {
    const claim = options.idempotency;
    if (claim !== null) {
      const line = (view: unknown) => lineOf(actor, options, view);
      return await answerUnder(tx, claim, options, () => attempt(tx, work), line);
    }
    const view = await work(tx);
    const line = lineOf(actor, options, view);
    // Its failure comes first, and is the one that tells whether the transaction runs again.
    await Promise.all([options.beside?.(tx, view), insertAudit(tx, line)]);
    return { ...options.print({ view }), replayed: false };
  }, options);
}

/**
 * Stores a refusal under its idempotency key when the work was not started, because the request
 * names an entity that does not exist; returns the stored answer of the key.
 *
 * @throws {DomainError} idempotency.key_reused, and the refusal where it may pass
 */
export async function refuseUnder(
  pool: Pool,
  claim: IdempotencyClaim,
  refused: DomainError,
  print: CommandContext["print"],
): Promise<Answer> {
  const run = () => Promise.resolve({ refused });
  return await serializable(pool, (tx) => answerUnder(tx, claim, { print }, run));
}

/**
 * Claims a key, runs the work and stores its answer with its line in the audit trail; or returns the answer stored
 * under the key.
 */
async function answerUnder(
  tx: Tx,
  claim: IdempotencyClaim,
  options: Pick<CommandContext, "print" | "cipher" | "beside">,
  run: () => Promise<CommandResult>,
  line: ((view: unknown) => NewAuditRow) | null = null,
): Promise<Answer> {
  const kept = await claimKey(tx, claim);
  if (kept !== null) {
    if (!isRepeat(kept, claim) || kept.status === null) throw keyReused();
    return { status: kept.status, body: decrypted(kept.body!, options), replayed: true };
  }
  const result = await run();
  const answer = options.print(result);
  // A 5xx or 401 may pass: the work is rolled back with its claim, and a repeat tries again.
  if ("refused" in result && (answer.status >= 500 || answer.status === 401)) {
    throw result.refused;
  }
  const stored = {
    status: answer.status,
    body: options.cipher?.encrypt(answer.body) ?? answer.body,
  };
  if (line === null || "refused" in result) await keepAnswer(tx, claim.key, stored);
  else {
    await Promise.all([
      options.beside?.(tx, result.view),
      insertAuditAndAnswer(tx, line(result.view), claim.key, stored),
    ]);
  }
  return { ...answer, replayed: false };
}

/** The refusal of a key whose stored answer is not for this request. */
export function keyReused(): DomainError {
  const message = "this key came with another request before, or with wider rights";
  return new DomainError("idempotency.key_reused", message);
}

/** Whether a request repeats the one whose answer is kept, with rights that are no narrower. */
function isRepeat(
  { fingerprint: read }: Pick<IdempotencyClaim, "fingerprint">,
  { fingerprint: given }: Pick<IdempotencyClaim, "fingerprint">,
): boolean {
  const kept = read.replaceAll("-", ""); // as PostgreSQL writes it
  const [then, now] = [kept, given].map((text) => parseInt(text.slice(-1), 16));
  return kept.slice(0, -1) === given.slice(0, -1) && then >> 1 <= now >> 1 &&
    (then & 1) <= (now & 1);
}

function decrypted(kept: string, options: Pick<CommandContext, "cipher">): string {
  if (options.cipher === undefined) return kept;
  const body = options.cipher.decrypt(kept);
  if (body !== null) return body;
  const message = "the answer under this key was kept under another platform key";
  throw new DomainError("idempotency.key_reused", message);
}

/** Runs the work in a savepoint, so that a refusal undoes it and leaves the claimed key. */
async function attempt<T extends Tx>(
  tx: T,
  work: (tx: T) => Promise<unknown>,
): Promise<CommandResult> {
  try {
    return { view: await savepoint(tx, work) };
  } catch (error) {
    if (error instanceof DomainError) return { refused: error };
    throw error;
  }
}

/** The line of a command in the audit trail. */
function lineOf(actor: Actor, options: CommandContext, view: unknown): NewAuditRow {
  const id = newId(actor.at);
  return {
    id,
    actor: actor.kind === "user" ? actor.user : null,
    action: options.action,
    entity: entityOf(view),
    ...(options.realm === undefined ? {} : { realm: options.realm }),
    fields: options.fields ?? null,
    request_id: actor.requestId,
    address: actor.address,
    ...(actor.apiKey === undefined
      ? {}
      : { api_key: actor.apiKey.id, api_key_name: actor.apiKey.name }),
    created_at: idTime(id),
  };
}

function entityOf(view: unknown): string | null {
  if (typeof view !== "object" || view === null || !("id" in view)) return null;
  return typeof view.id === "string" && isId(view.id) ? view.id : null;
}

/** Dry run: runs `work` with all its checks and rolls it back. */
export async function runDry<T, Locked extends boolean = false>(
  pool: Pool,
  work: (tx: TxFor<Locked>) => Promise<T>,
  options: LockOption<Locked>,
): Promise<T> {
  return await dryRun(pool, work, options);
}

/** Runs reads; each statement sees earlier commits. */
export async function runQuery<T>(pool: Pool, work: (db: Db) => Promise<T>): Promise<T> {
  return await reading(pool, work);
}

/**
 * Runs a search, which may read very many rows, for so many milliseconds at most, or until it is
 * aborted.
 */
export async function runSearch<T>(
  pool: Pool,
  limitMs: number,
  work: (db: Db) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  return await readingBriefly(pool, limitMs, work, { signal });
}

/** Whether an answer is kept under a key already. */
export async function isKept(pool: Pool, claim: IdempotencyClaim | null): Promise<boolean> {
  if (claim === null) return false;
  const kept = await reading(pool, (db) => selectKept(db, claim.key));
  return kept !== null;
}

/**
 * Completes the refusal of a move under its key, before it is answered; returns the answer that
 * every repeat will read.
 */
export async function keepRefusal(
  pool: Pool,
  claim: IdempotencyClaim,
  answer: { status: number; body: string },
): Promise<{ status: number; body: string }> {
  const kept = await serializable(pool, async (tx) => {
    await completeRefusal(tx, claim.key, answer);
    return await selectKept(tx, claim.key);
  });
  return { status: kept?.status ?? answer.status, body: kept?.body ?? answer.body };
}
