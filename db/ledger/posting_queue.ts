/**
 * Posting queue of a realm (group commit): moves that arrive while a batch is in flight form the next
 * batch, which is one serializable transaction. No timer collects: a move goes at once where nothing
 * is in flight. A batch that came in one request is a transaction of its own.
 *
 * The ledger lock is taken before the snapshot, so batches of several processes cannot fail against each
 * other. After a lost connection the batch is sent again. Each move has an idempotency key, of its own
 * where the request brought none, so nothing is posted twice; the tail of the id under a key tells the
 * queue's own earlier posting from that of another request.
 * @module
 */
import type { Pool } from "../database.ts";
import { Contention, isContention, isDisconnect, isTimeout, isUnavailable } from "../errors.ts";
import {
  type ApplyRow,
  type Bulk,
  BULK_STATEMENT,
  type BulkOutcome,
  bulkParameters,
  type KeyedMove,
  type Outcome,
  outcomeOf,
  outcomesOf,
  positionsOf,
  QUEUED_CALL,
  QUEUED_STATEMENT,
  queuedParameters,
  readOutcomes,
  SINGLE_CALL,
  singleParameters,
  type SingleRow,
  writeMoves,
  type WrittenMoves,
} from "./posting_protocol.ts";
import { type BulkReplay, ownReplay } from "./replays.ts";
import { lockedBegin, using } from "../transaction.ts";

/** Counters of a queue, since the process started. */
export interface PostingQueueStats {
  batches: number;
  moves: number;
  retries: number;
  splits: number;
  /** Batches that were sent again because a connection was lost. */
  resends: number;
}

/** A realm's queue in this process. */
export interface PostingQueue {
  /**
   * Posts a move.
   *
   * @throws {Contention} when too many wait, or the database stays away
   */
  post(move: KeyedMove): Promise<Outcome>;
  /** Posts a batch that came in one request, in a transaction of its own. @throws {Contention} */
  postBulk(bulk: Bulk): Promise<BulkOutcome>;
  stats(): PostingQueueStats;
  /** Moves waiting or in flight. */
  depth(): number;
}

/** How a queue works. */
export interface PostingQueueOptions {
  /** Greatest batch. */
  batchMax?: number;
  /** Moves that may wait; more are refused before memory grows. */
  waitingMax?: number;
}

/** A request that waits for its outcome. */
interface Wait<T> {
  resolve: (outcome: T) => void;
  reject: (error: unknown) => void;
}

interface Item extends Wait<Outcome> {
  move: KeyedMove;
}

/** The ledger's answer to a batch of one request, or the stored answer of its key. */
type BulkRow = Omit<ApplyRow, "replay"> & { replay: BulkReplay | null };

interface BulkItem extends Wait<BulkRow> {
  bulk: Bulk;
  written: WrittenMoves;
}

const BATCH_MAX = 1000;
const WAITING_MAX = 50_000;
const RETRIES_MAX = 50;
const DISCONNECTS_MAX = 40;
const LOST_MS = 100;
const PREPARED = { prepare: true };

/** Opens the queue of a realm on a pool of one connection. */
export function openPostingQueue(pool: Pool, options: PostingQueueOptions = {}): PostingQueue {
  const stats: PostingQueueStats = { batches: 0, moves: 0, retries: 0, splits: 0, resends: 0 };
  const batchMax = options.batchMax ?? BATCH_MAX;
  const waitingMax = options.waitingMax ?? WAITING_MAX;
  const ahead = new Map<string, Promise<unknown>>(); // keys that wait or are in flight
  let waiting: Item[] = [];
  const bulks: BulkItem[] = [];
  let depth = 0;
  let armed = false;
  let flying = false;

  function arm(): void {
    if (armed || flying) return;
    armed = true;
    queueMicrotask(() => { // all moves posted in this task go together; later ones wait for the next batch
      armed = false;
      // Nothing in it throws; if it did, the next batch would still be sent.
      depart().catch(() => flying = false);
    });
  }

  async function depart(): Promise<void> {
    flying = true;
    while (waiting.length > 0 || bulks.length > 0) { // in turns: neither kind delays the other for long
      if (waiting.length > 0) {
        const batch = waiting.length <= batchMax ? waiting : waiting.slice(0, batchMax);
        waiting = waiting.length <= batchMax ? [] : waiting.slice(batchMax);
        await run(pool, batch, newTail(), stats);
        depth -= batch.length;
        for (const { move } of batch) if (move.key !== null) ahead.delete(move.key);
      }
      const next = bulks.shift();
      if (next !== undefined) {
        await runBulk(pool, next, newTail(), stats);
        depth -= next.bulk.moves.length;
        ahead.delete(next.bulk.key);
      }
    }
    flying = false;
  }

  function enter<T>(key: string | null, count: number, wait: (item: Wait<T>) => void): Promise<T> {
    if (depth > 0 && depth + count > waitingMax) {
      return Promise.reject(new Contention("too many moves are waiting in this realm"));
    }
    depth += count;
    arm();
    const entered = new Promise<T>((resolve, reject) => wait({ resolve, reject }));
    if (key !== null) ahead.set(key, entered);
    return entered;
  }

  function post(move: KeyedMove): Promise<Outcome> {
    const { key } = move;
    if (key !== null && ahead.has(key)) return afterFirst(ahead, key, () => post(move));
    return enter<Outcome>(key, 1, ({ resolve, reject }) => {
      waiting.push({ move: key === null ? withKey(move) : move, resolve, reject });
    });
  }

  function enterBulk(bulk: Bulk, written: WrittenMoves): Promise<BulkRow> {
    const { key, moves } = bulk;
    if (ahead.has(key)) return afterFirst(ahead, key, () => enterBulk(bulk, written));
    return enter<BulkRow>(key, moves.length, (wait) => bulks.push({ bulk, written, ...wait }));
  }

  const postBulk = (bulk: Bulk) => written(bulk, enterBulk);
  return { post, postBulk, stats: () => ({ ...stats }), depth: () => depth };
}

/** Writes the parameters of a batch before its turn and reads its outcomes after it, so others do not wait for that. */
async function written(
  bulk: Bulk,
  enter: (bulk: Bulk, moves: WrittenMoves) => Promise<BulkRow>,
): Promise<BulkOutcome> {
  const moves = await writeMoves(bulk.moves);
  const row = await enter(bulk, moves);
  return row.replay ? { replay: row.replay } : { outcomes: await readOutcomes(moves, row) };
}

/** Waits for a request with the same key that is in the queue; its answer is then kept. */
async function afterFirst<T>(
  ahead: ReadonlyMap<string, Promise<unknown>>,
  key: string,
  enter: () => Promise<T>,
): Promise<T> {
  for (let first = ahead.get(key); first !== undefined; first = ahead.get(key)) {
    await first.catch(() => {});
  }
  return await enter();
}

/** The tail of a batch's ids: 48 random bits. */
function newTail(): string {
  return crypto.randomUUID().slice(24);
}

/** Gives a move without a key one of its own, so that a resend finds the first posting. */
function withKey(move: KeyedMove): KeyedMove {
  return { ...move, key: crypto.randomUUID(), fingerprint: crypto.randomUUID() };
}

/** Runs one batch to its end; never throws. */
async function run(
  pool: Pool,
  batch: Item[],
  tail: string,
  stats: PostingQueueStats,
): Promise<void> {
  try {
    const outcomes = await insist(stats, () => using(pool, () => send(pool, batch, tail)));
    stats.batches++;
    stats.moves += batch.length;
    batch.forEach((item, i) => item.resolve(outcomes[i]));
  } catch (error) {
    if (batch.length === 1 || isHopeless(error)) {
      for (const item of batch) item.reject(error);
      return;
    }
    stats.splits++; // a row that PostgreSQL refuses: halve the batch until it stands alone
    const half = batch.length >> 1;
    await run(pool, batch.slice(0, half), tail, stats);
    await run(pool, batch.slice(half), tail, stats);
  }
}

/** Runs a batch of one request to its end; never throws. */
async function runBulk(
  pool: Pool,
  item: BulkItem,
  tail: string,
  stats: PostingQueueStats,
): Promise<void> {
  try {
    const row = await insist(stats, () => using(pool, () => sendBulk(pool, item, tail)));
    stats.batches++;
    stats.moves += item.bulk.moves.length;
    item.resolve(row);
  } catch (error) {
    item.reject(error);
  }
}

/** Tries again while the cause is a lost race or a lost connection. */
async function insist<T>(stats: PostingQueueStats, attempt: () => Promise<T>): Promise<T> {
  let disconnects = 0;
  for (let tries = 1;; tries++) {
    try {
      return await attempt();
    } catch (error) {
      if (isContention(error) && tries < RETRIES_MAX) {
        stats.retries++;
        if (tries > 3) await pause(Math.random() * Math.min(50, tries * 5));
        continue;
      }
      const lost = isDisconnect(error);
      if (lost && ++disconnects < DISCONNECTS_MAX) {
        stats.resends++;
        // Waits until the socket has closed: the driver never answers a query between a socket's
        // error and its end. The driver waits as long before it connects again.
        await pause(LOST_MS);
        continue;
      }
      if (!lost && !isContention(error) && !isTimeout(error)) throw error;
      throw new Contention("the database cannot take moves now", { cause: error });
    }
  }
}

function isHopeless(error: unknown): boolean {
  return error instanceof Contention || isUnavailable(error);
}

async function send(pool: Pool, batch: Item[], tail: string): Promise<Outcome[]> {
  const moves = batch.map((item) => item.move);
  const inOneMessage = pool.settings === "";
  const single = inOneMessage ? singleParameters(moves, tail) : null;
  if (single !== null) {
    const [row] = await pool.sql.unsafe<SingleRow[]>(SINGLE_CALL, single, PREPARED);
    return [outcomeOf(tail, row)];
  }
  const positions = positionsOf(moves);
  const parameters = queuedParameters(moves, tail, positions);
  const row = inOneMessage
    ? (await pool.sql.unsafe<ApplyRow[]>(QUEUED_CALL, parameters, PREPARED))[0]
    : await runLocked(pool, QUEUED_STATEMENT, parameters);
  return outcomesOf(moves, positions, row, tail);
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
