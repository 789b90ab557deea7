/**
 * The other parameters of the generic routes: order, fields, search and paging, each checked against
 * the collection's columns and the contract's limits. Values arrive as query strings give them: text,
 * a list when repeated, or already a number.
 * @module
 */
import type { Columns, Target } from "../../db/collections/filter.ts";
import type { SortKey } from "../../db/collections/sort.ts";
import { checkText, invalidQuery, quoted, targetOf } from "./filter.ts";
import { isId } from "../ids.ts";
import { isDigits } from "../json.ts";

/** Rows of an answer that is not read page by page. */
export const LIMIT_MAX = 1000;
/** Rows that may be passed over. */
export const OFFSET_MAX = 100_000;
const PAGE_SIZE_MAX = 500;
const PAGE_SIZE_DEFAULT = 10;
// The rows before a page must still be counted exactly.
const PAGE_MAX = Math.floor(Number.MAX_SAFE_INTEGER / PAGE_SIZE_MAX);
const SORT_KEYS_MAX = 8;
const NAMES_MAX = 100;

/** The text of a search, and its fields. */
export interface Search {
  readonly text: string;
  readonly targets: readonly Target[];
}

/** A part of a whole list. */
export interface Window {
  readonly limit: number;
  readonly offset: number;
  /** Id of the entity after which the part begins. */
  readonly after: string | null;
}

/** One page of a list, and the rows it stands for. */
export interface Page {
  /** From 1. */
  readonly page: number;
  readonly pageSize: number;
  readonly limit: number;
  readonly offset: number;
}

/**
 * Reads `sort`: names, each with `-` before it to descend. Keys behind the id are dropped, and a
 * time that is part of the id becomes the id, so that the primary key gives the order.
 *
 * @throws {DomainError} query.invalid
 */
export function parseSort(columns: Columns, sort: unknown): SortKey[] {
  const names = namesOf(sort, "/sort", SORT_KEYS_MAX);
  const keys: SortKey[] = [];
  for (const name of names) {
    const descending = name.startsWith("-");
    const at = targetOf(columns, descending ? name.slice(1) : name, "/sort");
    const byId = at.field === "id" || columns[at.field].inId === true;
    keys.push({ at: byId ? { field: "id", path: [] } : at, descending });
    if (byId) break;
  }
  return keys;
}

/**
 * Reads `fields`: names of fields or of parts of them; null when all are wanted.
 *
 * @param others fields of the entity that have no column
 * @throws {DomainError} query.invalid
 */
export function parseFields(
  columns: Columns,
  fields: unknown,
  others: readonly string[] = [],
): string[] | null {
  const names = namesOf(fields, "/fields", NAMES_MAX);
  const known = [...Object.keys(columns), ...others];
  for (const name of names) {
    checkText(name, "/fields");
    const found = known.some((field) =>
      field === name || field.startsWith(`${name}.`) || name.startsWith(`${field}.`)
    );
    if (!found) throw invalidQuery("/fields", `unknown field ${quoted(name)}`);
  }
  return names.length === 0 ? null : names;
}

/**
 * Reads `search` and `searchFields`; without the latter, all fields of text are searched. Null when
 * there is nothing to search for.
 *
 * @throws {DomainError} query.invalid
 */
export function parseSearch(
  columns: Columns,
  search: unknown,
  searchFields: unknown,
): Search | null {
  const named = namesOf(searchFields, "/searchFields", NAMES_MAX).map((name) => {
    const target = targetOf(columns, name, "/searchFields");
    if (!["text", "texts", "id", "json"].includes(columns[target.field].type)) {
      throw invalidQuery("/searchFields", `field ${quoted(name)} holds no text`);
    }
    return target;
  });
  const text = isDigits(search) ? search.digits : search ?? "";
  if (typeof text === "object") throw invalidQuery("/search", "one text is expected");
  if (text === "") return null;
  const targets = named.length > 0 ? named : Object.keys(columns)
    .filter((field) => columns[field].type === "text")
    .map((field): Target => ({ field, path: [] }));
  return { text: checkText(`${text}`, "/search"), targets };
}

/**
 * Reads `limit`, `offset` and `after`.
 *
 * @throws {DomainError} query.invalid beyond the limits
 */
export function parseWindow(
  given: { limit?: unknown; offset?: unknown; after?: unknown },
): Window {
  const after = given.after ?? "";
  if (typeof after !== "string" || (after !== "" && !isId(after))) {
    throw invalidQuery("/after", "an id is expected");
  }
  return {
    limit: wholeOf(given.limit, "/limit", 0, LIMIT_MAX) ?? LIMIT_MAX,
    offset: wholeOf(given.offset, "/offset", 0, OFFSET_MAX) ?? 0,
    after: after === "" ? null : after,
  };
}

/**
 * Reads `page` and `pageSize`.
 *
 * @throws {DomainError} query.invalid beyond the limits
 */
export function parsePage(given: { page?: unknown; pageSize?: unknown }): Page {
  const page = wholeOf(given.page, "/page", 1, PAGE_MAX) ?? 1;
  const pageSize = wholeOf(given.pageSize, "/pageSize", 1, PAGE_SIZE_MAX) ?? PAGE_SIZE_DEFAULT;
  return { page, pageSize, limit: pageSize, offset: (page - 1) * pageSize };
}

/** Shows one page of a list. */
export function pageOf<T>(
  page: Page,
  rows: T[],
  total: number,
): { rows: T[]; total: number; page: number; pageSize: number; totalPages: number } {
  const { pageSize } = page;
  return { rows, total, page: page.page, pageSize, totalPages: Math.ceil(total / pageSize) };
}

function wholeOf(given: unknown, path: string, min: number, max: number): number | null {
  if (given === undefined || given === null || given === "") return null;
  const text = isDigits(given) ? given.digits : given;
  const whole = typeof text === "string" && /^-?\d{1,17}$/.test(text) ? parseInt(text, 10) : text;
  if (typeof whole !== "number" || !Number.isInteger(whole)) {
    throw invalidQuery(path, "a whole number is expected");
  }
  if (whole < min || whole > max) throw invalidQuery(path, `from ${min} to ${max} is allowed`);
  return whole;
}

/** Reads a list of names: separated by commas or blanks, given once or several times. */
function namesOf(given: unknown, path: string, max: number): string[] {
  if (given === undefined || given === null) return [];
  const items = Array.isArray(given) ? given : [given];
  const names = items.flatMap((item) => {
    if (typeof item !== "string") throw invalidQuery(path, "names of fields are expected");
    return item.split(/[\s,]+/).filter((name) => name !== "");
  });
  if (names.length > max) throw invalidQuery(path, `more than ${max} names`);
  return names;
}

/** Keeps the named fields of a view, and parts of fields where names are dotted. */
export function pick(
  view: Record<string, unknown>,
  names: readonly string[],
): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const name of names) {
    const dot = name.indexOf(".");
    const head = dot < 0 ? name : name.slice(0, dot);
    if (!Object.hasOwn(view, head)) continue;
    const value = view[head];
    if (dot < 0) kept[head] = value;
    else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      const part = pick(value as Record<string, unknown>, [name.slice(dot + 1)]);
      const before = kept[head];
      kept[head] = typeof before === "object" && before !== null ? { ...before, ...part } : part;
    }
  }
  return kept;
}
