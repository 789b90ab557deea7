import { deepEqual, equal, ok, throws } from "node:assert/strict";
import type { Columns } from "../../db/collections/filter.ts";
import type { DomainError } from "../../domain/errors.ts";
import { parseQuery } from "../../domain/collections/filter.ts";
import { idBound, newId } from "../../domain/ids.ts";
import { parseJson } from "../../domain/json.ts";

const COLUMNS: Columns = {
  id: { column: "id", type: "id" },
  name: { column: "name", type: "text" },
  holder: { column: "holder", type: "id" },
  "balance.total": { column: "total", type: "decimal" },
  places: { column: "places", type: "integer" },
  active: { column: "active", type: "boolean" },
  seen_at: { column: "seen_at", type: "time", nullable: true },
  created_at: { column: "created_at", type: "time", inId: true },
  roles: { column: "roles", type: "texts" },
  data: { column: "data", type: "json" },
  "extra.more": { column: "more", type: "json" },
};
const at = (field: string, ...path: string[]) => ({ field, path });
const ID = newId(1_700_000_000_000);

function nested(levels: number, of: unknown = { name: "x" }): unknown {
  return levels === 0 ? of : { $and: [nested(levels - 1, of)] };
}

function refused(query: unknown, path?: string, message?: RegExp): void {
  throws(() => parseQuery(COLUMNS, query), (error: DomainError) => {
    equal(error.name, "DomainError", `${error}`);
    equal(error.code, "query.invalid");
    equal(error.extra.errors?.length, 1);
    const [fault] = error.extra.errors!;
    if (path !== undefined) equal(fault.path, path);
    if (message !== undefined) ok(message.test(fault.message), fault.message);
    ok(fault.path.length < 400 && fault.message.length < 400);
    return true;
  }, JSON.stringify(query)?.slice(0, 100));
}

Deno.test("parseQuery() asks for everything when nothing is given", () => {
  for (const nothing of [undefined, null, "", "{}", {}]) {
    deepEqual(parseQuery(COLUMNS, nothing), { op: "and", of: [] });
  }
});

Deno.test("parseQuery() reads an object and its JSON text alike", () => {
  const want = { op: "eq", at: at("name"), value: "x" };
  deepEqual(parseQuery(COLUMNS, { name: "x" }), want);
  deepEqual(parseQuery(COLUMNS, '{"name":"x"}'), want);
  deepEqual(parseQuery(COLUMNS, { name: { $eq: "x" } }), want);
});

Deno.test("parseQuery() applies every operator on a field", () => {
  deepEqual(parseQuery(COLUMNS, { "balance.total": { $gte: 1, $lt: "5" } }), {
    op: "and",
    of: [
      { op: "gte", at: at("balance.total"), value: "1" },
      { op: "lt", at: at("balance.total"), value: "5" },
    ],
  });
});

Deno.test("parseQuery() keeps conditions on falsy values", () => {
  deepEqual(parseQuery(COLUMNS, { "balance.total": { $gt: 0 } }), {
    op: "gt",
    at: at("balance.total"),
    value: "0",
  });
  deepEqual(parseQuery(COLUMNS, { active: { $eq: false } }), {
    op: "eq",
    at: at("active"),
    value: "false",
  });
  deepEqual(parseQuery(COLUMNS, { name: "" }), { op: "eq", at: at("name"), value: "" });
  deepEqual(parseQuery(COLUMNS, { name: null }), { op: "null", at: at("name") });
});

Deno.test("parseQuery() keeps every digit of a number", () => {
  const digits = ["1.000000000000000001", "9007199254740993", "123456789012345678901234567890.5"];
  for (const text of digits) {
    for (const given of [text, `"${text}"`]) {
      const query = `{"balance.total":{"$gte":${given}},"data.n":${text}}`;
      deepEqual(parseQuery(COLUMNS, query), {
        op: "and",
        of: [
          { op: "gte", at: at("balance.total"), value: text },
          { op: "eq", at: at("data", "n"), value: text },
        ],
      });
    }
  }
  deepEqual(parseQuery(COLUMNS, `{"data":{"a":[1.10,{"b":2e3}]}}`), {
    op: "eq",
    at: at("data"),
    value: `{"a":[1.10,{"b":2e3}]}`,
  });
});

Deno.test("parseQuery() takes the longest field that holds JSON", () => {
  deepEqual(parseQuery(COLUMNS, { "extra.more.a.b": 1 }), {
    op: "eq",
    at: at("extra.more", "a", "b"),
    value: "1",
  });
  deepEqual(parseQuery(COLUMNS, { "data.__proto__.constructor": "x" }), {
    op: "eq",
    at: at("data", "__proto__", "constructor"),
    value: '"x"',
  });
});

Deno.test("parseQuery() reads $and, $or and $not, also on a field", () => {
  const a = { op: "eq", at: at("name"), value: "a" };
  deepEqual(parseQuery(COLUMNS, { $or: [{ name: "a" }, { $not: { name: "a" } }] }), {
    op: "or",
    of: [a, { op: "not", of: a }],
  });
  deepEqual(parseQuery(COLUMNS, { name: { $not: { $eq: "a" }, $ne: "a" } }), {
    op: "and",
    of: [{ op: "not", of: a }, { op: "not", of: a }],
  });
});

Deno.test("parseQuery() splits null from a list", () => {
  const list = { op: "in", at: at("name"), values: ["a", "b"] };
  deepEqual(parseQuery(COLUMNS, { name: { $in: ["a", "b"] } }), list);
  deepEqual(parseQuery(COLUMNS, { name: { $in: ["a", null, "b"] } }), {
    op: "or",
    of: [{ op: "null", at: at("name") }, list],
  });
  deepEqual(parseQuery(COLUMNS, { name: { $in: [] } }), { op: "or", of: [] });
});

Deno.test("parseQuery() lets a text that is no id match nothing", () => {
  const none = { op: "or", of: [] };
  for (const given of ["x", "", 5, ID.toUpperCase(), `${ID}'`, "%"]) {
    deepEqual(parseQuery(COLUMNS, { holder: given }), none);
    deepEqual(parseQuery(COLUMNS, { holder: { $in: [given, given] } }), none);
    deepEqual(parseQuery(COLUMNS, { holder: { $ne: given } }), { op: "not", of: none });
  }
  deepEqual(parseQuery(COLUMNS, { holder: { $gt: "x" } }), none);
  deepEqual(parseQuery(COLUMNS, { holder: { $in: ["x", ID] } }), {
    op: "in",
    at: at("holder"),
    values: [ID],
  });
});

Deno.test("parseQuery() reads times as milliseconds within the database's range", () => {
  for (const given of [1.7e12, "1700000000000", parseJson("1700000000000")]) {
    deepEqual(parseQuery(COLUMNS, { seen_at: { $gt: given } }), {
      op: "gt",
      at: at("seen_at"),
      value: "1700000000000",
    });
  }
  const outside = [9223372036854775, -210866803200001, "99999999999999999999", 1e300];
  for (const given of outside) refused({ seen_at: given }, "/query/seen_at");
  for (const given of ["", "x", "2026-01-01", 1.5, "1e3", true, {}, [], NaN, " 5"]) {
    refused({ seen_at: { $gte: given } });
  }
});

Deno.test("parseQuery() asks the id about the time that is in it", () => {
  const id = (op: string, ms: number) => ({ op, at: at("id"), value: idBound(ms) });
  deepEqual(parseQuery(COLUMNS, { created_at: { $gte: 42 } }), id("gt", 41));
  deepEqual(parseQuery(COLUMNS, { created_at: { $gt: 42 } }), id("gt", 42));
  deepEqual(parseQuery(COLUMNS, { created_at: { $lt: 42 } }), id("lte", 41));
  deepEqual(parseQuery(COLUMNS, { created_at: { $lte: 42 } }), id("lte", 42));
  deepEqual(parseQuery(COLUMNS, { created_at: 42 }), {
    op: "and",
    of: [id("gt", 41), id("lte", 42)],
  });
  deepEqual(parseQuery(COLUMNS, { created_at: { $gte: -5 } }), { op: "and", of: [] });
  deepEqual(parseQuery(COLUMNS, { created_at: { $lt: 0 } }), { op: "or", of: [] });
});

Deno.test("parseQuery() names an unknown field", () => {
  const names = ["nme", "__proto__", "constructor", "toString", "name.x", "balance", "data.", ""];
  names.push("data..a", ".data", "balance.total.x", 'x" or "1"="1', "name; drop table t --");
  for (const name of names) {
    const query = JSON.parse(`{${JSON.stringify(name)}:1}`);
    refused(query, `/query/${name}`, /unknown field/);
    refused({ $or: [{ name: "a" }, query] }, `/query/$or/1/${name}`, /unknown field/);
  }
  refused({ "a/b~c": 1 }, "/query/a~1b~0c", /a\/b~c/);
  refused({ ["x".repeat(900)]: 1 });
});

Deno.test("parseQuery() names an unknown operator", () => {
  for (const operator of ["$where", "$regex", "$raw", "$nor", "$", "$eq ", "$EQ"]) {
    refused({ [operator]: 1 }, `/query/${operator}`, /unknown operator/);
    refused({ name: { [operator]: 1 } }, `/query/name/${operator}`, /unknown operator/);
    refused({ "data.a": { [operator]: 1 } }, undefined, /unknown operator/);
  }
  refused({ name: { $eq: "a", b: 1 } }, "/query/name/b", /unknown operator/);
  refused({ name: { $and: [] } }, "/query/name/$and", /unknown operator/);
});

Deno.test("parseQuery() refuses values of another type", () => {
  for (const given of [1, true, {}, [], { a: 1 }]) refused({ name: given }, "/query/name");
  for (const given of ["", "x", "1,5", "0x10", "1.", ".5", "+1", "1e9999", "Infinity", true, []]) {
    refused({ "balance.total": given });
    refused({ places: given });
  }
  for (const given of [NaN, Infinity]) refused({ "balance.total": given });
  for (const given of [0, 1, "yes", "", {}, ["true"]]) refused({ active: given });
  for (const given of [true, {}, ["x"]]) refused({ holder: given });
  for (const given of [undefined, () => 1]) refused({ "data.a": given });
  for (const order of ["$gt", "$gte", "$lt", "$lte"]) {
    refused({ active: { [order]: true } });
    refused({ roles: { [order]: "a" } });
    for (const given of [null, true, {}, []]) {
      refused({ "data.a": { [order]: given } });
      refused({ name: { [order]: given } });
    }
  }
  for (const field of ["id", "balance.total", "places", "active", "seen_at"]) {
    refused({ [field]: { $contains: "1" } });
  }
  refused({ name: { $exists: 1 } });
  for (const list of ["$in", "$nin"]) {
    for (const given of ["a", null, {}]) refused({ name: { [list]: given } });
  }
  for (const given of [[], {}, null, "x", [1], [[]]]) {
    refused({ $and: given });
    refused({ $or: given });
  }
  refused({ $not: [] });
  refused({ name: { $not: "a" } });
  refused({ name: { $not: {} } });
  for (const query of [[], 5, true, "[]", "5", "null", "{", "{'a':1}"]) refused(query);
});

Deno.test("parseQuery() refuses a query beyond its limits, and nothing less", () => {
  const names = (count: number) => Array.from({ length: count }, () => ({ name: "x" }));
  parseQuery(COLUMNS, nested(8));
  refused(nested(9));
  refused(nested(8, { name: { $not: { $eq: 1 } } }));
  refused(nested(60));
  parseQuery(COLUMNS, { $or: names(100) });
  refused({ $or: names(101) }, undefined, /100 conditions/);
  refused({ $or: Array.from({ length: 101 }, () => ({})) }, undefined, /100 conditions/);
  refused({ $or: Array.from({ length: 51 }, () => ({ name: { $gt: "a", $lt: "b" } })) });
  parseQuery(COLUMNS, { name: { $in: Array(500).fill("x") } });
  refused({ name: { $nin: Array(501).fill("x") } });
  refused({ data: Array(501).fill(1) });
  parseQuery(COLUMNS, { name: "x".repeat(1000) });
  refused({ name: "x".repeat(1001) });
  refused({ "data.a": "x".repeat(1001) });
  refused({ "data.a": { ["x".repeat(1001)]: 1 } });
  refused({ [`data.${"x".repeat(1000)}`]: 1 });
  refused({ "balance.total": "1".repeat(1001) });
  refused({ data: JSON.parse(`${"[".repeat(10)}${"]".repeat(10)}`) });
  refused(`{"data":${"[".repeat(5000)}${"]".repeat(5000)}}`);
});

Deno.test("parseQuery() refuses text that no row can hold", () => {
  for (const text of ["a\0", "\ud800", "\udc00x"]) {
    for (const field of ["name", "holder", "roles", "data", "data.a"]) refused({ [field]: text });
    refused({ name: { $in: ["a", text] } });
    refused({ name: { $contains: text } });
    refused({ data: { a: [{ b: text }] } });
    refused({ data: { [text]: 1 } });
    refused({ [`data.${text}`]: 1 });
    refused({ [text]: 1 });
  }
  for (const text of ["\\u0000", "\\ud800"]) refused(`{"name":"${text}"}`);
});
