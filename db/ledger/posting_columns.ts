/**
 * The parameters of the posting functions, in their order: one table from which the text of each
 * statement and its values are generated. Arrays are written by hand because this is the hottest
 * path of the service.
 * @module
 */
import { joinInSlices } from "../slices.ts";

/** The actor and client of a request, the same for all of its moves. */
export interface Mover {
  /** The user; null for the service itself. */
  actor: string | null;
  /** Whether the actor may move out of accounts of others. */
  mayMoveAny: boolean;
  clientIp: string | null;
  /** The machine key that acts as the actor. */
  apiKey: string | null;
}

/**
 * One move, ready to be posted; the ledger gives it its id and time. Amounts are decimals in whole
 * units of the asset.
 */
export interface Move extends Mover {
  source: string;
  destination: string;
  amount: string;
  /** JSON texts, or null. */
  seal: string | null;
  data: string | null;
  reference: string | null;
  /** JSON text of rare fields: asset, conditions, reverts, address_data. */
  extras: string | null;
}

/** A column of moves. */
type Column =
  & { type: string }
  & (
    | { of: "mover"; value: (mover: Mover) => string | null; rare?: boolean }
    | { of: "move"; value: (move: Move) => string | null; rare?: boolean; grouped?: boolean }
  );

/**
 * The columns of moves, behind the positions of their accounts. A column of the mover is written once
 * where all moves came in one request; one that is `rare` is an empty array where all moves have null;
 * one that is `grouped` is not known to the function that posts a single move.
 */
const COLUMNS: readonly Column[] = [
  { type: "numeric", of: "move", value: (move) => move.amount },
  { type: "uuid", of: "mover", value: (mover) => mover.actor },
  { type: "boolean", of: "mover", value: (mover) => mover.mayMoveAny ? "t" : "f" },
  { type: "inet", of: "mover", value: (mover) => mover.clientIp },
  { type: "uuid", of: "mover", value: (mover) => mover.apiKey, rare: true },
  { type: "jsonb", of: "move", value: (move) => move.seal, rare: true },
  { type: "jsonb", of: "move", value: (move) => move.data, rare: true },
  { type: "text", of: "move", value: (move) => move.reference, rare: true, grouped: true },
  { type: "jsonb", of: "move", value: (move) => move.extras, rare: true, grouped: true },
];
const MOVER_COLUMNS = COLUMNS.filter((column) => column.of === "mover");
const SINGLE_COLUMNS = COLUMNS.filter((column) => column.of === "mover" || !column.grouped);

/** The accounts of a batch, and each move's places among them. */
const POSITION_TYPES = ["uuid[]", "int[]", "int[]"];
/** Types of moves as arrays: as {@link moveParameters} writes them. */
export const MOVE_TYPES: readonly string[] = [
  ...POSITION_TYPES,
  ...COLUMNS.map(({ type }) => `${type}[]`),
];
/** Types of moves that came in one request: as {@link bulkMoveParameters} writes them. */
export const BULK_MOVE_TYPES: readonly string[] = [
  ...MOVER_COLUMNS.map(({ type }) => asText(type)),
  ...POSITION_TYPES,
  ...COLUMNS.filter(({ of }) => of === "move").map(({ type }) => `${type}[]`),
];
/** Types of a single move: as {@link singleMoveParameters} writes it. */
export const SINGLE_MOVE_TYPES: readonly string[] = [
  "uuid",
  "uuid",
  ...SINGLE_COLUMNS.map(({ type }) => asText(type)),
];

/** Through text, because the driver would write a boolean's or a document's text once more. */
export function asText(type: string): string {
  return type === "boolean" || type === "jsonb" ? `text::${type}` : type;
}

/** The parameters of a statement, each with its type. */
export function parametersOf(types: readonly string[]): string {
  return types.map((type, i) => `$${i + 1}::${type}`).join(", ");
}

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

/** Moves as the posting functions take them. */
export interface WrittenMoves {
  moves: readonly Move[];
  positions: Positions;
  /** As {@link moveParameters} gives them. */
  columns: string[];
}

/**
 * Writes moves as arrays, in the order of {@link MOVE_TYPES}.
 *
 * @param movers the movers of the moves, or one for all of them where the statement takes that
 */
export function moveParameters(
  moves: readonly Move[],
  positions: Positions,
  movers: readonly Mover[] = moves,
): string[] {
  const columns = placesOf(positions);
  for (const column of COLUMNS) {
    columns.push(
      column.of === "mover"
        ? written(movers, column.value, column.rare)
        : written(moves, column.value, column.rare),
    );
  }
  return columns;
}

/** The movers of moves: one where it is the same for all of them. */
export function moversOf(moves: readonly Move[]): readonly Mover[] {
  const [first] = moves;
  const isOne = moves.every((move) =>
    MOVER_COLUMNS.every(({ value }) => value(move) === value(first))
  );
  return isOne ? [first] : moves;
}

function written<T>(
  items: readonly T[],
  value: (item: T) => string | null,
  rare: boolean | undefined,
): string {
  if (!rare) return list(items, value);
  return has(items, value) ? list(items, (item) => quoted(value(item))) : "{}";
}

/** Writes very many moves, in slices. */
export async function writeMoves(moves: readonly Move[]): Promise<WrittenMoves> {
  const positions = positionsOf(moves);
  const columns = placesOf(positions);
  const isOneMover = moves.length > 0 && moversOf(moves).length === 1;
  for (const { of, value, rare } of COLUMNS) {
    const write = (move: Move) => (rare ? quoted(value(move)) : value(move)) ?? "NULL";
    if (rare && !has(moves, value)) columns.push("{}");
    else if (of === "mover" && isOneMover) columns.push(repeated(write(moves[0]), moves.length));
    else columns.push(`{${await joinInSlices(moves, write)}}`);
  }
  return { moves, positions, columns };
}

function repeated(element: string, count: number): string {
  return `{${`${element},`.repeat(count - 1)}${element}}`;
}

/** Writes moves of one request, in the order of {@link BULK_MOVE_TYPES}. */
export function bulkMoveParameters(
  mover: Mover,
  { columns }: WrittenMoves,
): (string | null)[] {
  const positions = POSITION_TYPES.length;
  return [
    ...MOVER_COLUMNS.map(({ value }) => value(mover)),
    ...columns.slice(0, positions),
    ...columns.slice(positions).filter((_, i) => COLUMNS[i].of === "move"),
  ];
}

/** Writes a single move behind other parameters, in the order of {@link SINGLE_MOVE_TYPES}. */
export function singleMoveParameters(
  before: (string | null)[],
  move: Move,
): (string | null)[] {
  before.push(move.source, move.destination);
  for (const { value } of SINGLE_COLUMNS) before.push(value(move));
  return before;
}

/** Whether a move has a field that the function for a single move does not take. */
export function isGrouped(move: Move): boolean {
  return move.reference !== null || move.extras !== null;
}

/** Writes accounts and positions as PostgreSQL array literals. */
function placesOf({ ids, sources, destinations }: Positions): string[] {
  return [ids, sources, destinations].map((items) => `{${items.join(",")}}`);
}

function has<T>(items: readonly T[], value: (item: T) => string | null): boolean {
  return items.some((item) => value(item) !== null);
}

function list<T>(items: readonly T[], value: (item: T) => string | null): string {
  let text = "{";
  for (let i = 0; i < items.length; i++) {
    if (i > 0) text += ",";
    text += value(items[i]) ?? "NULL";
  }
  return text + "}";
}

/** Quotes an array element. */
function quoted(text: string | null): string | null {
  if (text === null) return null;
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
