import { deepEqual, equal, ok } from "node:assert/strict";
import type { Db } from "../../db/database.ts";
import { searchOf, unprepared, whereOf } from "../../db/collections/filter.ts";
import { parseQuery } from "../../domain/collections/filter.ts";
import { parseSearch } from "../../domain/collections/list_parameters.ts";
import {
  insertNamed,
  insertThings,
  matches,
  queries,
  testTable,
  type Thing,
  THINGS,
  things,
} from "./filter_table.ts";
import { fc } from "../support/properties.ts";

async function found(sql: Db, query: unknown): Promise<string[]> {
  const where = whereOf(sql, THINGS, parseQuery(THINGS, query));
  const rows = await unprepared(sql<{ id: string }[]>`
    select id from things where ${where} order by id`);
  return rows.map((row) => row.id);
}

/** Adds named rows; gives a function that lists the names of the rows that a query finds. */
async function named(sql: Db, rows: Record<string, Partial<Thing>>) {
  const namesOf = await insertNamed(sql, rows);
  return async (query: unknown) => namesOf(await found(sql, query));
}

Deno.test("whereOf() finds the rows that the query means, whatever rows and queries", async () => {
  await using table = await testTable();
  const rounds = fc.tuple(things, fc.array(queries, { minLength: 20, maxLength: 40 }));
  await fc.assert(
    fc.asyncProperty(rounds, async ([rows, asked]) => {
      await table.sql`truncate things`;
      await insertThings(table.sql, rows);
      for (const query of asked) {
        const want = rows.filter((row) => matches(row, query as Record<string, unknown>));
        deepEqual(
          await found(table.sql, query),
          want.map((row) => row.id).sort(),
          JSON.stringify(query),
        );
      }
    }),
    { numRuns: 50 },
  );
});

Deno.test("whereOf() compares decimals digit by digit", async () => {
  await using table = await testTable();
  const ask = await named(table.sql, {
    small: { total: "1.000000000000000001" },
    one: { total: "1.0" },
    big: { total: "9007199254740993" },
  });
  equal(await ask('{"total":1}'), "one");
  equal(await ask('{"total":1e0}'), "one");
  equal(await ask('{"total":1.000000000000000001}'), "small");
  equal(await ask('{"total":{"$gt":1,"$lt":1.000000000000000002}}'), "small");
  equal(await ask('{"total":9007199254740993}'), "big");
  equal(await ask('{"total":{"$in":["9007199254740992",1.00]}}'), "one");
  equal(await ask('{"total":{"$lt":1e999,"$gt":-1e999}}'), "small,one,big");
});

Deno.test("whereOf() counts a time to the millisecond that has begun", async () => {
  await using table = await testTable();
  const ask = await named(table.sql, {
    early: { seen_at: 999 },
    late: { seen_at: 1000 },
    never: {},
  });
  equal(await ask({ seen_at: 999 }), "early");
  equal(await ask({ seen_at: { $gt: 999 } }), "late");
  equal(await ask({ seen_at: { $gte: "1000" } }), "late");
  equal(await ask({ seen_at: { $lte: 999 } }), "early");
  equal(await ask({ seen_at: { $in: [1000, 5] } }), "late");
  equal(await ask({ seen_at: { $ne: 999 } }), "late,never");
  const [least, most] = [-210866803200000, "9223372036854774"];
  for (const op of ["$eq", "$gt", "$gte", "$lt", "$lte"]) {
    for (const time of [least, most]) {
      await ask({ $or: [{ seen_at: { [op]: time } }, { created_at: { [op]: time } }] });
    }
  }
  equal(await ask({ seen_at: { $gt: least, $lt: most } }), "early,late");
  equal(await ask({ seen_at: { $in: [least, most] } }), "");
});

Deno.test("whereOf() reads the time in the id as the column would be read", async () => {
  await using table = await testTable();
  const ask = await named(table.sql, { a: {}, b: {}, c: {} }); // made at 1000, 1001, 1002
  equal(await ask({ created_at: 1001 }), "b");
  equal(await ask({ created_at: { $gt: 1001 } }), "c");
  equal(await ask({ created_at: { $gte: 1001 } }), "b,c");
  equal(await ask({ created_at: { $lt: 1001 } }), "a");
  equal(await ask({ created_at: { $lte: 1001 } }), "a,b");
  equal(await ask({ created_at: { $ne: 1001 } }), "a,c");
  equal(await ask({ created_at: { $in: [1000, 1002] } }), "a,c");
  equal(await ask({ created_at: null }), "");
});

Deno.test("whereOf() takes null for a value like any other", async () => {
  await using table = await testTable();
  const ask = await named(table.sql, { some: { name: "x", active: false }, none: {} });
  equal(await ask({ name: null }), "none");
  equal(await ask({ name: { $ne: null } }), "some");
  equal(await ask({ name: { $ne: "x" } }), "none");
  equal(await ask({ name: { $nin: ["x", "y"] } }), "none");
  equal(await ask({ name: { $nin: ["y"] } }), "some,none");
  equal(await ask({ name: { $in: [null] } }), "none");
  equal(await ask({ name: { $exists: false } }), "none");
  equal(await ask({ name: { $not: { $gt: "a" } } }), "none");
  equal(await ask({ active: { $ne: true } }), "some,none");
  equal(await ask({ active: "false" }), "some");
  equal(await ask({ "made.by": { $ne: "no id" } }), "some,none");
  equal(await ask({ "made.by": "no id" }), "");
});

Deno.test("whereOf() reaches into JSON and keeps its types apart", async () => {
  await using table = await testTable();
  const ask = await named(table.sql, {
    number: { data: { n: 5, deep: { er: "value" } } },
    text: { data: { n: "5", list: ["a", { b: 1 }] } },
    nothing: { data: { n: null } },
    missing: { data: {} },
  });
  equal(await ask({ "data.n": 5 }), "number");
  equal(await ask('{"data.n":5.00}'), "number");
  equal(await ask({ "data.n": "5" }), "text");
  equal(await ask({ "data.n": { $gte: 5 } }), "number");
  equal(await ask({ "data.n": { $gte: "4" } }), "text");
  equal(await ask({ "data.n": null }), "nothing,missing");
  equal(await ask({ "data.n": { $exists: true } }), "number,text,nothing");
  equal(await ask({ "data.n": { $ne: 5 } }), "text,nothing,missing");
  equal(await ask({ "data.deep.er": { $contains: "alu" } }), "number");
  equal(await ask({ "data.deep": { er: "value" } }), "number");
  equal(await ask({ "data.list": { $contains: "a" } }), "text");
  equal(await ask({ "data.list": { $contains: [{ b: 1 }] } }), "text");
  equal(await ask({ "data.list.1.b": 1 }), "text");
  equal(await ask({ data: { $contains: { n: 5 } } }), "number");
  equal(await ask({ data: {} }), "missing");
});

Deno.test("whereOf() finds members of lists and parts of texts", async () => {
  await using table = await testTable();
  const ask = await named(table.sql, {
    admin: { roles: ["admin", "user"], name: "100%_\\" },
    user: { roles: ["user"], name: "100 pro" },
    none: {},
  });
  equal(await ask({ roles: "admin" }), "admin");
  equal(await ask({ roles: { $contains: "user" } }), "admin,user");
  equal(await ask({ roles: { $in: ["admin", "x"] } }), "admin");
  equal(await ask({ roles: { $ne: "admin" } }), "user,none");
  equal(await ask({ roles: null }), "none");
  equal(await ask({ name: { $contains: "%" } }), "admin");
  equal(await ask({ name: { $contains: "_\\" } }), "admin");
  equal(await ask({ name: { $contains: "PRO" } }), "");
});

Deno.test("whereOf() never lets text of a query become SQL", async () => {
  await using table = await testTable();
  const texts = [
    "'; drop table things; --",
    '"',
    "' or '1'='1",
    "$1",
    "\\",
    "{,}",
    "null",
    "}'::x",
  ];
  const rows = Object.fromEntries(
    texts.map((text) => [text, { name: text, data: { [text]: text } }]),
  );
  await named(table.sql, rows);
  for (const text of texts) {
    const queries = [
      { name: text },
      { name: { $contains: text } },
      { name: { $in: [text] } },
      { data: { $eq: { [text]: text } } },
      { data: { $in: [{ [text]: text }] } },
      ...text.includes(".") ? [] : [{ [`data.${text}`]: text }],
    ];
    for (const query of queries) {
      equal((await found(table.sql, query)).length, 1, JSON.stringify(query));
    }
    for (const field of ["id", "made.by"]) {
      equal((await found(table.sql, { [field]: text })).length, 0);
    }
    equal((await found(table.sql, { roles: text })).length, 0);
  }
});

Deno.test("whereOf() stays within its parentheses", async () => {
  await using table = await testTable();
  const ask = await named(table.sql, { mine: { active: true, name: "x" }, other: { name: "x" } });
  equal(await ask({ $or: [{ name: "x" }, { name: "y" }] }), "mine,other");
  for (
    const query of [{ $or: [{ name: "x" }, { total: "0" }] }, { "data.a": { $contains: "a" } }, {}]
  ) {
    const where = whereOf(table.sql, THINGS, parseQuery(THINGS, query));
    const rows = await table
      .sql`select name, active from things where active and ${where} and active`;
    ok(rows.every((row) => row.active));
  }
});

Deno.test("whereOf() answers the largest query that is allowed", async () => {
  await using table = await testTable();
  const ask = await named(table.sql, { a: { name: "x499", data: { a: "y499" } } });
  const list = (letter: string) => Array.from({ length: 500 }, (_, i) => `${letter}${i}`);
  const both = { name: { $in: list("x") }, "data.a": { $in: list("y") } };
  equal(await ask({ $and: Array.from({ length: 50 }, () => both) }), "a");
  let nested: unknown = both;
  for (let i = 0; i < 8; i++) nested = { $and: [{ name: { $ne: "z" } }, nested] };
  equal(await ask(nested), "a");
});

Deno.test("searchOf() finds a part of a text in any case and takes no patterns", async () => {
  await using table = await testTable();
  await named(table.sql, {
    a: { name: "Ab%c_d\\e", roles: ["Manager"], data: { note: "In HERE" } },
    b: { name: "abxcxdxe", roles: [], data: { note: ["x", 'In "here"'] } },
    c: {},
  });
  const count = async (text: string, fields?: string) => {
    const { targets } = parseSearch(THINGS, text, fields)!;
    const where = searchOf(table.sql, THINGS, targets, text);
    const [row] = await unprepared(table.sql`
      select count(*)::int as n from things where ${where} and ${where}`);
    return row.n;
  };
  equal(await count("AB"), 2);
  equal(await count("b%c"), 1);
  equal(await count("%"), 1);
  equal(await count("_"), 1);
  equal(await count("D\\E"), 1);
  equal(await count("manage"), 0);
  equal(await count("manage", "name,roles"), 1);
  equal(await count("here", "data.note"), 2);
  equal(await count("note", "data"), 2);
  equal(await count("0000", "id"), 3);
  const none = await table.sql`select id from things where ${searchOf(table.sql, THINGS, [], "a")}`;
  equal(none.length, 0);
});

Deno.test("unprepared() leaves no statement behind", async () => {
  await using table = await testTable();
  const left = async () => {
    const [row] = await table.sql`select count(*)::int as n from pg_prepared_statements`;
    return row.n;
  };
  const before = await left();
  for (let i = 1; i < 20; i++) {
    await found(table.sql, { $or: Array.from({ length: i }, () => ({ name: "x" })) });
  }
  equal(await left(), before);
});
