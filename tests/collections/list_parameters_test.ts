import { deepEqual, equal, throws } from "node:assert/strict";
import type { Columns } from "../../db/collections/filter.ts";
import type { DomainError } from "../../domain/errors.ts";
import { newId } from "../../domain/ids.ts";
import { digits } from "../../domain/json.ts";
import {
  parseFields,
  parsePage,
  parseSearch,
  parseSort,
  parseWindow,
} from "../../domain/collections/list_parameters.ts";

const COLUMNS: Columns = {
  id: { column: "id", type: "id" },
  name: { column: "name", type: "text" },
  note: { column: "note", type: "text" },
  "source.account": { column: "source", type: "id" },
  "balance.total": { column: "total", type: "decimal" },
  created_at: { column: "created_at", type: "time", inId: true },
  roles: { column: "roles", type: "texts" },
  data: { column: "data", type: "json" },
};
const at = (field: string, ...path: string[]) => ({ field, path });

function refused(path: string, parse: () => unknown): void {
  throws(parse, (error: DomainError) => {
    equal(error.code, "query.invalid", `${error}`);
    equal(error.extra.errors?.[0].path, path);
    return true;
  });
}

Deno.test("parseSort() reads names, directions, commas, blanks and repeats", () => {
  const want = [
    { at: at("name"), descending: true },
    { at: at("balance.total"), descending: false },
    { at: at("data", "a", "b"), descending: true },
  ];
  for (const sort of ["-name,balance.total,-data.a.b", "-name balance.total, -data.a.b"]) {
    deepEqual(parseSort(COLUMNS, sort), want);
  }
  deepEqual(parseSort(COLUMNS, ["-name", "balance.total,-data.a.b"]), want);
  for (const nothing of [undefined, null, "", " , ", []]) {
    deepEqual(parseSort(COLUMNS, nothing), []);
  }
});

Deno.test("parseSort() takes the id for its time and drops later keys", () => {
  const byId = [{ at: at("id"), descending: true }];
  for (const sort of ["-id", "-created_at", "-created_at,name", "-id,id"]) {
    deepEqual(parseSort(COLUMNS, sort), byId);
  }
  deepEqual(parseSort(COLUMNS, "name,-created_at,note"), [
    { at: at("name"), descending: false },
    ...byId,
  ]);
});

Deno.test("parseSort() refuses unknown names, odd values and too many keys", () => {
  for (
    const sort of ["nme", "--name", "-", "__proto__", "name;drop", 'na"me', "balance", "data."]
  ) {
    refused("/sort", () => parseSort(COLUMNS, sort));
  }
  for (const sort of [5, {}, [["name"]], true]) refused("/sort", () => parseSort(COLUMNS, sort));
  refused("/sort", () => parseSort(COLUMNS, Array(9).fill("name")));
  refused("/sort", () => parseSort(COLUMNS, "data.\0"));
});

Deno.test("parseFields() knows fields, their parts, their parents, and those without a column", () => {
  const names = ["id", "balance", "balance.total", "data.a", "source.account.alias", "history"];
  deepEqual(parseFields(COLUMNS, names.join(), ["history"]), names);
  deepEqual(parseFields(COLUMNS, names, ["history"]), names);
  for (const nothing of [undefined, null, "", []]) equal(parseFields(COLUMNS, nothing), null);
  for (const name of ["history", "balanc", "balance.x", "__proto__", "constructor"]) {
    refused("/fields", () => parseFields(COLUMNS, name));
  }
  refused("/fields", () => parseFields(COLUMNS, 5));
  refused("/fields", () => parseFields(COLUMNS, Array(101).fill("id")));
});

Deno.test("parseSearch() searches fields of text unless fields are given", () => {
  deepEqual(parseSearch(COLUMNS, "a b", null), { text: "a b", targets: [at("name"), at("note")] });
  deepEqual(parseSearch(COLUMNS, "a", "note,data.x,roles,id"), {
    text: "a",
    targets: [at("note"), at("data", "x"), at("roles"), at("id")],
  });
  for (const nothing of [undefined, null, ""]) equal(parseSearch(COLUMNS, nothing, "name"), null);
  equal(parseSearch(COLUMNS, 5, null)?.text, "5");
  equal(parseSearch(COLUMNS, digits("1.50"), null)?.text, "1.50");
});

Deno.test("parseSearch() refuses unknown fields, fields without text, and bad text", () => {
  for (const field of ["nme", "balance.total", "created_at", "__proto__"]) {
    refused("/searchFields", () => parseSearch(COLUMNS, "a", field));
    refused("/searchFields", () => parseSearch(COLUMNS, null, field));
  }
  for (const text of ["a\0", "\ud800", "x".repeat(1001), {}, ["a", "b"]]) {
    refused("/search", () => parseSearch(COLUMNS, text, null));
  }
});

Deno.test("parseWindow() keeps to its limits", () => {
  const id = newId(1_700_000_000_000);
  deepEqual(parseWindow({}), { limit: 1000, offset: 0, after: null });
  deepEqual(parseWindow({ limit: "1000", offset: 100_000, after: id }), {
    limit: 1000,
    offset: 100_000,
    after: id,
  });
  deepEqual(parseWindow({ limit: 0, offset: null, after: "" }), {
    limit: 0,
    offset: 0,
    after: null,
  });
  for (
    const limit of [
      1001,
      "1001",
      -1,
      1.5,
      "x",
      "1e2",
      true,
      [1],
      {},
      digits("99999999999999999999"),
    ]
  ) {
    refused("/limit", () => parseWindow({ limit }));
  }
  for (const offset of [100_001, -1, "0x10", " 1"]) {
    refused("/offset", () => parseWindow({ offset }));
  }
  for (const after of ["x", 5, [id], `${id} `]) refused("/after", () => parseWindow({ after }));
});

Deno.test("parsePage() keeps to its limits", () => {
  deepEqual(parsePage({}), { page: 1, pageSize: 10, limit: 10, offset: 0 });
  deepEqual(parsePage({ page: "3", pageSize: 500 }), {
    page: 3,
    pageSize: 500,
    limit: 500,
    offset: 1000,
  });
  for (const page of [0, -1, "0", 1.5, 1e15, "99999999999999999", NaN]) {
    refused("/page", () => parsePage({ page }));
  }
  for (const pageSize of [0, 501, "501", "ten"]) {
    refused("/pageSize", () => parsePage({ pageSize }));
  }
});
