/**
 * SQL of the generic lists: condition, search, order and keyset. Identifiers come from a collection's
 * {@link Columns} alone and everything a caller wrote is a bound parameter, so no text of a request
 * ever becomes SQL. What a caller may ask is decided in the domain, not here.
 * @module
 */
import type postgres from "postgres";
import type { Db } from "./database.ts";

/** A piece of SQL with its parameters, to be placed in a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;

/** What a column holds. `id` is a uuid, `decimal` a numeric, `json` a jsonb, `texts` a text[]. */
export type ColumnType =
  | "text"
  | "id"
  | "decimal"
  | "integer"
  | "boolean"
  | "time"
  | "json"
  | "texts";

/** Where a field of the API is stored. */
export interface Column {
  /** Column name, or `alias.name` in a statement that joins. */
  readonly column: string;
  readonly type: ColumnType;
  /** Must be true where the column may be null, or keyset paging would lose those rows. */
  readonly nullable?: boolean;
  /** A time that is the id's own timestamp: the primary key then serves its order and ranges. */
  readonly inId?: boolean;
}

/** The fields that a caller may name, dotted ones included, with their columns. Needs `id`. */
export type Columns = Readonly<Record<string, Column>>;

/** A field, or a place inside a field that holds JSON. */
export interface Target {
  /** A key of {@link Columns}. */
  readonly field: string;
  /** Keys to follow inside the JSON; empty for the field itself. */
  readonly path: readonly string[];
}

/**
 * What rows must satisfy. Values are text in the form that their column's type reads: digits, `true`,
 * JSON text; times are whole milliseconds since the epoch, of which a row's fraction is cut off.
 * An empty `and` is always true, an empty `or` never. `not` also holds where its part is unknown.
 */
export type Condition =
  | { readonly op: "and" | "or"; readonly of: readonly Condition[] }
  | { readonly op: "not"; readonly of: Condition }
  | { readonly op: "null" | "exists"; readonly at: Target }
  | { readonly op: Comparison | "contains"; readonly at: Target; readonly value: string }
  | { readonly op: "in"; readonly at: Target; readonly values: readonly string[] };

/** Compares with one value. JSON is only ordered against JSON of the same type. */
export type Comparison = "eq" | "gt" | "gte" | "lt" | "lte";

/** The type in PostgreSQL of each type of column. */
export const SQL_TYPES: Readonly<Record<ColumnType, string>> = {
  text: "text",
  id: "uuid",
  decimal: "numeric",
  integer: "int8",
  boolean: "bool",
  time: "timestamptz",
  json: "jsonb",
  texts: "_text",
};
const INT8 = /^-?\d{1,18}$/;

/** Writes a condition, in parentheses, so that it can stand beside any other. */
export function whereOf(sql: Db, columns: Columns, condition: Condition): Fragment {
  switch (condition.op) {
    case "and":
    case "or": {
      const parts = condition.of.map((part) => whereOf(sql, columns, part));
      if (parts.length === 0) return condition.op === "and" ? sql`true` : sql`false`;
      return condition.op === "and" ? conjunction(sql, parts) : disjunction(sql, parts);
    }
    case "not":
      return sql`(${whereOf(sql, columns, condition.of)} is not true)`;
    default:
      return sql`(${leafOf(sql, columns, condition)})`;
  }
}

type Leaf = Exclude<Condition, { of: unknown }>;

function leafOf(sql: Db, columns: Columns, leaf: Leaf): Fragment {
  const { type } = columns[leaf.at.field];
  const place = placeOf(sql, columns, leaf.at);
  switch (leaf.op) {
    case "null":
      return type === "json"
        ? sql`coalesce(${place}, 'null'::jsonb) = 'null'::jsonb`
        : sql`${place} is null`;
    case "exists":
      return sql`${place} is not null`;
    case "contains":
      return containsOf(sql, type, place, leaf.value);
    case "in":
      return inOf(sql, type, place, leaf.values);
    default:
      if (type === "time") return timeOf(sql, place, leaf.op, leaf.value);
      if (type === "json") return jsonOf(sql, place, leaf.op, leaf.value);
      return compareOf(sql, place, leaf.op, boundOf(sql, type, leaf.value));
  }
}

function compareOf(sql: Db, place: Fragment, op: Comparison, bound: Fragment): Fragment {
  switch (op) {
    case "eq":
      return sql`${place} = ${bound}`;
    case "gt":
      return sql`${place} > ${bound}`;
    case "gte":
      return sql`${place} >= ${bound}`;
    case "lt":
      return sql`${place} < ${bound}`;
    case "lte":
      return sql`${place} <= ${bound}`;
  }
}

/** Compares whole milliseconds: a row's time belongs to the millisecond that has begun. */
function timeOf(sql: Db, place: Fragment, op: Comparison, ms: string): Fragment {
  const from = instantOf(sql, BigInt(ms));
  const next = instantOf(sql, BigInt(ms) + 1n);
  switch (op) {
    case "eq":
      return sql`${place} >= ${from} and ${place} < ${next}`;
    case "gt":
      return sql`${place} >= ${next}`;
    case "gte":
      return sql`${place} >= ${from}`;
    case "lt":
      return sql`${place} < ${from}`;
    case "lte":
      return sql`${place} < ${next}`;
  }
}

// An interval is read digit by digit, where to_timestamp() would go through a float.
function instantOf(sql: Db, ms: bigint): Fragment {
  return sql`timestamptz 'epoch' + ${`${ms} milliseconds`}::text::interval`;
}

function jsonOf(sql: Db, place: Fragment, op: Comparison, json: string): Fragment {
  const compared = compareOf(sql, place, op, boundOf(sql, "json", json));
  if (op === "eq") return compared;
  const kind = json.startsWith('"') ? sql`'string'` : sql`'number'`;
  return sql`jsonb_typeof(${place}) = ${kind} and ${compared}`;
}

function containsOf(
  sql: Db,
  type: ColumnType,
  place: Fragment,
  value: string,
): Fragment {
  if (type === "texts") return sql`${value}::text = any(${place})`;
  if (type !== "json") return sql`strpos(${place}, ${value}::text) > 0`;
  const json = boundOf(sql, "json", value);
  if (!value.startsWith('"')) return sql`${place} @> ${json}`;
  const inside = sql`strpos(${place} #>> '{}', ${json} #>> '{}') > 0`;
  return sql`${place} @> ${json} or (jsonb_typeof(${place}) = 'string' and ${inside})`;
}

function inOf(
  sql: Db,
  type: ColumnType,
  place: Fragment,
  values: readonly string[],
): Fragment {
  const list = arrayLiteral(values);
  if (type === "texts") return sql`${place} && ${list}::text::text[]`;
  if (type === "time") {
    return sql`floor(extract(epoch from ${place}) * 1000) = any(${list}::text::numeric[])`;
  }
  return sql`${place} = any(${list}::text::${sql(typeName(type, values))}[])`;
}

/**
 * Writes a case-insensitive search for a substring in any of several places, in parentheses. The
 * text is no pattern: `%`, `_` and `\` stand for themselves.
 */
export function searchOf(
  sql: Db,
  columns: Columns,
  targets: readonly Target[],
  text: string,
): Fragment {
  const pattern = `%${text.replace(/[\\%_]/g, "\\$&")}%`;
  if (targets.length === 0) return sql`false`;
  return disjunction(
    sql,
    targets.map((target) => {
      const { type } = columns[target.field];
      const place = placeOf(sql, columns, target);
      if (type === "text") return sql`${place} ilike ${pattern}`;
      if (type === "json") return sql`(${place} #>> '{}') ilike ${pattern}`;
      if (type !== "texts") return sql`${place}::text ilike ${pattern}`;
      return sql`exists (select from unnest(${place}) as item where item ilike ${pattern})`;
    }),
  );
}

/**
 * Keeps a statement out of the connection's cache of prepared statements. Every statement with a
 * caller's condition needs it: each has a text of its own, and the cache never forgets.
 */
export function unprepared<T extends readonly postgres.MaybeRow[]>(
  query: postgres.PendingQuery<T>,
): postgres.PendingQuery<T> {
  // The driver reads this option from every query but offers no method to set it on a tagged one.
  (query as unknown as { options: { prepare: boolean } }).options.prepare = false;
  return query;
}

/** Writes the column of a field, or the place inside its JSON. */
export function placeOf(sql: Db, columns: Columns, { field, path }: Target): Fragment {
  const column = sql(columns[field].column);
  if (path.length === 0) return sql`${column}`;
  return sql`(${column} #> ${arrayLiteral(path)}::text::text[])`;
}

// Always bound as text: the driver would otherwise look at the parameter's type and convert the
// value itself, through a float, a Date or JSON.stringify.
function boundOf(sql: Db, type: ColumnType, value: string): Fragment {
  return sql`${value}::text::${sql(typeName(type, [value]))}`;
}

function typeName(type: ColumnType, values: readonly string[]): string {
  const wide = type === "integer" && !values.every((value) => INT8.test(value));
  return SQL_TYPES[wide ? "decimal" : type];
}

function arrayLiteral(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

function conjunction(sql: Db, parts: Fragment[]): Fragment {
  return sql`(${parts.map((part, i) => i === 0 ? part : sql`and ${part}`)})`;
}

function disjunction(sql: Db, parts: Fragment[]): Fragment {
  return sql`(${parts.map((part, i) => i === 0 ? part : sql`or ${part}`)})`;
}
