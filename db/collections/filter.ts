/**
 * SQL of the generic lists: condition, search, order and keyset. Identifiers come from a
 * collection's {@link Columns} alone and a caller's values are bound parameters, so no text of a
 * request ever becomes SQL. The domain decides which conditions a caller may use.
 * @module
 */
import type postgres from "postgres";
import type { Db } from "../database.ts";

/** A piece of SQL with its parameters, to be placed in a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;
/** Writes the statement of a part of a list, which reads some columns of its rows in their order. */
export type ListQuery = <Row>(columns: Fragment) => Promise<Row[]>;

/** The type of a column. `id` is a uuid, `decimal` a numeric, `json` a jsonb, `texts` a text[]. */
export type ColumnType =
  | "text"
  | "id"
  | "decimal"
  | "integer"
  | "boolean"
  | "time"
  | "json"
  | "texts";

/** The column of a field of the API. */
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
 * A condition on rows. Values are text in the form that their column's type reads: digits, `true`,
 * JSON text; times are whole milliseconds since the epoch, of which a row's fraction is cut off. An
 * empty `and` is always true, an empty `or` never. `not` also holds where its part is unknown.
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
      return combined(sql, condition.op, parts);
    }
    case "not":
      // An index of the rows that have a value is found by this form alone.
      if (condition.of.op === "null") {
        const { at } = condition.of;
        const place = expressionOf(sql, columns, at);
        return columns[at.field].type === "json"
          ? sql`(${place} is not null and ${place} <> 'null'::jsonb)`
          : sql`(${place} is not null)`;
      }
      return sql`(${whereOf(sql, columns, condition.of)} is not true)`;
    default:
      return singleOf(sql, columns, condition);
  }
}

type SingleCondition = Exclude<Condition, { of: unknown }>;

function singleOf(sql: Db, columns: Columns, single: SingleCondition): Fragment {
  const { type } = columns[single.at.field];
  const place = expressionOf(sql, columns, single.at);
  switch (single.op) {
    case "null":
      return type === "json"
        ? sql`(coalesce(${place}, 'null'::jsonb) = 'null'::jsonb)`
        : sql`(${place} is null)`;
    case "exists":
      return sql`(${place} is not null)`;
    case "contains":
      return containsOf(sql, type, place, single.value);
    case "in":
      return inOf(sql, type, place, single.values);
    default:
      if (type === "time") return timeOf(sql, place, single.op, BigInt(single.value));
      if (type === "json") return jsonOf(sql, place, single.op, single.value);
      return compareOf(sql, place, single.op, single.value, typeOf(type, [single.value]));
  }
}

// Values are bound as text: the driver goes by a parameter's type, and would convert a json, a
// boolean or a time itself.
function compareOf(
  sql: Db,
  place: Expression,
  op: Comparison,
  value: string,
  type: string,
): Fragment {
  switch (op) {
    case "eq":
      return sql`(${place} = ${value}::text::${sql(type)})`;
    case "gt":
      return sql`(${place} > ${value}::text::${sql(type)})`;
    case "gte":
      return sql`(${place} >= ${value}::text::${sql(type)})`;
    case "lt":
      return sql`(${place} < ${value}::text::${sql(type)})`;
    case "lte":
      return sql`(${place} <= ${value}::text::${sql(type)})`;
  }
}

/** Compares whole milliseconds: a row's time belongs to the millisecond that has begun. */
function timeOf(sql: Db, place: Expression, op: Comparison, ms: bigint): Fragment {
  if (op === "eq") {
    return combined(sql, "and", [timeOf(sql, place, "gte", ms), timeOf(sql, place, "lte", ms)]);
  }
  // An interval is read digit by digit, where to_timestamp() would go through a float.
  const since = `${op === "gt" || op === "lte" ? ms + 1n : ms} milliseconds`;
  return op === "gt" || op === "gte"
    ? sql`(${place} >= timestamptz 'epoch' + ${since}::interval)`
    : sql`(${place} < timestamptz 'epoch' + ${since}::interval)`;
}

function jsonOf(sql: Db, place: Expression, op: Comparison, json: string): Fragment {
  const compared = compareOf(sql, place, op, json, SQL_TYPES.json);
  if (op === "eq") return compared;
  return json.startsWith('"')
    ? sql`(jsonb_typeof(${place}) = 'string' and ${compared})`
    : sql`(jsonb_typeof(${place}) = 'number' and ${compared})`;
}

function containsOf(sql: Db, type: ColumnType, place: Expression, value: string): Fragment {
  if (type === "texts") return sql`(${value}::text = any(${place}))`;
  if (type !== "json") return sql`(strpos(${place}, ${value}::text) > 0)`;
  const within = sql`(${place} @> ${value}::text::jsonb)`;
  if (!value.startsWith('"')) return within;
  const part = sql`strpos(${place} #>> '{}', ${value}::text::jsonb #>> '{}') > 0`;
  return sql`(${within} or (jsonb_typeof(${place}) = 'string' and ${part}))`;
}

// Lists are bound as arrays: one that is cast from text is read again for every row, and searched
// from end to end instead of hashed.
function inOf(sql: Db, type: ColumnType, place: Expression, values: readonly string[]): Fragment {
  const list = arrayOf(values);
  switch (type) {
    case "texts":
      return sql`(${place} && ${list}::text[])`;
    case "time":
      return sql`(floor(extract(epoch from ${place}) * 1000) = any(${list}::numeric[]))`;
    default:
      return sql`(${place} = any(${list}::${sql(typeOf(type, values))}[]))`;
  }
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
  if (targets.length === 0) return sql`false`;
  const pattern = `%${text.replace(/[\\%_]/g, "\\$&")}%`;
  const parts = targets.map((target) => {
    const place = expressionOf(sql, columns, target);
    switch (columns[target.field].type) {
      case "text":
        return sql`${place} ilike ${pattern}`;
      case "json":
        return sql`(${place} #>> '{}') ilike ${pattern}`;
      case "texts":
        return sql`exists (select from unnest(${place}) as item where item ilike ${pattern})`;
      default:
        return sql`${place}::text ilike ${pattern}`;
    }
  });
  return combined(sql, "or", parts);
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

/** A column, or a place inside its JSON, as it stands in a statement. */
export type Expression = Fragment | postgres.Helper<string>;

/** Writes the column of a field, or the place inside its JSON. */
export function expressionOf(sql: Db, columns: Columns, { field, path }: Target): Expression {
  const column = sql(columns[field].column);
  return path.length === 0 ? column : sql`(${column} #> ${arrayOf(path)}::text[])`;
}

function typeOf(type: ColumnType, values: readonly string[]): string {
  const wide = type === "integer" && !values.every((value) => INT8.test(value));
  return SQL_TYPES[wide ? "decimal" : type];
}

/** The text of an array, which does not depend on the driver's knowing the array's type. */
function arrayOf(values: readonly string[]): string {
  return `{${values.map((value) => `"${value.replace(/["\\]/g, "\\$&")}"`).join(",")}}`;
}

function combined(sql: Db, word: "and" | "or", parts: readonly Fragment[]): Fragment {
  const between = word === "and" ? sql`and` : sql`or`;
  return sql`(${parts.flatMap((part, i) => i === 0 ? [part] : [between, part])})`;
}
