/**
 * Batches on their way: each is sent until its outcome is known, or the database stays away. A batch that
 * was lost with its connection, or lost a race, is sent again with the same keys and the same tail of ids.
 * @module
 */
import type { Pool } from "../database.ts";
import {
  Contention,
  isContention,
  isDisconnect,
  isLeftOpen,
  isTimeout,
  isUnavailable,
  mayBeDone,
} from "../errors.ts";
import {
  type ApplyRow,
  type Bulk,
  BULK_STATEMENT,
  bulkParameters,
  type KeyedMove,
  type Outcome,
  outcomeOf,
  outcomesOf,
  positionsOf,
  QUEUED_CALL,
  QUEUED_STATEMENT,
  queuedParameters,
  SINGLE_CALL,
  singleParameters,
  type SingleRow,
  type WrittenMoves,
} from "./posting_protocol.ts";
import type { Weighed } from "./posting_shares.ts";
import { type BulkReplay, ownReplay } from "./replays.ts";
import { lockedBegin, using } from "../transaction.ts";

/** Counters of a queue, since the process started. */
export interface PostingQueueStats {
  batches: number;
  moves: number;
  retries: number;
  splits: number;
  /** Batches that were sent again because a connection was lost, or timed out after that. */
  resends: number;
  /** Batches that were sent while another was in flight. */
  pipelined: number;
}

/** Where batches are sent to. */
export interface Sending {
  pool: Pool;
  stats: PostingQueueStats;
  /** How long it is sent again after lost connections, in milliseconds. */
  waitMaxMs: number;
  /** The end of the batch in flight that this one was sent behind, if any. */
  ahead: Promise<void> | null;
  /** Whether an attempt failed: then no other is sent behind it. */
  failed: boolean;
  /** Called once, when all outcomes are known and before they are told: the next batch does not wait for answers. */
  land: () => void;
}

/**
 * Asks whether a caller may still act: null where that is known, else the reason why it may not, if there is one. Rejected
 * where nobody can tell.
 */
export type LostStanding = () => Promise<Error | null> | null;

/** A request that waits for its outcome. */
export interface Wait<T> {
  lostStanding: LostStanding;
  resolve: (outcome: T) => void;
  reject: (error: unknown) => void;
  /** When it began to wait to be sent, by the process's monotonic clock in milliseconds. */
  at: number;
}

/** A move that waits. */
export interface Item extends Wait<Outcome>, Weighed {
  move: KeyedMove;
}

/** The ledger's answer to a batch of one request, or the stored answer of its key. */
export type BulkRow = Omit<ApplyRow, "replay"> & { replay: BulkReplay | null };

/** A batch of one request that waits. */
export interface BulkItem extends Wait<BulkRow>, Weighed {
  bulk: Bulk;
  written: WrittenMoves;
}

const RETRIES_MAX = 50;
const DISCONNECTS_MAX = 40;
/** Timeouts of half a minute each, after an attempt whose answer was lost. */
const TIMEOUTS_MAX = 4;
const LOST_MS = 100;
const PREPARED = { prepare: true };

/** The tail of a batch's ids: 48 random bits. */
function newTail(): string {
  return crypto.randomUUID().slice(24);
}

/** Whether each batch is one message, so that another can be sent behind it. */
export function isOneMessage(pool: Pool): boolean {
  return pool.settings === "";
}

/** Runs one batch to its end; never throws. */
export async function runBatch(sending: Sending, batch: Item[]): Promise<void> {
  const tell = await posted(sending, batch, newTail());
  sending.land();
  tell();
}

/** Runs a batch of one request to its end; never throws. */
export async function runBulk(sending: Sending, item: BulkItem): Promise<void> {
  const { pool, stats } = sending;
  const tail = newTail();
  try {
    const attempts = { isUnknown: false };
    const row = await insist(sending, attempts, async (begin) => {
      const lost = await item.lostStanding();
      if (lost !== null) throw attempts.isUnknown ? unanswered(lost) : lost;
      begin();
      return await using(pool, () => sendBulk(pool, item, tail));
    });
    stats.batches++;
    stats.moves += item.bulk.moves.length;
    sending.land();
    item.resolve(row);
  } catch (error) {
    sending.land();
    item.reject(error);
  }
}

/** What is known of the attempts to post moves. */
interface Attempts {
  /** Whether the answer to one was lost: it may have posted them, or may do so yet. */
  isUnknown: boolean;
}

/**
 * Posts a batch; returns what tells its requests their outcomes.
 *
 * @param before those of the larger batch that it is a part of
 */
async function posted(
  sending: Sending,
  given: Item[],
  tail: string,
  before: Readonly<Attempts> = { isUnknown: false },
): Promise<() => void> {
  const { pool, stats } = sending;
  const attempts = { ...before };
  let batch = given;
  const sendAll = (begin: () => void) => {
    begin();
    return using(pool, () => send(pool, batch, tail));
  };
  try {
    const read = await insist(
      sending,
      attempts,
      (begin) =>
        standing(batch, attempts.isUnknown)?.then((kept) => {
          batch = kept;
          return batch.length === 0 ? () => [] : sendAll(begin);
        }) ?? sendAll(begin),
    );
    stats.batches++;
    stats.moves += batch.length;
    return () => resolveAll(batch, read);
  } catch (error) {
    if (batch.length === 1 || isHopeless(error)) return () => rejectAll(batch, error);
    stats.splits++; // a row that PostgreSQL refuses: halve the batch until it stands alone
    const half = batch.length >> 1;
    const tell = await posted(sending, batch.slice(0, half), tail, attempts);
    tell();
    return await posted(sending, batch.slice(half), tail, attempts);
  }
}

/**
 * Asks whether the callers of moves may still act, and refuses those that may not; null where that is known of all.
 *
 * @param isUnknown whether they may have been posted
 */
function standing(batch: Item[], isUnknown: boolean): Promise<Item[]> | null {
  let asked: (Promise<Error | null> | null)[] | null = null;
  for (let i = 0; i < batch.length; i++) {
    const answer = batch[i].lostStanding();
    if (answer === null) continue;
    asked ??= batch.map(() => null);
    asked[i] = answer;
  }
  if (asked === null) return null;
  return Promise.all(asked).then((lost) =>
    batch.filter(({ reject }, i) => {
      const why = lost[i];
      if (why === null) return true;
      reject(isUnknown ? unanswered(why) : why);
      return false;
    })
  );
}

/** What a caller hears who may act no more, where the answer to what it asked for was lost. */
function unanswered(cause: Error): Contention {
  return new Contention("the answer was lost, and the caller may act no more", {
    cause,
    mayBeDone: true,
  });
}

function resolveAll(batch: readonly Item[], read: () => Outcome[]): void {
  try {
    const outcomes = read();
    batch.forEach((item, i) => item.resolve(outcomes[i]));
  } catch (error) {
    rejectAll(batch, error);
  }
}

function rejectAll(batch: readonly Item[], error: unknown): void {
  for (const item of batch) item.reject(error);
}

/**
 * Tries again while the cause is a lost race or a lost connection, after the batch ahead: a connection is
 * lost for both. An attempt says when it begins to send: what failed before, as where nobody can tell a caller's standing,
 * has done nothing.
 */
async function insist<T>(
  sending: Sending,
  attempts: Attempts,
  attempt: (begin: () => void) => Promise<T>,
): Promise<T> {
  const { stats, ahead, waitMaxMs } = sending;
  const until = performance.now() + waitMaxMs;
  let [disconnects, timeouts] = [0, 0];
  for (let tries = 1;; tries++) {
    let isSent = false;
    try {
      return await attempt(() => isSent = true);
    } catch (error) {
      sending.failed = true;
      if (isContention(error) && tries < RETRIES_MAX) {
        stats.retries++;
        await ahead;
        if (tries > 3) await pause(Math.random() * Math.min(50, tries * 5));
        continue;
      }
      const lost = isDisconnect(error) || isLeftOpen(error);
      attempts.isUnknown ||= isSent && mayBeDone(error);
      // After an attempt whose answer was lost a refusal would be a guess: that attempt may commit yet.
      const mayBeBack = lost && ++disconnects < DISCONNECTS_MAX && performance.now() < until;
      const isGuess = attempts.isUnknown && isTimeout(error) && ++timeouts < TIMEOUTS_MAX;
      if (isGuess || mayBeBack) {
        stats.resends++;
        // A server that ends its connections, or starts, refuses others for a moment. What is sent between the error of a
        // socket and its end fails at once, and is counted.
        await Promise.all([pause(LOST_MS), ahead]);
        continue;
      }
      const isBusy = lost || isContention(error) || isTimeout(error) || mayBeDone(error);
      if (!isBusy && !(attempts.isUnknown && isHopeless(error))) throw error;
      throw new Contention("the database cannot take moves now", {
        cause: error,
        mayBeDone: attempts.isUnknown,
      });
    }
  }
}

function isHopeless(error: unknown): boolean {
  return error instanceof Contention || isUnavailable(error);
}

/** Sends a batch; returns what reads its outcomes. */
async function send(pool: Pool, batch: Item[], tail: string): Promise<() => Outcome[]> {
  const moves = batch.map((item) => item.move);
  const inOneMessage = isOneMessage(pool);
  const single = inOneMessage ? singleParameters(moves, tail) : null;
  if (single !== null) {
    const row = await call<SingleRow>(pool, SINGLE_CALL, single);
    return () => [outcomeOf(tail, row)];
  }
  const positions = positionsOf(moves);
  const parameters = queuedParameters(moves, tail, positions);
  const row = inOneMessage
    ? await call<ApplyRow>(pool, QUEUED_CALL, parameters)
    : await runLocked(pool, QUEUED_STATEMENT, parameters);
  return () => outcomesOf(moves, positions, row, tail);
}

/** Sends a call as one message. */
async function call<Row>(
  pool: Pool,
  statement: string,
  parameters: (string | null)[],
): Promise<Row> {
  const [row] = await pool.sql.unsafe<Row[]>(statement, parameters, PREPARED);
  return row as Row;
}

async function sendBulk(
  pool: Pool,
  { bulk, written }: BulkItem,
  tail: string,
): Promise<BulkRow> {
  const row = await runLocked(pool, BULK_STATEMENT, bulkParameters(bulk, tail, written));
  return { ...row, replay: row.replay ? ownReplay(row.replay, tail) : null };
}

/** Sends a transaction as one write: begin with the ledger lock, post, commit; and waits once. */
async function runLocked(
  pool: Pool,
  statement: string,
  parameters: (string | null)[],
): Promise<ApplyRow> {
  const { sql } = pool;
  const prepare = sql.options.prepare;
  const parts = await Promise.allSettled([
    sql.unsafe(lockedBegin(pool)).simple().execute(),
    sql.unsafe<ApplyRow[]>(statement, parameters, { prepare }).execute(),
    sql.unsafe("commit").simple().execute(),
  ]);
  for (const part of parts) if (part.status === "rejected") throw part.reason;
  return (parts[1] as PromiseFulfilledResult<ApplyRow[]>).value[0];
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
