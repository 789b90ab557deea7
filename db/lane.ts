/**
 * The lane: moves that arrive while a batch of their realm is in flight ride together in the next
 * one. No timer: a lone move goes at once, a crowd shares one serializable transaction.
 *
 * The gate is taken before the snapshot, so batches of several processes cannot fail against each
 * other. What a lost connection leaves open is settled by looking for the batch's own transaction ids.
 * @module
 */
import { setImmediate } from "node:timers";
import type { Pool } from "./database.ts";
import { codeOf, Contention, isContention, isDisconnect } from "./errors.ts";
import {
  type ApplyRow,
  type KeyedMove,
  LANE_STATEMENT,
  laneParameters,
  type Outcome,
  outcomesOf,
  selectPosted,
} from "./ledger.ts";
import { gatedBegin } from "./transaction.ts";

/** A move before it has an id: the lane gives ids when a batch departs, so that they ascend. */
export type WaitingMove = Omit<KeyedMove, "id">;

/** Counters of a lane, since the process started. */
export interface LaneStats {
  batches: number;
  moves: number;
  retries: number;
  splits: number;
  settlements: number;
}

/** A realm's lane in this process. */
export interface Lane {
  /** Posts a move. @throws {Contention} when too many wait, or the database stays away */
  post(move: WaitingMove): Promise<Outcome>;
  stats(): LaneStats;
  /** Moves waiting or in flight. */
  depth(): number;
}

/** How a lane works. */
export interface LaneOptions {
  /** Makes ids for a batch; all carry the same time, in milliseconds. */
  newIds: (count: number) => { ids: string[]; at: number };
  /** Greatest batch. */
  batchMax?: number;
  /** Moves that may wait; more are refused before memory grows. */
  waitingMax?: number;
}

interface Item {
  move: KeyedMove;
  at: number;
  resolve: (outcome: Outcome) => void;
  reject: (error: unknown) => void;
}

const BATCH_MAX = 1000;
const WAITING_MAX = 20_000;
const RETRIES_MAX = 50;
const DISCONNECTS_MAX = 40;

/** Opens the lane of a realm on a pool of one connection. */
export function openLane(pool: Pool, options: LaneOptions): Lane {
  const stats: LaneStats = { batches: 0, moves: 0, retries: 0, splits: 0, settlements: 0 };
  const batchMax = options.batchMax ?? BATCH_MAX;
  const waitingMax = options.waitingMax ?? WAITING_MAX;
  const ahead = new Map<string, Promise<Outcome>>(); // keys that wait or are in flight
  let waiting: Item[] = [];
  let flying = 0;
  let armed = false;

  function arm(): void {
    if (armed || flying > 0) return;
    armed = true;
    setImmediate(() => { // whatever this turn of the event loop brings rides along
      armed = false;
      void depart();
    });
  }

  async function depart(): Promise<void> {
    while (waiting.length > 0 && flying === 0) {
      const batch = waiting.splice(0, batchMax);
      flying = batch.length;
      const { ids, at } = options.newIds(batch.length);
      batch.forEach((item, i) => {
        item.move.id = ids[i];
        item.at = at;
      });
      await run(pool, batch, stats);
      flying = 0;
    }
  }

  function enter(move: WaitingMove): Promise<Outcome> {
    if (waiting.length >= waitingMax) {
      return Promise.reject(new Contention("too many moves are waiting in this realm"));
    }
    const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
    waiting.push({ move: Object.assign(move, { id: "" }), at: 0, resolve, reject });
    arm();
    return promise;
  }

  return {
    async post(move) {
      const key = move.key;
      if (key === null) return await enter(move);
      // The same key twice at once: the second waits for the first, then finds its answer kept.
      for (let first = ahead.get(key); first !== undefined; first = ahead.get(key)) {
        await first.catch(() => {});
      }
      const outcome = enter(move);
      ahead.set(key, outcome);
      try {
        return await outcome;
      } finally {
        ahead.delete(key);
      }
    },
    stats: () => ({ ...stats }),
    depth: () => waiting.length + flying,
  };
}

/** Runs one batch to its end, whatever happens on the way; never throws. */
async function run(pool: Pool, batch: Item[], stats: LaneStats): Promise<void> {
  let disconnects = 0;
  for (let attempt = 1;; attempt++) {
    try {
      const outcomes = await send(pool, batch);
      stats.batches++;
      stats.moves += batch.length;
      batch.forEach((item, i) => item.resolve(outcomes[i]));
      return;
    } catch (error) {
      if (isContention(error) && attempt < RETRIES_MAX) {
        stats.retries++;
        if (attempt > 3) await pause(Math.random() * Math.min(50, attempt * 5));
        continue;
      }
      // 23505: an attempt whose connection was lost has been committed meanwhile.
      const open = isDisconnect(error) || (codeOf(error) === "23505" && disconnects > 0);
      if (open && ++disconnects < DISCONNECTS_MAX) {
        await pause(disconnects === 1 ? 0 : 100);
        batch = await settle(pool, batch, stats);
        if (batch.length === 0) return;
        continue;
      }
      if (batch.length > 1 && !open && !isContention(error)) {
        stats.splits++;
        const half = batch.length >> 1;
        await run(pool, batch.slice(0, half), stats);
        await run(pool, batch.slice(half), stats);
        return;
      }
      const reason = open || isContention(error)
        ? new Contention("the database cannot take moves now", { cause: error })
        : error;
      for (const item of batch) item.reject(reason);
      return;
    }
  }
}

/** Sends a batch as one write: begin with the gate, post, commit; and waits once. */
async function send(pool: Pool, batch: Item[]): Promise<Outcome[]> {
  const moves = batch.map((item) => item.move);
  const at = batch[0].at;
  const { arrays, parameters } = laneParameters(moves, at);
  const { sql } = pool;
  const prepare = sql.options.prepare;
  const parts = await Promise.allSettled([
    sql.unsafe(gatedBegin(pool)).simple().execute(),
    sql.unsafe<ApplyRow[]>(LANE_STATEMENT, parameters, { prepare }).execute(),
    sql.unsafe("commit").simple().execute(),
  ]);
  for (const part of parts) if (part.status === "rejected") throw part.reason;
  const posted = parts[1] as PromiseFulfilledResult<ApplyRow[]>;
  return outcomesOf(moves, arrays, at, posted.value[0]);
}

/**
 * Answers those of a batch that an attempt with a lost connection did commit. They are found as
 * replays of themselves, so they are sent again without change and read from the ledger.
 */
async function settle(pool: Pool, batch: Item[], stats: LaneStats): Promise<Item[]> {
  stats.settlements++;
  try {
    const posted = await selectPosted(pool.sql, batch.map((item) => item.move.id));
    if (posted.size === 0) return batch;
    const open: Item[] = [];
    for (const item of batch) {
      if (!posted.has(item.move.id)) open.push(item);
      else {
        const { id: transaction } = item.move;
        item.resolve({ replay: { same: true, status: null, body: null, transaction } });
      }
    }
    return open;
  } catch (error) {
    if (isDisconnect(error)) return batch;
    throw error;
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
