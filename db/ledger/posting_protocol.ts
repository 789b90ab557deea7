/**
 * The statements of the posting functions: text, parameters, and the outcome of each move.
 * @module
 */
import {
  asText,
  BULK_MOVE_TYPES,
  bulkMoveParameters,
  isGrouped,
  type Move,
  MOVE_TYPES,
  moveParameters,
  type Mover,
  moversOf,
  parametersOf,
  type Positions,
  SINGLE_MOVE_TYPES,
  singleMoveParameters,
  type WrittenMoves,
} from "./posting_columns.ts";
import {
  type BulkReplay,
  ownReplay,
  type RawBulkReplay,
  type RawReplay,
  type Replay,
} from "./replays.ts";
import { inSlices } from "../slices.ts";

export type { Move, WrittenMoves } from "./posting_columns.ts";
export { moveParameters, positionsOf, writeMoves } from "./posting_columns.ts";

/** A move with the idempotency key it came under. */
export interface KeyedMove extends Move {
  key: string | null;
  fingerprint: string | null;
}

/** A batch that came in one request. */
export interface Bulk extends Mover {
  moves: readonly Move[];
  /** One refusal refuses all. */
  atomic: boolean;
  /** Never null: a request without a key brings one of its own. */
  key: string;
  fingerprint: string;
  requestId: string;
  /** JSON text of the items that were refused before posting, or null; stored for the replay. */
  unresolved: string | null;
}

/** The outcome of a batch of one request. An atomic one with refusals has changed nothing. */
export type BulkOutcome = { outcomes: Outcome[] } | { replay: BulkReplay };

/** The outcome of one move. */
export type Outcome =
  | { posted: Posted }
  | { refused: string }
  | { replay: Replay };

/**
 * A posted move's figures. Balances are after the move; `blocked` is the amount held back, open
 * blocks and linked value; null for a frozen account.
 */
export interface Posted {
  id: string;
  at: number;
  sourceTotal: string;
  sourceBlocked: string | null;
  destinationTotal: string;
  destinationBlocked: string | null;
  fiatRate: string | null;
  fiatValue: string | null;
}

/** The results of the posting functions, as text. */
export interface ApplyRow {
  refusals: string | null;
  source_total: string;
  destination_total: string;
  blocked: string;
  fiat_rate: string | null;
  fiat_value: string | null;
  /** Head and tail of the ids; null if nothing was posted. */
  stamp: string | null;
  replays?: Record<string, RawReplay> | null;
  replay?: RawBulkReplay | null;
}

/** The results of the posting functions, as columns. */
export const POSTED_COLUMNS: string =
  "refusals::text, source_total::text, destination_total::text, blocked::text, " +
  "fiat_rate::text, fiat_value::text, stamp";

/** Key, fingerprint and tail of the ids, before the moves. */
const KEYED_TYPES = ["uuid[]", "uuid[]", "text", ...MOVE_TYPES];
const SINGLE_TYPES = ["uuid", "uuid", "text", ...SINGLE_MOVE_TYPES];
/** Key, fingerprint, request, unresolved items, atomic, tail. */
const BULK_TYPES = [
  ...["uuid", "uuid", "text", asText("jsonb"), asText("boolean"), "text"],
  ...BULK_MOVE_TYPES,
];

/** The statement that posts moves which came one by one, each under its own key. */
export const QUEUED_STATEMENT = `select ${POSTED_COLUMNS}, replays from ledger_queued(${
  parametersOf(KEYED_TYPES)
})`;

/** The same as a transaction of its own, in one message: for sessions with none open. */
export const QUEUED_CALL = `call ledger_queued_now(${parametersOf(KEYED_TYPES)}, ${nulls(8)})`;

/** {@link QUEUED_CALL} for one move without reference and conditions, which costs half as much so. */
export const SINGLE_CALL = `call ledger_single_now(${parametersOf(SINGLE_TYPES)}, ${nulls(3)})`;

/** The statement that posts a batch of one request. */
export const BULK_STATEMENT = `select ${POSTED_COLUMNS}, replay from ledger_bulk(${
  parametersOf(BULK_TYPES)
})`;

/** The output parameters of a procedure, which the call passes as nulls. */
function nulls(count: number): string {
  return Array(count).fill("null").join(", ");
}

/** The result of {@link SINGLE_CALL}. */
export interface SingleRow {
  /** Totals and held back amounts of source and destination, rate, value, stamp; "NULL" for none. */
  posted: string[];
  refused: string | null;
  replay: RawReplay | null;
}

/** Writes a batch with its keys, as {@link QUEUED_STATEMENT} takes it. */
export function queuedParameters(
  moves: readonly KeyedMove[],
  tail: string,
  positions: Positions,
): string[] {
  const keys = moves.map((move) => move.key ?? "NULL").join(",");
  const fingerprints = moves.map((move) => move.fingerprint ?? "NULL").join(",");
  return [
    `{${keys}}`,
    `{${fingerprints}}`,
    tail,
    ...moveParameters(moves, positions, moversOf(moves)),
  ];
}

/**
 * Writes the only move of a batch as {@link SINGLE_CALL} takes it; null if that does not take all
 * of its fields.
 */
export function singleParameters(
  moves: readonly KeyedMove[],
  tail: string,
): (string | null)[] | null {
  const [move] = moves;
  if (moves.length > 1 || isGrouped(move)) return null;
  return singleMoveParameters([move.key, move.fingerprint, tail], move);
}

/** Writes a batch of one request, as {@link BULK_STATEMENT} takes it. */
export function bulkParameters(
  bulk: Bulk,
  tail: string,
  written: WrittenMoves,
): (string | null)[] {
  const { key, fingerprint, requestId, unresolved, atomic } = bulk;
  const request = [key, fingerprint, requestId, unresolved, atomic ? "t" : "f", tail];
  return [...request, ...bulkMoveParameters(bulk, written)];
}

/**
 * The id that the ledger gave to a move, and its time in milliseconds since the epoch.
 *
 * @param stamp head and tail of the posting's ids
 * @param position the move's in its posting, from 0
 */
function stampedId(stamp: string, position: number): { id: string; at: number } {
  if (stamp !== stamped.stamp) stamped = partsOf(stamp);
  const { beginning, tail, at } = stamped;
  return { id: `${beginning}${(0x8000 + position).toString(16)}${tail}`, at };
}

/** What the ids of a posting have in common: those of its moves are read one after the other. */
let stamped = partsOf("");

function partsOf(stamp: string): { stamp: string; beginning: string; tail: string; at: number } {
  const [high, low, number] = [stamp.slice(0, 8), stamp.slice(8, 12), stamp.slice(12, 16)];
  return {
    stamp,
    beginning: `${high}-${low}-${number}-`,
    tail: `-${stamp.slice(16)}`,
    at: parseInt(high + low, 16),
  };
}

/** Reads the outcome of the only move of a batch. */
export function outcomeOf(tail: string, row: SingleRow): Outcome {
  if (row.replay !== null) return { replay: ownReplay(row.replay, tail) };
  if (row.refused !== null) return { refused: row.refused };
  const [sourceTotal, destinationTotal, sourceBlocked, destinationBlocked, rate, value, stamp] =
    row.posted;
  return {
    posted: {
      ...stampedId(stamp, 0),
      sourceTotal,
      sourceBlocked: orNull(sourceBlocked),
      destinationTotal,
      destinationBlocked: orNull(destinationBlocked),
      fiatRate: orNull(rate),
      fiatValue: orNull(value),
    },
  };
}

/** Reads the outcome of each move of a batch. */
export function outcomesOf(
  moves: readonly Move[],
  positions: Positions,
  row: ApplyRow,
  tail = "",
): Outcome[] {
  return moves.length === 0 ? [] : moves.map(readerOf(positions, row, tail));
}

/** Reads the outcomes of very many moves, in slices. */
export async function readOutcomes(
  { moves, positions }: WrittenMoves,
  row: ApplyRow,
): Promise<Outcome[]> {
  return moves.length === 0 ? [] : await inSlices(moves, readerOf(positions, row, ""));
}

/** Returns a function that reads a move's outcome by its index. */
function readerOf(
  positions: Positions,
  row: ApplyRow,
  tail: string,
): (move: Move, index: number) => Outcome {
  const refusals = row.refusals === null ? null : elements(row.refusals);
  const sourceTotals = elements(row.source_total);
  const destinationTotals = elements(row.destination_total);
  const blocked = elements(row.blocked);
  const rates = row.fiat_rate === null ? null : elements(row.fiat_rate);
  const values = row.fiat_value === null ? null : elements(row.fiat_value);
  return (_, i) => {
    const replay = row.replays?.[String(i + 1)];
    if (replay !== undefined) return { replay: ownReplay(replay, tail) };
    const refused = orNull(refusals?.[i]);
    if (refused !== null) return { refused };
    const rate = orNull(rates?.[i]);
    return {
      posted: {
        ...stampedId(row.stamp!, i),
        sourceTotal: sourceTotals[i],
        sourceBlocked: orNull(blocked[positions.sources[i] - 1]),
        destinationTotal: destinationTotals[i],
        destinationBlocked: orNull(blocked[positions.destinations[i] - 1]),
        fiatRate: rate,
        fiatValue: rate === null ? null : values![i],
      },
    };
  };
}

/** Splits an array of numbers, codes or nulls, which never hold a comma or a quote. */
function elements(text: string): string[] {
  return text.slice(1, -1).split(",");
}

function orNull(element: string | undefined): string | null {
  return element === undefined || element === "NULL" ? null : element;
}
