/**
 * SQL of the order of the generic lists, and of the keyset that continues one: any mix of ascending,
 * descending and null keys, always ending in the id. As in the filter, a caller's text is only bound.
 * @module
 */
import type { Db } from "../database.ts";
import { type Columns, expressionOf, type Fragment, SQL_TYPES, type Target } from "./filter.ts";

/** One key of an order. */
export interface SortKey {
  readonly at: Target;
  readonly descending: boolean;
}

/** The row after which a page begins. */
export interface Anchor {
  readonly id: string;
  /** The sort keys that {@link anchorOf} selected for that row. */
  readonly keys: readonly (string | null)[];
}

/** Writes the list after `order by`. It always ends in the id, in the direction of the last key. */
export function orderOf(
  sql: Db,
  columns: Columns,
  sort: readonly SortKey[],
): Fragment {
  return listOf(
    sql,
    wholeSort(sort).map(({ at, descending }) => {
      const place = expressionOf(sql, columns, at);
      return descending ? sql`${place} desc` : sql`${place}`;
    }),
  );
}

/** Whether the order is the id's own, so that {@link afterOf} needs no read of the anchor's row. */
export function sortsById(sort: readonly SortKey[]): boolean {
  return keysOf(sort).length === 0;
}

/** Writes a select expression with a row's sort keys, for {@link Anchor.keys}. */
export function anchorOf(
  sql: Db,
  columns: Columns,
  sort: readonly SortKey[],
): Fragment {
  const keys = keysOf(sort).map(({ at }) => sql`(${expressionOf(sql, columns, at)})::text`);
  return keys.length === 0 ? sql`'[]'::jsonb` : sql`jsonb_build_array(${listOf(sql, keys)})`;
}

/**
 * Writes the condition, in parentheses, for the rows behind the anchor in the order of
 * {@link orderOf}. Nulls stand where PostgreSQL puts them: last, or first when descending.
 */
export function afterOf(
  sql: Db,
  columns: Columns,
  sort: readonly SortKey[],
  anchor: Anchor,
): Fragment {
  const keys = keysOf(sort);
  const id = sql(columns.id.column);
  const own = sql`${anchor.id}::text::uuid`;
  let behind = wholeSort(sort)[keys.length].descending ? sql`${id} < ${own}` : sql`${id} > ${own}`;
  for (let i = keys.length - 1; i >= 0; i--) {
    behind = behindOf(sql, columns, keys[i], anchor.keys[i], behind);
  }
  return sql`(${behind})`;
}

/** The rows behind `value` in one key, and those beside it that are behind in the keys after it. */
function behindOf(
  sql: Db,
  columns: Columns,
  { at, descending }: SortKey,
  value: string | null,
  rest: Fragment,
): Fragment {
  const column = columns[at.field];
  const place = expressionOf(sql, columns, at);
  if (value === null) {
    return descending
      ? sql`(${place} is not null or (${rest}))`
      : sql`${place} is null and ${rest}`;
  }
  const key = sql`${value}::text::${sql(SQL_TYPES[column.type])}`;
  // The outer comparison is implied by the inner ones; it is there for the index.
  if (descending) return sql`${place} <= ${key} and (${place} < ${key} or (${rest}))`;
  const ahead = sql`${place} >= ${key} and (${place} > ${key} or (${rest}))`;
  const nulls = column.nullable || at.path.length > 0;
  return nulls ? sql`(${place} is null or (${ahead}))` : ahead;
}

/** The keys before the id, behind which no key can matter. */
function keysOf(sort: readonly SortKey[]): readonly SortKey[] {
  const id = sort.findIndex((key) => key.at.field === "id");
  return id < 0 ? sort : sort.slice(0, id);
}

function wholeSort(sort: readonly SortKey[]): readonly SortKey[] {
  const keys = keysOf(sort);
  if (keys.length < sort.length) return sort.slice(0, keys.length + 1);
  const descending = keys.at(-1)?.descending ?? false;
  return [...keys, { at: { field: "id", path: [] }, descending }];
}

function listOf(sql: Db, parts: Fragment[]): Fragment {
  return sql`${parts.map((part, i) => i === 0 ? part : sql`, ${part}`)}`;
}
