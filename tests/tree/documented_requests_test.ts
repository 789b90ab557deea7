/**
 * The requests of the guide to resources, run as they stand in it, each with what its prose promises.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { type Answer, type TestRealm, testRealm } from "../support/realm.ts";

/** What the answers are, in the order of the requests; accounts by their references. */
const PROMISED: readonly unknown[] = [
  { total: 5, pages: 3, rows: [null, "shop-1"] },
  [null, "shop-1"],
  ["shop-2", "till"],
  [null, "shop-2", "shop-1", "till", null],
  [
    { balance: { total: "989" } },
    { reference: "shop-1", balance: { total: "2.5" } },
    { reference: "shop-2", balance: { total: "7.5" } },
    { reference: "till", balance: { total: "1" } },
    { balance: { total: "0" } },
  ],
  ["till"],
  [null, "shop-1", "shop-2"],
  ["shop-1", "shop-2", "till"],
  ["shop-2"],
  5,
  ["shop-1", "shop-2"],
  { total: 4, pages: 1, rows: Array(4).fill(undefined) },
  [null, "shop-1", "shop-2", "till", null],
  0,
  ["system"],
  [null, "shop-1", "shop-2", "till", null],
  1,
];

Deno.test("the requests of docs/guide/paging_and_filters.md give what it says", async () => {
  await using realm = await testRealm();
  await furnish(realm);
  const requests = await requestsOf("docs/guide/paging_and_filters.md");
  equal(requests.length, PROMISED.length);
  let last = "";
  for (const [i, path] of requests.entries()) {
    const answer = await realm.admin.send("GET", path.replace("<last id>", last));
    equal(answer.status, 200, `${path}: ${answer.text}`);
    if (Array.isArray(answer.body)) last = answer.body.at(-1)?.id ?? last;
    deepEqual(shortened(answer, path), PROMISED[i], path);
  }
});

Deno.test("the guide names the collections, relations and fields that there are", async () => {
  await using realm = await testRealm();
  const text = await Deno.readTextFile(
    new URL("../../docs/guide/paging_and_filters.md", import.meta.url),
  );
  const { paths } = (await realm.nobody("GET", "/v1/openapi.json")).body;
  for (const [, collection, names] of text.matchAll(/^\| (\w+) \| `([\w. ]+)` \|$/gm)) {
    const change = paths[`/v1/${collection}/{id}`]?.patch;
    if (names.includes("account") || names.includes("holder") || names.includes("person")) {
      const given = names.split(" ").join(",");
      const answer = await realm.admin.send("GET", `/v1/${collection}/all?populate=${given}`);
      equal(answer.status, 200, answer.text);
      continue;
    }
    const { schema } = change.requestBody.content["application/json"];
    const { components } = (await realm.nobody("GET", "/v1/openapi.json")).body;
    const whole = schema.$ref === undefined
      ? schema
      : components.schemas[schema.$ref.split("/").at(-1)];
    deepEqual(Object.keys(whole.properties).sort(), names.split(" ").sort(), collection);
  }
});

/** The requests in the fenced blocks of a page; queries are written plainly there. */
async function requestsOf(page: string): Promise<string[]> {
  const text = await Deno.readTextFile(new URL(`../../${page}`, import.meta.url));
  const blocks = [...text.matchAll(/```http\n(.*?)```/gs)].map(([, block]) => block);
  return blocks.join("").split("\n").filter((line) => line !== "").map((line) => {
    const path = line.replace(/^GET /, "");
    return path.replace(/query=(.*)$/, (_all, json) => `query=${encodeURIComponent(json)}`);
  });
}

/** What the page promises of a realm: a currency, three accounts of it, and transfers. */
async function furnish(realm: TestRealm): Promise<void> {
  const { admin } = realm;
  const { account } = await realm.currency("1000", "GOLD");
  const shops = [
    { reference: "shop-1", data: {} },
    { reference: "shop-2", data: { tags: ["main"], opened: 2024 } },
    { reference: "till", data: { tags: ["main", "back"] } },
  ];
  const ids: string[] = [];
  for (const shop of shops) {
    const body = { type: "virtual", asset: "GOLD", ...shop };
    ids.push((await admin.send("POST", "/v1/accounts", body)).body.id);
  }
  ids.push((await admin.send("POST", "/v1/accounts", { type: "virtual", asset: "GOLD" })).body.id);
  await realm.drain();
  for (const [i, value] of ["2.5", "7.5", "1"].entries()) {
    const move = { source: { account }, destination: { account: ids[i] }, value };
    equal((await admin.send("POST", "/v1/transactions", move)).status, 201);
  }
}

interface Shown {
  id?: string;
  reference?: string | null;
  type?: string;
  source?: unknown;
  balance?: unknown;
}

/** An answer by what the page speaks of. */
function shortened({ body }: Answer, path: string): unknown {
  if (typeof body === "number") return body;
  if (path.includes("fields=")) {
    return body.map(({ id: _, reference, balance }: Shown) =>
      reference === null ? { balance } : { reference, balance }
    );
  }
  const name = ({ reference, type }: Shown) => type === "system" ? "system" : reference;
  if (!Array.isArray(body)) {
    const { total, totalPages: pages, rows } = body;
    return { total, pages, rows: rows.map(path.includes("transactions") ? () => undefined : name) };
  }
  return path.includes("transactions") ? body.length : body.map(name);
}
