/**
 * Exports: the entities of a range of time as CSV, oldest first, however many they are. They are read slice by slice,
 * each after the last id of the one before, so that no transaction stays open and no slice reads more than its share.
 * @module
 */
import { z } from "zod";
import { selectIds, type Selection } from "../../db/collections/collection.ts";
import type { Condition } from "../../db/collections/filter.ts";
import type { Db } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { csvLine, csvText, csvTime } from "../csv.ts";
import { Timestamp } from "../entity.ts";
import { idBound } from "../ids.ts";
import { type AnyCollection, type Given, visibilityOf } from "./collection.ts";
import { invalidQuery, parseQuery } from "./filter.ts";
import { parseFields, parseSearch, parseWindow, pick } from "./list_parameters.ts";

/** Longest range of time of one export. */
export const RANGE_MAX_DAYS = 400;
const RANGE_MISSING =
  "CSV is of a range: from and to, in milliseconds since the epoch, are expected";
const DAY_MS = 86_400_000;
/** Rows that are read at once; fewer where each may come with free-form objects. */
const SLICE = 200;
const SLICE_OF_OBJECTS = 50;
const ALL: Condition = { op: "and", of: [] };

/** The parameters that make an answer CSV. */
export const ExportFields = {
  format: z.enum(["json", "csv"]).optional().meta({
    description: "As `accept` says unless given.",
  }),
  from: Timestamp.optional().meta({
    description: `CSV alone, which takes it: milliseconds since the epoch, included.`,
  }),
  to: Timestamp.optional().meta({
    description:
      `CSV alone, which takes it: at most ${RANGE_MAX_DAYS} days after \`from\`, included.`,
  }),
};

/** An export whose extent is fixed. */
export interface Export {
  /** Exports are of many entities. */
  entity?: undefined;
  collection: AnyCollection;
  given: Given;
  /** Names of the fields, as the first line has them. */
  columns: readonly string[];
  /** The export begins after this id, and ends with that one. */
  after: string;
  last: string;
}

/** A part of an export. */
export interface ExportSlice {
  /** Written one by one: a line may be long. */
  lines: Iterable<string>;
  /** The id that the next part begins after; null at the end. */
  next: string | null;
}

/**
 * Refuses what only an export takes.
 *
 * @throws {DomainError} query.invalid
 */
export function assertNoRange(given: { from?: unknown; to?: unknown }): void {
  for (const name of ["from", "to"] as const) {
    if (given[name] !== undefined) throw invalidQuery(`/${name}`, "this takes format=csv");
  }
}

/**
 * Checks a range of time of an export.
 *
 * @throws {DomainError} query.invalid
 */
export function assertRange(
  given: { from?: number; to?: number },
): asserts given is { from: number; to: number } {
  const { from, to } = given;
  if (from === undefined) throw invalidQuery("/from", RANGE_MISSING);
  if (to === undefined) throw invalidQuery("/to", RANGE_MISSING);
  if (to < from) throw invalidQuery("/to", "a time not before from is expected");
  if (to - from > RANGE_MAX_DAYS * DAY_MS) {
    throw invalidQuery("/to", `at most ${RANGE_MAX_DAYS} days after from are exported at once`);
  }
}

/**
 * Fixes the extent of an export.
 *
 * @throws {DomainError} query.invalid, permission.scope
 */
export async function openExport(
  db: Db,
  actor: Actor,
  collection: AnyCollection,
  { given, ...range }: { given: Given; from?: number; to?: number },
): Promise<Export> {
  assertRange(range);
  for (const name of ["limit", "offset", "sort", "populate"]) {
    if (given[name] !== undefined) throw invalidQuery(`/${name}`, "CSV does not take this");
  }
  const { visibility } = await selectionOf(db, actor, collection, given);
  if (visibility.reaches.some((reach) => reach === "incoming" || reach === "outgoing")) {
    throw invalidQuery("/scope", "CSV takes own or all: the entries of an account are its own CSV");
  }
  const begin = idBound(range.from - 1);
  const { after } = parseWindow(given);
  const named = parseFields(collection.columns, given.fields, collection.fields);
  return {
    collection,
    given,
    columns: named === null ? collection.exported! : [...new Set(named)],
    after: after !== null && after > begin ? after : begin,
    last: idBound(range.to),
  };
}

/** Writes the first line of an export. */
export function exportHead({ columns }: Export): string {
  return csvLine(columns.map(csvText));
}

/**
 * Reads and writes the part of an export after an id, with the actor's present rights.
 *
 * @throws {DomainError} permission.scope
 */
export async function exportSlice(
  db: Db,
  actor: Actor,
  asked: Export,
  after: string,
): Promise<ExportSlice> {
  const { collection, columns } = asked;
  const selection = await selectionOf(db, actor, collection, asked.given);
  const { ids, next } = await partOf(db, asked, selection, after);
  const rows: { id: string; owner: string | null }[] = ids.length === 0
    ? []
    : await collection.read(db, ids);
  const byId = new Map(rows.map((row) => [row.id, row]));
  const sorted = ids.flatMap((id) => byId.get(id) ?? []);
  const views: Record<string, unknown>[] = sorted.length === 0
    ? []
    : await collection.show(db, actor, sorted as never, new Set());
  const lineOf = (view: Record<string, unknown>) =>
    csvLine(columns.map((name) => cellOf(collection, name, view)));
  return { lines: views.values().map(lineOf), next };
}

/** Reads the condition and the search of an export, and what its caller may see. */
async function selectionOf(
  db: Db,
  actor: Actor,
  collection: AnyCollection,
  given: Given,
): Promise<Selection> {
  const condition = parseQuery(collection.columns, given.query);
  return {
    visibility: await visibilityOf(db, actor, collection, given, condition),
    condition,
    search: parseSearch(collection.columns, given.search, given.searchFields),
  };
}

/**
 * The ids of the next part. A condition of the caller's, and whether a row is deleted, are tried on so many rows at once
 * as a part may have, so that what few rows meet reads no further in one statement.
 */
async function partOf(db: Db, asked: Export, selection: Selection, after: string) {
  const { collection } = asked;
  const size = hasObjects(asked) ? SLICE_OF_OBJECTS : SLICE;
  const slice = (offset: number, limit: number) => ({
    sort: [{ at: { field: "id", path: [] }, descending: false }],
    limit,
    offset,
    after,
  });
  const within = (end: string, conditions: readonly Condition[]): Condition => ({
    op: "and",
    of: [...conditions, { op: "lte", at: { field: "id", path: [] }, value: end }],
  });
  const visibility = { ...selection.visibility, deleted: "too" } as const;
  const plain = { visibility, condition: within(asked.last, []), search: null };
  if (isPlain(collection, selection)) {
    const ids = await selectIds(db, collection, plain, slice(0, size)) ?? [];
    return { ids, next: ids.length < size ? null : ids.at(-1)! };
  }
  const [end] = await selectIds(db, collection, plain, slice(size - 1, 1)) ?? [];
  const condition = within(end ?? asked.last, [selection.condition]);
  const ids = await selectIds(db, collection, { ...selection, condition }, slice(0, size));
  return { ids: ids ?? [], next: end ?? null };
}

function isPlain(
  { deletable }: AnyCollection,
  { condition, search, visibility }: Selection,
): boolean {
  if (deletable && visibility.deleted !== "too") return false;
  return search === null && JSON.stringify(condition) === JSON.stringify(ALL);
}

/** Whether a field that is exported may hold an object of any size. */
function hasObjects({ collection, columns }: Export): boolean {
  const exported: readonly string[] = collection.exported ?? [];
  return columns.some((name) => !exported.includes(name));
}

function cellOf({ columns }: AnyCollection, name: string, view: Record<string, unknown>): string {
  const value = valueAt(pick(view, [name]), name);
  if (value === undefined || value === null) return "";
  if (typeof value === "number") {
    return columns[name]?.type === "time" ? csvTime(value) : JSON.stringify(value);
  }
  if (typeof value === "string") {
    const isNumber = columns[name]?.type === "decimal" && /^-?[\d.]+$/.test(value);
    return isNumber ? value : csvText(value);
  }
  return csvText(JSON.stringify(value));
}

/** The value of a field, dotted into objects. */
function valueAt(view: Record<string, unknown>, name: string): unknown {
  let value: unknown = view;
  for (const key of name.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return null;
    value = (value as Record<string, unknown>)[key];
  }
  return value;
}
