/**
 * The query language of the generic routes: reads a caller's JSON into a checked {@link Condition}.
 * It uses the collection's columns alone, no SQL, and no owners: the scope stands beside a
 * condition, never inside it.
 * @module
 */
import type {
  Columns,
  ColumnType,
  Comparison,
  Condition,
  Target,
} from "../../db/collections/filter.ts";
import { DomainError } from "../errors.ts";
import { idBound, isId } from "../ids.ts";
import { isDigits, parseJson } from "../json.ts";

/** `$and`, `$or` and `$not` may lie inside each other this deep, and JSON values as well. */
const DEPTH_MAX = 8;
const CONDITIONS_MAX = 100;
const LIST_MAX = 500;
const TEXT_MAX = 1000;
// The range of a timestamptz, and of an interval of microseconds from 1970.
const TIME_MIN = -210866803200000n;
const TIME_MAX = 9223372036854774n;

const ALL: Condition = { op: "and", of: [] };
const NONE: Condition = { op: "or", of: [] };
const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/;
const MILLISECONDS = /^-?\d{1,16}$/;
const ORDERS: ReadonlyMap<string, Comparison> = new Map([
  ["$gt", "gt"],
  ["$gte", "gte"],
  ["$lt", "lt"],
  ["$lte", "lte"],
]);

/** One reading of a query, with its used-up limits. */
interface Reading {
  readonly columns: Columns;
  conditions: number;
}

/**
 * Reads a query: an object, or the JSON text of one; nothing given asks for everything. Several
 * operators on a field must all hold. `$ne`, `$nin` and `$not` hold for null and missing fields too.
 *
 * @throws {DomainError} query.invalid, naming the field or operator
 */
export function parseQuery(columns: Columns, query: unknown): Condition {
  if (query === undefined || query === null || query === "") return ALL;
  const given = typeof query === "string" ? jsonOf(query) : query;
  return readCondition({ columns, conditions: 0 }, given, "/query", 0);
}

/** Whether a condition compares a field with a value anywhere. */
export function compares(condition: Condition, field: string, value: string): boolean {
  switch (condition.op) {
    case "and":
    case "or":
      return condition.of.some((part) => compares(part, field, value));
    case "not":
      return compares(condition.of, field, value);
    case "null":
    case "exists":
      return false;
    default: {
      const { at } = condition;
      if (at.field !== field || at.path.length > 0) return false;
      return condition.op === "in" ? condition.values.includes(value) : condition.value === value;
    }
  }
}

/** Makes the refusal of a part of a list's parameters; `path` is its JSON pointer. */
export function invalidQuery(path: string, message: string): DomainError {
  return new DomainError("query.invalid", `${path.slice(1)}: ${message}`, {
    errors: [{ path, message }],
  });
}

/**
 * Finds a field, or a place inside a field that holds JSON.
 *
 * @throws {DomainError} query.invalid when there is none of that name
 */
export function targetOf(columns: Columns, name: string, path: string): Target {
  if (Object.hasOwn(columns, name)) return { field: name, path: [] };
  checkText(name, path);
  for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1)) {
    const field = name.slice(0, dot);
    if (!Object.hasOwn(columns, field) || columns[field].type !== "json") continue;
    const inside = name.slice(dot + 1).split(".");
    if (!inside.includes("")) return { field, path: inside };
  }
  throw invalidQuery(path, `unknown field ${quoted(name)}`);
}

/** Refuses text that is too long to compare with, or that no row can hold. */
export function checkText(text: string, path: string): string {
  if (text.length > TEXT_MAX) {
    throw invalidQuery(path, `the text is longer than ${TEXT_MAX} characters`);
  }
  if (text.includes("\0") || !text.isWellFormed()) {
    throw invalidQuery(path, "the text holds \\u0000 or half of a surrogate pair");
  }
  return text;
}

/** Shows a caller's name in a message, whatever its length. */
export function quoted(name: string): string {
  return JSON.stringify(name.length > 60 ? `${name.slice(0, 60)}…` : name);
}

function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    throw invalidQuery("/query", error.message.replace(/^the body/, "the text"));
  }
}

function readCondition(r: Reading, given: unknown, path: string, depth: number): Condition {
  if (depth > DEPTH_MAX) throw invalidQuery(path, `nested deeper than ${DEPTH_MAX}`);
  if (!isObject(given)) throw invalidQuery(path, "an object is expected");
  const entries = Object.entries(given);
  if (entries.length === 0) countCondition(r, path);
  return every(entries.map(([key, value]) => {
    const at = `${path}/${pointer(key)}`;
    switch (key) {
      case "$and":
      case "$or": {
        if (!Array.isArray(value) || value.length === 0) {
          throw invalidQuery(at, "a list with at least one object is expected");
        }
        const of = value.map((part, i) => readCondition(r, part, `${at}/${i}`, depth + 1));
        return { op: key === "$and" ? "and" : "or", of };
      }
      case "$not":
        return not(readCondition(r, value, at, depth + 1));
      default:
        if (key.startsWith("$")) throw invalidQuery(at, `unknown operator ${quoted(key)}`);
        return readField(r, targetOf(r.columns, key, at), value, at, depth);
    }
  }));
}

function readField(
  r: Reading,
  at: Target,
  given: unknown,
  path: string,
  depth: number,
): Condition {
  if (!isOperators(given)) {
    countCondition(r, path);
    return equals(r.columns, at, given, path);
  }
  return every(
    Object.entries(given).map(([operator, value]) => {
      const here = `${path}/${pointer(operator)}`;
      if (operator !== "$not") {
        countCondition(r, here);
        return readOperator(r.columns, at, operator, value, here);
      }
      if (depth >= DEPTH_MAX) throw invalidQuery(here, `nested deeper than ${DEPTH_MAX}`);
      if (!isOperators(value)) throw invalidQuery(here, "an object of operators is expected");
      return not(readField(r, at, value, here, depth + 1));
    }),
  );
}

function readOperator(
  columns: Columns,
  at: Target,
  operator: string,
  value: unknown,
  path: string,
): Condition {
  const order = ORDERS.get(operator);
  if (order !== undefined) return ordered(columns, at, order, value, path);
  switch (operator) {
    case "$eq":
      return equals(columns, at, value, path);
    case "$ne":
      return not(equals(columns, at, value, path));
    case "$in":
      return oneOf(columns, at, value, path);
    case "$nin":
      return not(oneOf(columns, at, value, path));
    case "$exists": {
      const exists: Condition = { op: "exists", at };
      return booleanOf(value, path) === "true" ? exists : not(exists);
    }
    case "$contains":
      return contains(columns, at, value, path);
    default:
      throw invalidQuery(path, `unknown operator ${quoted(operator)}`);
  }
}

function equals(columns: Columns, at: Target, given: unknown, path: string): Condition {
  if (given === null) return { op: "null", at };
  const { type, inId } = columns[at.field];
  const value = valueOf(type, given, path);
  if (value === null) return NONE;
  if (type === "texts") return { op: "contains", at, value };
  if (inId) return every([idTimeIs("gte", value), idTimeIs("lte", value)]);
  return { op: "eq", at, value };
}

function ordered(
  columns: Columns,
  at: Target,
  op: Comparison,
  given: unknown,
  path: string,
): Condition {
  const { type, inId } = columns[at.field];
  const scalar = typeof given === "string" || typeof given === "number" || isDigits(given);
  if (type === "boolean" || type === "texts" || !scalar) {
    throw invalidQuery(path, "only numbers, times and texts have an order");
  }
  const value = valueOf(type, given, path);
  if (value === null) return NONE;
  return inId ? idTimeIs(op, value) : { op, at, value };
}

/** Asks about the time that is part of the id by asking about the id, which has an index. */
function idTimeIs(op: Comparison, time: string): Condition {
  const at: Target = { field: "id", path: [] };
  const ms = parseInt(time, 10);
  // A time at or after a millisecond has an id greater than the last id of the millisecond before.
  const last = op === "gte" || op === "lt" ? ms - 1 : ms;
  const later = op === "gt" || op === "gte";
  if (last < 0) return later ? ALL : NONE;
  return { op: later ? "gt" : "lte", at, value: idBound(last) };
}

function oneOf(columns: Columns, at: Target, given: unknown, path: string): Condition {
  if (!Array.isArray(given) || given.length > LIST_MAX) {
    throw invalidQuery(path, `a list of at most ${LIST_MAX} values is expected`);
  }
  const { type } = columns[at.field];
  const values = given
    .map((item, i) => item === null ? null : valueOf(type, item, `${path}/${i}`))
    .filter((value) => value !== null);
  const among: Condition = values.length === 0 ? NONE : { op: "in", at, values };
  return given.includes(null) ? { op: "or", of: [{ op: "null", at }, among] } : among;
}

function contains(columns: Columns, at: Target, given: unknown, path: string): Condition {
  const { type } = columns[at.field];
  if (type !== "text" && type !== "texts" && type !== "json") {
    throw invalidQuery(path, "only texts, lists and objects contain something");
  }
  const value = valueOf(type, given, path);
  return value === null ? NONE : { op: "contains", at, value };
}

/** The text of a value in the form that its column reads; null for one that no row can have. */
function valueOf(type: ColumnType, given: unknown, path: string): string | null {
  switch (type) {
    case "text":
    case "texts":
      if (typeof given !== "string") throw invalidQuery(path, "a text is expected");
      return checkText(given, path);
    case "id":
      if (typeof given === "number" || isDigits(given)) return null;
      if (typeof given !== "string") throw invalidQuery(path, "an id is expected");
      return isId(checkText(given, path)) ? given : null;
    case "decimal":
    case "integer":
      return numberOf(given, NUMBER, path, "a number is expected");
    case "boolean":
      return booleanOf(given, path);
    case "time":
      return timeOf(given, path);
    case "json":
      return JSON.stringify(checkJson(given, path, 0));
  }
}

function numberOf(given: unknown, form: RegExp, path: string, message: string): string {
  const text = isDigits(given) ? given.digits : typeof given === "number" ? `${given}` : given;
  if (typeof text !== "string" || text.length > TEXT_MAX || !form.test(text)) {
    throw invalidQuery(path, message);
  }
  return text;
}

function timeOf(given: unknown, path: string): string {
  const expected = "a time in whole milliseconds since 1970 is expected";
  const text = numberOf(given, MILLISECONDS, path, expected);
  const ms = BigInt(text);
  if (ms < TIME_MIN || ms > TIME_MAX) throw invalidQuery(path, "the time is out of range");
  return ms.toString();
}

function booleanOf(given: unknown, path: string): string {
  const text = String(given);
  if (typeof given === "object" || (text !== "true" && text !== "false")) {
    throw invalidQuery(path, "true or false is expected");
  }
  return text;
}

function checkJson(given: unknown, path: string, depth: number): unknown {
  if (depth > DEPTH_MAX) throw invalidQuery(path, `nested deeper than ${DEPTH_MAX}`);
  if (typeof given === "string") return checkText(given, path);
  if (typeof given === "number" || isDigits(given)) {
    numberOf(given, NUMBER, path, "a number is expected");
  } else if (Array.isArray(given)) {
    if (given.length > LIST_MAX) throw invalidQuery(path, `over ${LIST_MAX} values in a list`);
    for (const item of given) checkJson(item, path, depth + 1);
  } else if (isObject(given)) {
    for (const [key, value] of Object.entries(given)) {
      checkText(key, path);
      checkJson(value, path, depth + 1);
    }
  } else if (given !== null && typeof given !== "boolean") {
    throw invalidQuery(path, "a JSON value is expected");
  }
  return given;
}

function isObject(given: unknown): given is Record<string, unknown> {
  return typeof given === "object" && given !== null && !Array.isArray(given) && !isDigits(given);
}

function isOperators(given: unknown): given is Record<string, unknown> {
  return isObject(given) && Object.keys(given).some((key) => key.startsWith("$"));
}

function countCondition(r: Reading, path: string): void {
  if (++r.conditions > CONDITIONS_MAX) {
    throw invalidQuery(path, `more than ${CONDITIONS_MAX} conditions`);
  }
}

function every(of: Condition[]): Condition {
  return of.length === 1 ? of[0] : { op: "and", of };
}

function not(of: Condition): Condition {
  return { op: "not", of };
}

function pointer(key: string): string {
  const short = key.length > 60 ? `${key.slice(0, 60)}…` : key;
  return short.replaceAll("~", "~0").replaceAll("/", "~1");
}
