/**
 * Moves as the posting functions take them, and how they ended. Arrays are written by hand because this
 * is the hottest path of the service.
 * @module
 */

import {
  type BulkReplay,
  ownReplay,
  type RawBulkReplay,
  type RawReplay,
  type Replay,
} from "./replays.ts";
import { inSlices, joinInSlices } from "../slices.ts";

/**
 * One move, ready to be posted; the ledger gives it its id and time. Amounts are decimals in whole
 * units of the asset.
 */
export interface Move {
  source: string;
  destination: string;
  amount: string;
  /** The user that moves; null for the service itself. */
  actor: string | null;
  /** Whether the actor may move out of accounts of others. */
  any: boolean;
  origin: string | null;
  /** The key of a machine that moves as the actor. */
  apiKey: string | null;
  /** JSON texts, or null. */
  seal: string | null;
  data: string | null;
  reference: string | null;
  /** JSON text with what few moves have: asset, conditions, reverts, address_data. */
  more: string | null;
}

/** A move with the idempotency key it came under. */
export interface KeyedMove extends Move {
  key: string | null;
  fingerprint: string | null;
}

/** A batch that came in one request. */
export interface Bulk {
  moves: readonly Move[];
  /** One refusal refuses all. */
  atomic: boolean;
  /** Never null: a request without a key brings one of its own. */
  key: string;
  fingerprint: string;
  requestId: string;
  /** JSON text of the items that did not come this far, or null; kept for the replay. */
  unresolved: string | null;
  actor: string | null;
  any: boolean;
  origin: string | null;
  apiKey: string | null;
}

/** How a batch of one request ended. An atomic one with refusals has changed nothing. */
export type BulkOutcome = { outcomes: Outcome[] } | { replay: BulkReplay };

/** How one move ended. */
export type Outcome =
  | { posted: Posted }
  | { refused: string }
  | { replay: Replay };

/**
 * A posted move's figures. Balances are after the move; blocked is what is held back, open blocks and
 * linked value, and null for a frozen account.
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

/** What the posting functions return, as text. */
export interface ApplyRow {
  refusals: string | null;
  source_total: string;
  destination_total: string;
  blocked: string;
  fiat_rate: string | null;
  fiat_value: string | null;
  /** What the ids begin and end with; null where the ledger was not asked to post. */
  stamp: string | null;
  replays?: Record<string, RawReplay> | null;
  replay?: RawBulkReplay | null;
}

/** What the posting functions return, as columns. */
export const POSTED_COLUMNS: string =
  "refusals::text, source_total::text, destination_total::text, blocked::text, " +
  "fiat_rate::text, fiat_value::text, stamp";

/** The statement that posts moves which came one by one, each under its own key. */
export const LANE_STATEMENT = `select ${POSTED_COLUMNS}, replays from ledger_lane(
  $1::uuid[], $2::uuid[], $3::text, $4::uuid[], $5::int[], $6::int[], $7::numeric[],
  $8::uuid[], $9::boolean[], $10::inet[], $11::uuid[], $12::jsonb[], $13::jsonb[], $14::text[],
  $15::jsonb[])`;

/** The same as a transaction of its own, in one message: for sessions with none open. */
export const LANE_CALL = `call ledger_lane_now(
  $1::uuid[], $2::uuid[], $3::text, $4::uuid[], $5::int[], $6::int[], $7::numeric[],
  $8::uuid[], $9::boolean[], $10::inet[], $11::uuid[], $12::jsonb[], $13::jsonb[], $14::text[],
  $15::jsonb[],
  null, null, null, null, null, null, null, null)`;

/** {@link LANE_CALL} for one move without reference and conditions, which costs half as much so. */
export const SINGLE_CALL = `call ledger_single_now(
  $1::uuid, $2::uuid, $3::text, $4::uuid, $5::uuid, $6::numeric, $7::uuid,
  $8::text::boolean, $9::inet, $10::uuid, $11::text::jsonb, $12::text::jsonb, null, null, null)`;

/** What {@link SINGLE_CALL} returns. */
export interface SingleRow {
  /** Totals and held back amounts of source and destination, rate, value, stamp; "NULL" for none. */
  posted: string[];
  refused: string | null;
  replay: RawReplay | null;
}

/**
 * The statement that posts a batch of one request. Through text, because the driver would write a
 * boolean's or a document's text once more.
 */
export const BULK_STATEMENT = `select ${POSTED_COLUMNS}, replay from ledger_bulk(
  $1::uuid, $2::uuid, $3::text, $4::text::jsonb, $5::text::boolean, $6::text, $7::uuid,
  $8::text::boolean,
  $9::inet, $10::uuid, $11::uuid[], $12::int[], $13::int[], $14::numeric[], $15::jsonb[],
  $16::jsonb[], $17::text[], $18::jsonb[])`;

/** The accounts of a batch. */
export interface Positions {
  /** Distinct, ascending. */
  ids: string[];
  /** Each move's 1-based positions in them. */
  sources: number[];
  destinations: number[];
}

/** Finds the accounts of a batch and each move's places among them. */
export function positionsOf(moves: readonly Move[]): Positions {
  const positions = new Map<string, number>();
  for (const move of moves) {
    positions.set(move.source, 0);
    positions.set(move.destination, 0);
  }
  const ids = [...positions.keys()].sort();
  for (let i = 0; i < ids.length; i++) positions.set(ids[i], i + 1);
  return {
    ids,
    sources: moves.map((move) => positions.get(move.source)!),
    destinations: moves.map((move) => positions.get(move.destination)!),
  };
}

/** What each column of a posting says of a move. */
type ColumnOf = (move: Move) => string | null;

/** Columns that most moves have something in, in the order of the posting functions' parameters. */
const USUAL: readonly ColumnOf[] = [
  (move) => move.amount,
  (move) => move.actor,
  (move) => move.any ? "t" : "f",
  (move) => move.origin,
];
/** What few moves have, behind the others: an empty array stands for nulls alone. */
const RARE: readonly ColumnOf[] = [
  (move) => move.apiKey,
  (move) => move.seal,
  (move) => move.data,
  (move) => move.reference,
  (move) => move.more,
];

/** Moves as the posting functions take them. */
export interface WrittenMoves {
  moves: readonly Move[];
  positions: Positions;
  /** As {@link moveParameters} gives them. */
  columns: string[];
}

/** Writes moves as arrays, in the order of the posting functions' parameters. */
export function moveParameters(moves: readonly Move[], positions: Positions): string[] {
  return [
    ...placesOf(positions),
    ...USUAL.map((of) => list(moves, of)),
    ...RARE.map((of) => has(moves, of) ? list(moves, (move) => quoted(of(move))) : "{}"),
  ];
}

/** Writes very many moves, in slices. */
export async function writeMoves(moves: readonly Move[]): Promise<WrittenMoves> {
  const positions = positionsOf(moves);
  const columns = placesOf(positions);
  for (const of of USUAL) {
    columns.push(`{${await joinInSlices(moves, (move) => of(move) ?? "NULL")}}`);
  }
  for (const of of RARE) {
    const isUsed = has(moves, of);
    const write = (move: Move) => quoted(of(move)) ?? "NULL";
    columns.push(isUsed ? `{${await joinInSlices(moves, write)}}` : "{}");
  }
  return { moves, positions, columns };
}

/** Writes accounts and positions as PostgreSQL array literals. */
function placesOf({ ids, sources, destinations }: Positions): string[] {
  return [ids, sources, destinations].map((items) => `{${items.join(",")}}`);
}

function has(moves: readonly Move[], of: ColumnOf): boolean {
  return moves.some((move) => of(move) !== null);
}

function list(moves: readonly Move[], of: (move: Move) => string | null): string {
  let text = "{";
  for (let i = 0; i < moves.length; i++) {
    if (i > 0) text += ",";
    text += of(moves[i]) ?? "NULL";
  }
  return text + "}";
}

/** Writes a batch with its keys, as {@link LANE_STATEMENT} takes it. */
export function laneParameters(
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
    ...moveParameters(moves, positions),
  ];
}

/** Writes the only move of a batch as {@link SINGLE_CALL} takes it; null where it asks for more. */
export function singleParameters(
  moves: readonly KeyedMove[],
  tail: string,
): (string | null)[] | null {
  const [move] = moves;
  if (moves.length > 1 || move.reference !== null || move.more !== null) return null;
  return [
    move.key,
    move.fingerprint,
    tail,
    move.source,
    move.destination,
    move.amount,
    move.actor,
    move.any ? "t" : "f",
    move.origin,
    move.apiKey,
    move.seal,
    move.data,
  ];
}

/** Writes a batch of one request, as {@link BULK_STATEMENT} takes it. */
export function bulkParameters(
  bulk: Bulk,
  tail: string,
  { columns }: WrittenMoves,
): (string | null)[] {
  const { key, fingerprint, requestId, unresolved, atomic, actor, any } = bulk;
  return [
    key,
    fingerprint,
    requestId,
    unresolved,
    atomic ? "t" : "f",
    tail,
    actor,
    any ? "t" : "f",
    bulk.origin,
    bulk.apiKey,
    ...columns.slice(0, 4),
    ...columns.slice(8), // who moves is the same for all
  ];
}

/**
 * The id that the ledger gave to a move, and its time in milliseconds since the epoch.
 *
 * @param stamp what the ids of the posting begin and end with
 * @param position the move's in its posting, from 0
 */
export function stampedId(stamp: string, position: number): { id: string; at: number } {
  const [high, low, number] = [stamp.slice(0, 8), stamp.slice(8, 12), stamp.slice(12, 16)];
  const place = (0x8000 + position).toString(16);
  return {
    id: `${high}-${low}-${number}-${place}-${stamp.slice(16)}`,
    at: parseInt(high + low, 16),
  };
}

/** Reads how the only move of a batch ended. */
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

/** Reads how each move of a batch ended. */
export function outcomesOf(
  moves: readonly Move[],
  positions: Positions,
  row: ApplyRow,
  tail = "",
): Outcome[] {
  return moves.length === 0 ? [] : moves.map(readerOf(positions, row, tail));
}

/** Reads how each of very many moves ended, in slices. */
export async function readOutcomes(
  { moves, positions }: WrittenMoves,
  row: ApplyRow,
): Promise<Outcome[]> {
  return moves.length === 0 ? [] : await inSlices(moves, readerOf(positions, row, ""));
}

/** What tells how a move ended, by its index. */
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

/** Quotes an array element. */
function quoted(text: string | null): string | null {
  if (text === null) return null;
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Splits an array of numbers, codes or nulls, which never hold a comma or a quote. */
function elements(text: string): string[] {
  return text.slice(1, -1).split(",");
}

function orNull(element: string | undefined): string | null {
  return element === undefined || element === "NULL" ? null : element;
}
