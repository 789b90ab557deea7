/**
 * Posting queue of a realm (group commit): moves that arrive while a batch is in flight form the next
 * batch, which is one serializable transaction. No timer collects: a move goes at once where nothing
 * is in flight. One batch at most is sent behind the one in flight, on the same connection (pipelining).
 * A batch that came in one request is a transaction of its own; none is sent behind it or it behind another.
 *
 * The ledger lock is taken before the snapshot, so batches of several processes cannot fail against each
 * other. After a lost connection the batch is sent again. Each move has an idempotency key, of its own
 * where the request brought none, so nothing is posted twice; the tail of the id under a key tells the
 * queue's own earlier posting from that of another request.
 * @module
 */
import type { Pool } from "../database.ts";
import { Contention } from "../errors.ts";
import {
  type BulkItem,
  type BulkRow,
  isOneMessage,
  type Item,
  type LostStanding,
  type PostingQueueStats,
  runBatch,
  runBulk,
  type Sending,
  type Wait,
} from "./posting_batches.ts";
import {
  type Bulk,
  type BulkOutcome,
  type KeyedMove,
  type Outcome,
  readOutcomes,
  writeMoves,
  type WrittenMoves,
} from "./posting_protocol.ts";
import { openPostingShares, type PostingShares, type Weighed } from "./posting_shares.ts";
import { openWaitingMoves } from "./waiting_moves.ts";

/** A realm's queue in this process. */
export interface PostingQueue {
  /**
   * Posts a move.
   *
   * @param lostStanding asked before it is sent: it may have waited
   * @throws {Contention} when too many wait, or the database stays away; the reason why the caller may act no more
   */
  post(move: KeyedMove, lostStanding?: LostStanding): Promise<Outcome>;
  /** Posts a batch that came in one request, in a transaction of its own. @throws {Contention} as above */
  postBulk(bulk: Bulk, lostStanding?: LostStanding): Promise<BulkOutcome>;
  stats(): PostingQueueStats;
  /** Moves waiting or in flight. */
  depth(): number;
  /** Whether so many moves wait or are in flight that they form large batches by themselves. */
  isCrowded(): boolean;
}

/** How a queue works. */
export interface PostingQueueOptions {
  /** Greatest batch: its moves, of which one with long texts counts as several. */
  batchMax?: number;
  /** Moves that may wait, of which one with long texts counts as several; more are refused before memory grows. */
  waitingMax?: number;
  /** How long a move may wait before it is sent, and a batch is sent again after lost connections, in milliseconds. */
  waitMaxMs?: number;
  /** Whether the moves that wait go behind the batch in flight. */
  mayPipeline?: (load: QueueLoad) => boolean;
}

/** How many moves a queue has. */
export interface QueueLoad {
  waiting: number;
  inFlight: number;
  /** The most that waited and were in flight together lately. */
  peak: number;
}

/** A batch in flight. */
interface Flight {
  size: number;
  /** Whether another batch may be sent behind it. */
  leads: () => boolean;
  landed: Promise<void>;
}

/** The standing of a caller that nothing takes away. */
const KNOWN: LostStanding = () => null;
const BATCH_MAX = 1000;
const WAITING_MAX = 50_000;
/** Characters of free-form texts for which a move counts as one more among those that wait. */
const TEXT_SIZE = 4096;
/** As long as other requests wait for the database. */
const WAIT_MAX_MS = 60_000;
/** A smaller batch costs more than the pause that it fills. */
const PIPELINED_MIN = 4;
/** From so many moves on, the batch that goes behind another is a part of all of them instead of as large as that. */
const CROWD_MIN = 65;
/**
 * A part of a crowd that goes behind the batch in flight: one part is posted, one waits at the server, and the rest is
 * answered and asked for anew meanwhile.
 */
const CROWD_PART = 0.4;
/** A larger batch costs no less for each of its moves. */
const CROWD_PART_MAX = 128;
/** How much of the peak is left after each batch. */
const PEAK_DECAY = 0.98;

/** Moves that wait go behind a batch that is no larger; where many came together lately, once they are a good part of them. */
function isDue({ waiting, inFlight, peak }: QueueLoad): boolean {
  if (peak >= CROWD_MIN) return waiting >= Math.min(peak * CROWD_PART, CROWD_PART_MAX);
  return waiting >= PIPELINED_MIN && waiting >= inFlight;
}

/** Opens the queue of a realm on a pool of one connection. */
export function openPostingQueue(pool: Pool, options: PostingQueueOptions = {}): PostingQueue {
  const stats = { batches: 0, moves: 0, retries: 0, splits: 0, resends: 0, pipelined: 0 };
  const waitingMax = options.waitingMax ?? WAITING_MAX;
  const waitMaxMs = options.waitMaxMs ?? WAIT_MAX_MS;
  const last = openLastOfKeys();
  const shares = openPostingShares(waitingMax);
  const { leave, depth } = shares;
  const departures = openDepartures({ pool, stats, options, waitMaxMs }, shares);

  /** Has a request wait for the one before it with the same key, whose answer is then kept. */
  function enter<T>(key: string | null, moves: Weighed, send: () => Promise<T>): Promise<T> {
    try {
      shares.enter(moves);
    } catch (error) {
      return Promise.reject(error);
    }
    if (key === null) return send();
    const before = last.get(key);
    const sent = before === undefined ? send() : after(before, waitMaxMs, send, () => leave(moves));
    last.set(key, sent);
    // Not with its batch: the other half of a divided one may still run.
    const forget = () => last.delete(key, sent);
    sent.then(forget, forget);
    return sent;
  }

  function post(move: KeyedMove, lostStanding = KNOWN): Promise<Outcome> {
    const { key } = move;
    const moves = { of: move, size: 1, weight: weightOf(move) };
    return enter(key, moves, () => {
      const { promise, resolve, reject } = Promise.withResolvers<Outcome>();
      const keyed = key === null ? withKey(move) : move;
      departures.add({ ...moves, move: keyed, lostStanding, resolve, reject, at: now() });
      return promise;
    });
  }

  function enterBulk(
    bulk: Bulk,
    written: WrittenMoves,
    lostStanding: LostStanding,
  ): Promise<BulkRow> {
    const moves = weighed(bulk);
    return enter(bulk.key, moves, () => {
      const { promise, resolve, reject } = Promise.withResolvers<BulkRow>();
      departures.addBulk({ ...moves, bulk, written, lostStanding, resolve, reject, at: now() });
      return promise;
    });
  }

  const postBulk = (bulk: Bulk, lostStanding = KNOWN) =>
    written(bulk, (moves) => enterBulk(bulk, moves, lostStanding));
  const isCrowded = () => depth() >= CROWD_MIN;
  return { post, postBulk, stats: () => ({ ...stats }), depth, isCrowded };
}

/** The last request of each key that waits or is in flight. */
interface LastOfKeys {
  get(key: string): Promise<unknown> | undefined;
  set(key: string, sent: Promise<unknown>): void;
  /** Takes a request away, unless another one with its key came. */
  delete(key: string, sent: Promise<unknown>): void;
}

/**
 * Keeps them in maps that live for some hundred requests. V8 links the table that a map has outgrown to the next one: of a
 * map that stays, once such a table was old, each later one became old with all that it held.
 */
function openLastOfKeys(): LastOfKeys {
  let [older, newer] = [new Map<string, Promise<unknown>>(), new Map<string, Promise<unknown>>()];
  return {
    get: (key) => newer.get(key) ?? older.get(key),
    set(key, sent) {
      if (older.size === 0 && newer.size > 0) [older, newer] = [newer, new Map()];
      newer.set(key, sent);
    },
    delete(key, sent) {
      for (const map of [newer, older]) if (map.get(key) === sent) map.delete(key);
    },
  };
}

/** Forms batches of added moves and sends them, in turns: neither kind delays the other for long. */
function openDepartures(
  of: Pick<Sending, "pool" | "stats" | "waitMaxMs"> & { options: PostingQueueOptions },
  { leave }: Pick<PostingShares, "leave">,
): { add(item: Item): void; addBulk(item: BulkItem): void } {
  const { pool, stats, options, waitMaxMs } = of;
  const batchMax = options.batchMax ?? BATCH_MAX;
  const mayPipeline = options.mayPipeline ?? isDue;
  const waiting = openWaitingMoves<Item>();
  const bulks = openWaitingMoves<BulkItem>();
  const flights: Flight[] = []; // at most two
  let peak = 0;
  let [bulkNext, armed] = [false, false];

  function mayDepart(): boolean {
    const [moves, requests] = [waiting.size(), bulks.size()];
    if (flights.length === 0) return moves > 0 || requests > 0;
    if (flights.length > 1 || moves === 0) return false;
    const [{ size: inFlight, leads }] = flights;
    peak = Math.max(peak, moves + inFlight);
    return requests === 0 && leads() && mayPipeline({ waiting: moves, inFlight, peak });
  }

  function arm(): void {
    if (armed || !mayDepart()) return;
    armed = true;
    queueMicrotask(() => { // all moves posted in this task go together; later ones wait for the next batch
      armed = false;
      depart();
    });
  }

  function depart(): void {
    const since = now() - waitMaxMs;
    refuse(waiting.takeBefore(since)).forEach(leave);
    refuse(bulks.takeBefore(since)).forEach(leave);
    while (mayDepart()) {
      const [item] = bulkNext || waiting.size() === 0 ? bulks.take(1) : [];
      bulkNext = item === undefined;
      if (item !== undefined) {
        const run = (sending: Sending) => runBulk(sending, item);
        fly([item], { size: item.size, leads: () => false, run }); // three messages: none is sent behind it
        continue;
      }
      const batch = waiting.take(batchMax);
      peak *= PEAK_DECAY;
      const run = (sending: Sending) => runBatch(sending, batch);
      fly(batch, { size: batch.length, leads: () => isOneMessage(pool), run });
    }
  }

  function fly(moves: readonly Weighed[], departure: Departure): void {
    launch({ pool, stats, waitMaxMs, flights }, departure, () => {
      moves.forEach(leave);
      depart();
    });
  }

  return {
    add(item) {
      waiting.add(item);
      arm();
    },
    addBulk(item) {
      bulks.add(item);
      arm();
    },
  };
}

/** A batch that is sent. */
interface Departure extends Pick<Flight, "size" | "leads"> {
  run: (sending: Sending) => Promise<void>;
}

/** Sends a batch, behind the last one in flight if there is one. */
function launch(
  { flights, ...to }: Pick<Sending, "pool" | "stats" | "waitMaxMs"> & { flights: Flight[] },
  { size, leads, run }: Departure,
  onLanded: () => void,
): void {
  const ahead = flights.at(-1)?.landed ?? null;
  if (ahead !== null) to.stats.pipelined++;
  const { promise: landed, resolve } = Promise.withResolvers<void>();
  const land = () => {
    const place = flights.indexOf(flight);
    if (place < 0) return;
    flights.splice(place, 1);
    onLanded();
    resolve();
  };
  const sending: Sending = { ...to, ahead, failed: false, land };
  const flight = { size, leads: () => leads() && !sending.failed, landed };
  flights.push(flight);
  run(sending).catch(land); // nothing in it throws; if it did, the next batch would still be sent
}

/** Writes the parameters of a batch before its turn and reads its outcomes after it, so others do not wait for that. */
async function written(
  bulk: Bulk,
  enter: (moves: WrittenMoves) => Promise<BulkRow>,
): Promise<BulkOutcome> {
  const moves = await writeMoves(bulk.moves);
  const row = await enter(moves);
  return row.replay ? { replay: row.replay } : { outcomes: await readOutcomes(moves, row) };
}

/** How many moves one counts as. */
function weightOf({ seal, data }: KeyedMove): number {
  return 1 + Math.floor(((seal?.length ?? 0) + (data?.length ?? 0)) / TEXT_SIZE);
}

/** Large bodies are few at once, so the moves of one count as they are. One whose items name nobody has none. */
function weighed(bulk: Bulk): Weighed {
  const { length } = bulk.moves;
  return { of: bulk, size: length, weight: Math.max(1, length) };
}

/** Refuses what has waited for too long. */
function refuse<T extends Wait<never>>(late: readonly T[]): readonly T[] {
  for (const { reject } of late) {
    reject(new Contention("the database did not take earlier moves in time"));
  }
  return late;
}

/** Sends a request after another with the same key; gives it up where that took too long, as `giveUp` is told. */
async function after<T>(
  before: Promise<unknown>,
  waitMaxMs: number,
  send: () => Promise<T>,
  giveUp: () => void,
): Promise<T> {
  const until = now() + waitMaxMs;
  await before.catch(() => {});
  if (now() < until) return await send();
  giveUp();
  throw new Contention("an earlier request with this key took too long", { mayBeDone: true });
}

function now(): number {
  return performance.now();
}

/** Gives a move without a key one of its own, so that a resend finds the first posting. */
function withKey(move: KeyedMove): KeyedMove {
  return { ...move, key: crypto.randomUUID(), fingerprint: crypto.randomUUID() };
}
