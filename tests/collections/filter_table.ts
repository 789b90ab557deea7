/** A table with one column of each type, random rows for it, and what queries mean to such a row. */
import { type Db, openDatabase, type Sql } from "../../db/database.ts";
import type { Columns } from "../../db/collections/filter.ts";
import { idBound, idTime } from "../../domain/ids.ts";
import { digits, isDigits, parseStoredJson } from "../../domain/json.ts";
import { compare } from "../../domain/money.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { fc } from "../support/properties.ts";

/** A row as the API shows it: times in milliseconds, decimals as text. */
export interface Thing {
  id: string;
  name: string | null;
  "made.by": string | null;
  total: string;
  places: number | null;
  active: boolean | null;
  seen_at: number | null;
  roles: string[] | null;
  data: unknown;
}

export const THINGS: Columns = {
  id: { column: "id", type: "id" },
  name: { column: "name", type: "text", nullable: true },
  "made.by": { column: "things.maker", type: "id", nullable: true },
  total: { column: "total", type: "decimal" },
  places: { column: "places", type: "integer", nullable: true },
  active: { column: "active", type: "boolean", nullable: true },
  seen_at: { column: "seen_at", type: "time", nullable: true },
  created_at: { column: "created_at", type: "time", inId: true },
  roles: { column: "roles", type: "texts", nullable: true },
  data: { column: "data", type: "json" },
};

/** A row's values where a test sets none. */
export const PLAIN_THING: Omit<Thing, "id"> = {
  name: null,
  "made.by": null,
  total: "0",
  places: null,
  active: null,
  seen_at: null,
  roles: null,
  data: {},
};

/** Makes an id for the millisecond `at`, whatever was made before it. */
export function idAt(at: number, n = 0): string {
  return idBound(at).slice(0, 24) + n.toString(16).padStart(12, "0");
}

/** Makes a schema with the table alone in it, and one connection that sees nothing else. */
export async function testTable(): Promise<{ sql: Sql } & AsyncDisposable> {
  const options = { prepare: true, parseJson: parseStoredJson, platformMax: 1, realmMax: 1 };
  const database = openDatabase({ url: testDatabaseUrl(), ...options });
  const schema = `things_${crypto.randomUUID().replaceAll("-", "")}`;
  const owner = database.platform.sql;
  await owner`create schema ${owner(schema)}`;
  const { sql } = database.realm({
    id: schema,
    schema,
    role: null,
    encryptedUrl: null,
    login: null,
    schemaVersion: 0,
    place: 0,
  });
  // Its text is ordered by code points, as JavaScript can check.
  await sql`create table things (
    id uuid primary key, name text collate "C", maker uuid, total numeric not null, places integer,
    active boolean, seen_at timestamptz, created_at timestamptz not null, roles text[],
    data jsonb not null
  )`;
  return {
    sql,
    async [Symbol.asyncDispose]() {
      await owner`drop schema ${owner(schema)} cascade`;
      await database.close();
    },
  };
}

/** Adds rows. Times of the table lie anywhere within their millisecond. */
export async function insertThings(sql: Db, things: readonly Thing[]): Promise<void> {
  const rows = things.map((thing, i) => ({
    ...thing,
    maker: thing["made.by"],
    seen_at: thing.seen_at === null
      ? null
      : String(BigInt(thing.seen_at) * 1000n + [0n, 700n, 999n][i % 3]),
    created_at: idTime(thing.id),
  }));
  await sql`
    insert into things (id, name, maker, total, places, active, seen_at, created_at, roles, data)
    select (r->>'id')::uuid, r->>'name', (r->>'maker')::uuid, (r->>'total')::numeric,
      (r->>'places')::integer, (r->>'active')::boolean,
      timestamptz 'epoch' + (r->>'seen_at' || ' microseconds')::interval,
      timestamptz 'epoch' + (r->>'created_at' || ' milliseconds')::interval,
      case when r->'roles' <> 'null'::jsonb
        then array(select jsonb_array_elements_text(r->'roles')) end,
      r->'data'
    from jsonb_array_elements(${JSON.stringify(rows)}::text::jsonb) as r`;
}

/** Adds rows, each with a name in the test; gives a function that finds the names of ids. */
export async function insertNamed(
  sql: Db,
  rows: Readonly<Record<string, Partial<Thing>>>,
): Promise<(ids: readonly string[]) => string> {
  const names = Object.keys(rows);
  const ids = names.map((_, i) => idAt(1000 + i));
  await insertThings(sql, names.map((name, i) => ({ ...PLAIN_THING, id: ids[i], ...rows[name] })));
  return (found) => found.map((id) => names[ids.indexOf(id)]).join();
}

const MAKERS = [idAt(1), idAt(2), idAt(3)];
const TEXTS = ["", "a", "ab", "B", "%", "a%b_c", "\\", "\\a", "é", "É", "𝒳", "{a,b}", '"', "'; --"];
const DECIMALS = ["0", "-1", "1.5", "1.50", "9007199254740993", "9007199254740992"];
DECIMALS.push("1.000000000000000001", "1", "123456789012345678901234567890", "-0.5");
const WHOLES = ["0", "-7", "3", "2147483647", "9007199254740993", "99999999999999999999", "3.5"];
const MOMENTS = [0, 1, -1, -86_400_001, 1_700_000_000_000, 1_700_000_000_001, 253_402_300_800_000];
const KEYS = ["a", "b", "__proto__", 'q"', "0", "x}y", "null"];

const some = <T>(from: readonly T[]) => fc.constantFrom(...from);
const orNull = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 5 });
const number = some(DECIMALS).map((text) => digits(text));

function json(depth: number): fc.Arbitrary<unknown> {
  const scalar = fc.oneof(fc.constant(null), fc.boolean(), some(TEXTS), number, fc.constant(3));
  if (depth === 0) return scalar;
  const inside = json(depth - 1);
  const pairs = fc.array(fc.tuple(some(KEYS), inside), { maxLength: 3 });
  return fc.oneof(scalar, fc.array(inside, { maxLength: 3 }), pairs.map(ownEntries));
}

/** An object whose `__proto__` is a key like any other, as JSON.parse() makes it. */
function ownEntries(entries: [string, unknown][]): unknown {
  const plain = {};
  for (const [key, value] of entries) {
    Object.defineProperty(plain, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return plain;
}

/** Random rows, many of which have values in common. */
export const things: fc.Arbitrary<Thing[]> = fc.uniqueArray(
  fc.record({
    id: fc.tuple(fc.integer({ min: 4_998, max: 5_003 }), fc.nat(50)).map(([at, n]) => idAt(at, n)),
    name: orNull(some(TEXTS)),
    "made.by": orNull(some(MAKERS)),
    total: some(DECIMALS),
    places: orNull(some([0, -7, 3, 2147483647])),
    active: orNull(fc.boolean()),
    seen_at: orNull(some(MOMENTS)),
    roles: orNull(fc.array(some(TEXTS), { maxLength: 3 })),
    data: json(2),
  }),
  { minLength: 1, maxLength: 25, selector: (thing) => thing.id },
);

const VALUES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  id: some([...MAKERS, "no id"]),
  name: some(TEXTS),
  "made.by": some([...MAKERS, "no id", ""]),
  total: fc.oneof(some(DECIMALS), number),
  places: fc.oneof(some(WHOLES), some(WHOLES).map((text) => digits(text))),
  active: some([true, false, "true", "false"]),
  seen_at: fc.oneof(some(MOMENTS), some(MOMENTS).map(String)),
  created_at: some([4_999, 5_000, 5_001, "5002", 0, -1, 2 ** 50]),
  roles: some(TEXTS),
};
const ORDERED = ["id", "name", "made.by", "total", "places", "seen_at", "created_at"];

const place = fc.array(some(["a", "b", "__proto__", 'q"', "0", "1", "x}y", "null"]), {
  maxLength: 2,
}).map((path) => ["data", ...path].join("."));

const operators: fc.Arbitrary<Record<string, unknown>> = fc.oneof(
  some(Object.keys(VALUES)).chain((field) => {
    const value = VALUES[field];
    const list = fc.array(orNull(value), { maxLength: 4 });
    const pairs: fc.Arbitrary<[string, unknown]>[] = [
      fc.tuple(some(["$eq", "$ne"]), orNull(value)),
      fc.tuple(some(["$in", "$nin"]), list),
      fc.tuple(fc.constant("$exists"), fc.boolean()),
    ];
    if (ORDERED.includes(field)) pairs.push(fc.tuple(some(["$gt", "$gte", "$lt", "$lte"]), value));
    if (field === "name" || field === "roles") {
      pairs.push(fc.tuple(fc.constant("$contains"), value));
    }
    return onField(fc.constant(field), fc.oneof(...pairs));
  }),
  onField(
    place,
    fc.oneof(
      fc.tuple(some(["$eq", "$ne", "$contains"]), json(1)),
      fc.tuple(some(["$gt", "$gte", "$lt", "$lte"]), fc.oneof(number, some(["", "a", "b"]))),
      fc.tuple(some(["$in", "$nin"]), fc.array(json(1), { maxLength: 3 })),
      fc.tuple(fc.constant("$exists"), fc.boolean()),
    ),
  ),
);

function onField(
  field: fc.Arbitrary<string>,
  pair: fc.Arbitrary<[string, unknown]>,
): fc.Arbitrary<Record<string, unknown>> {
  const several = fc.array(pair, { minLength: 1, maxLength: 2 }).map(Object.fromEntries);
  const wrapped = fc.oneof({ arbitrary: several, weight: 4 }, several.map(($not) => ({ $not })));
  return fc.tuple(field, wrapped).map((entry) => Object.fromEntries([entry]));
}

/** Random queries of every operator, nested up to three deep. */
export const queries: fc.Arbitrary<unknown> = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { arbitrary: operators, weight: 4 },
    fc.record({ $and: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ $or: fc.array(tie("node"), { minLength: 1, maxLength: 3 }) }),
    fc.record({ $not: tie("node") }),
  ),
})).node;

/** Whether a row satisfies a query that is valid: the meaning that SQL must have. */
export function matches(thing: Thing, query: Record<string, unknown>): boolean {
  return Object.entries(query).every(([key, given]) => {
    const parts = given as Record<string, unknown>[];
    if (key === "$and") return parts.every((part) => matches(thing, part));
    if (key === "$or") return parts.some((part) => matches(thing, part));
    if (key === "$not") return !matches(thing, given as Record<string, unknown>);
    return holds(thing, key, given as Record<string, unknown>);
  });
}

function holds(thing: Thing, field: string, operators: Record<string, unknown>): boolean {
  const own = valueAt(thing, field);
  return Object.entries(operators).every(([operator, given]): boolean => {
    const list = given as unknown[];
    switch (operator) {
      case "$not":
        return !holds(thing, field, given as Record<string, unknown>);
      case "$eq":
        return same(field, own, given);
      case "$ne":
        return !same(field, own, given);
      case "$in":
        return list.some((item) => same(field, own, item));
      case "$nin":
        return !list.some((item) => same(field, own, item));
      case "$exists":
        return (own !== undefined && (own !== null || field.startsWith("data"))) === given;
      case "$contains":
        return holdsInside(field, own, given);
      default: {
        const order = orderOf(field, own, given);
        if (order === null) return false;
        if (operator === "$gt") return order > 0;
        if (operator === "$gte") return order >= 0;
        return operator === "$lt" ? order < 0 : order <= 0;
      }
    }
  });
}

function valueAt(thing: Thing, field: string): unknown {
  if (field === "created_at") return idTime(thing.id);
  if (!field.startsWith("data")) return thing[field as keyof Thing];
  let value: unknown = thing.data;
  for (const key of field.split(".").slice(1)) {
    const branch = typeof value === "object" && value !== null && !isDigits(value);
    if (!branch || !Object.hasOwn(value as object, key)) return undefined;
    value = Object.getOwnPropertyDescriptor(value, key)!.value;
  }
  return value;
}

function same(field: string, own: unknown, given: unknown): boolean {
  if (given === null) return own === null || own === undefined;
  if (own === null || own === undefined) return false;
  if (field.startsWith("data")) return canonical(own) === canonical(given);
  if (field === "roles") return (own as string[]).includes(given as string);
  if (field === "active") return String(own) === String(given);
  return orderOf(field, own, given) === 0;
}

/** Below 0, 0 or above 0; null where the two cannot be compared. */
function orderOf(field: string, own: unknown, given: unknown): number | null {
  if (own === null || own === undefined) return null;
  if (["total", "places", "seen_at", "created_at"].includes(field)) {
    return compare(textOf(own), textOf(given));
  }
  if (field.startsWith("data")) {
    if (isNumber(own) && isNumber(given)) return compare(textOf(own), textOf(given));
    if (typeof own !== "string" || typeof given !== "string") return null;
  } else if (field !== "name" && (given === "" || given === "no id")) return null;
  return byCodePoints(own as string, given as string);
}

function holdsInside(field: string, own: unknown, given: unknown): boolean {
  if (own === null && field !== "data" && !field.startsWith("data.")) return false;
  if (own === undefined) return false;
  if (field === "name") return (own as string).includes(given as string);
  if (field === "roles") return (own as string[]).includes(given as string);
  if (typeof own === "string" && typeof given === "string") return own.includes(given);
  return covers(own, given) || (Array.isArray(own) && isScalar(given) && covers(own, [given]));
}

/** Containment as PostgreSQL defines it for jsonb, but for the scalar in an array. */
function covers(own: unknown, given: unknown): boolean {
  if (Array.isArray(own) && Array.isArray(given)) {
    return given.every((item) => own.some((other) => covers(other, item)));
  }
  if (isScalar(own) || isScalar(given)) return canonical(own) === canonical(given);
  if (Array.isArray(own) || Array.isArray(given)) return false;
  return Object.keys(given as object).every((key) =>
    Object.hasOwn(own as object, key) && covers(inside(own, key), inside(given, key))
  );
}

function inside(value: unknown, key: string): unknown {
  return Object.getOwnPropertyDescriptor(value, key)!.value;
}

function isScalar(value: unknown): boolean {
  return typeof value !== "object" || value === null || isDigits(value);
}

function isNumber(value: unknown): boolean {
  return typeof value === "number" || isDigits(value);
}

function textOf(value: unknown): string {
  return isDigits(value) ? value.digits : String(value);
}

function canonical(value: unknown): string {
  if (isNumber(value)) {
    const text = textOf(value);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }
  if (isScalar(value)) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  const keys = Object.keys(value as object).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(inside(value, key))}`)}}`;
}

function byCodePoints(a: string, b: string): number {
  const [x, y] = [a, b].map((text) => new TextEncoder().encode(text));
  for (let i = 0; i < Math.min(x.length, y.length); i++) if (x[i] !== y[i]) return x[i] - y[i];
  return x.length - y.length;
}
