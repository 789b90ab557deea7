import { deepEqual, equal, match } from "node:assert/strict";
import type { Db } from "../../db/database.ts";
import { unprepared } from "../../db/collections/filter.ts";
import { afterOf, type Anchor, anchorOf, orderOf, sortsById } from "../../db/collections/sort.ts";
import { parseSort } from "../../domain/collections/list_parameters.ts";
import {
  idAt,
  insertNamed,
  insertThings,
  PLAIN_THING,
  testTable,
  type Thing,
  THINGS,
  things,
} from "./filter_table.ts";
import { fc } from "../support/properties.ts";

async function listed(sql: Db, sort: string): Promise<string[]> {
  const order = orderOf(sql, THINGS, parseSort(THINGS, sort));
  const rows = await unprepared(sql<{ id: string }[]>`select id from things order by ${order}`);
  return rows.map((row) => row.id);
}

/** The same list, read in pages, each of which knows of the last only the id it ended with. */
async function paged(sql: Db, sort: string, size: number): Promise<string[]> {
  const keys = parseSort(THINGS, sort);
  const ids: string[] = [];
  for (;;) {
    let after = sql`true`;
    if (ids.length > 0) {
      const id = ids.at(-1)!;
      const [anchor] = await unprepared(sql<Pick<Anchor, "keys">[]>`
        select ${anchorOf(sql, THINGS, keys)} as keys from things where id = ${id}`);
      after = afterOf(sql, THINGS, keys, { id, keys: anchor.keys });
    }
    const rows = await unprepared(sql<{ id: string }[]>`
      select id from things where ${after} order by ${orderOf(sql, THINGS, keys)} limit ${size}`);
    if (rows.length === 0) return ids;
    ids.push(...rows.map((row) => row.id));
    equal(new Set(ids).size, ids.length, `${sort}: a row comes twice`);
  }
}

/** Adds named rows; gives a function that lists their names in order, for any size of pages. */
async function named(sql: Db, rows: Record<string, Partial<Thing>>) {
  const namesOf = await insertNamed(sql, rows);
  return async (sort: string) => {
    const whole = await listed(sql, sort);
    deepEqual(await paged(sql, sort, 1), whole);
    return namesOf(whole);
  };
}

const sorts = fc.array(
  fc.tuple(
    fc.constantFrom("", "-"),
    fc.constantFrom(...Object.keys(THINGS), "data.a", "data.__proto__.b"),
  ).map((parts) => parts.join("")),
  { maxLength: 4 },
).map((names) => names.join());

Deno.test("afterOf() continues every order where the page before it ended", async () => {
  await using table = await testTable();
  const rounds = fc.tuple(things, fc.array(sorts, { minLength: 3, maxLength: 6 }), fc.nat(4));
  await fc.assert(
    fc.asyncProperty(rounds, async ([rows, asked, more]) => {
      await table.sql`truncate things`;
      await insertThings(table.sql, rows);
      for (const sort of asked) {
        const whole = await listed(table.sql, sort);
        equal(whole.length, rows.length);
        deepEqual(await paged(table.sql, sort, more + 1), whole, sort);
      }
    }),
    { numRuns: 30 },
  );
});

Deno.test("orderOf() sorts by each key in turn, nulls last or, descending, first", async () => {
  await using table = await testTable();
  const list = await named(table.sql, {
    a: { name: "x", total: "2" },
    b: { name: "y", total: "10" },
    c: { name: null, total: "2.0" },
    d: { name: "x", total: "10" },
  });
  equal(await list(""), "a,b,c,d");
  equal(await list("-id"), "d,c,b,a");
  equal(await list("name"), "a,d,b,c");
  equal(await list("-name"), "c,b,d,a");
  equal(await list("total"), "a,c,b,d");
  equal(await list("-total"), "d,b,c,a");
  equal(await list("-total,name"), "d,b,a,c");
  equal(await list("name,-total"), "d,a,b,c");
  equal(await list("-name,total,-id"), "c,b,a,d");
});

Deno.test("orderOf() sorts decimals, times and JSON by their values", async () => {
  await using table = await testTable();
  const list = await named(table.sql, {
    a: { total: "9", seen_at: 1_700_000_000_000, data: { n: 10 }, active: true },
    b: { total: "10", seen_at: -5, data: { n: 9 }, active: false },
    c: { total: "9.000000000000000001", seen_at: 0, data: {}, active: null },
  });
  equal(await list("total"), "a,c,b");
  equal(await list("-seen_at"), "a,c,b");
  equal(await list("data.n"), "b,a,c");
  equal(await list("active"), "b,a,c");
  equal(await list("-created_at"), "c,b,a");
});

Deno.test("sortsById() tells when the anchor's row need not be read", () => {
  for (const sort of ["", "id", "-id", "created_at", "-created_at,name"]) {
    equal(sortsById(parseSort(THINGS, sort)), true, sort);
  }
  for (const sort of ["name", "-seen_at", "name,id"]) {
    equal(sortsById(parseSort(THINGS, sort)), false, sort);
  }
});

Deno.test("afterOf() lets indexes find the page", async () => {
  await using table = await testTable();
  const { sql } = table;
  const rows = Array.from({ length: 3000 }, (_, i) => ({
    ...PLAIN_THING,
    id: idAt(10_000 + i),
    name: `n${i % 1000}`,
    total: `${i % 1000}`,
  }));
  await insertThings(sql, rows);
  await sql`create index by_total on things (total, id)`;
  await sql`analyze things`;
  for (
    const [sort, keys, plan] of [
      ["", [], /Index (Only )?Scan using things_pkey.*Index Cond: \(id > /],
      ["-created_at", [], /Index (Only )?Scan Backward using things_pkey.*Index Cond: \(id < /],
      ["total", ["700"], /Index (Only )?Scan using by_total.*Index Cond: \(total >= /],
      ["-total", ["700"], /Index (Only )?Scan Backward using by_total.*Index Cond: \(total <= /],
    ] as const
  ) {
    const order = parseSort(THINGS, sort);
    const after = afterOf(sql, THINGS, order, { id: rows[1500].id, keys });
    const lines = await unprepared(sql`
      explain select id from things where ${after} order by ${
      orderOf(sql, THINGS, order)
    } limit 10`);
    match(lines.map((line) => line["QUERY PLAN"]).join(" "), plan, sort);
  }
});
