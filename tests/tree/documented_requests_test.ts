/**
 * Runs the requests of the guide as they stand, and compares each answer with the one shown there.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { CHAIN_NAMES, settingNames } from "../../config.ts";
import { PROBLEMS } from "../../routes/http/problems.ts";
import { examplesOf, runExample } from "../support/guide_examples.ts";
import { type Answer, type TestRealm, testRealm } from "../support/realm.ts";

/** Pages whose `http` blocks are followed by the answer, a `json` block with the status after its language. */
const PAGES = [
  "docs/guide/getting_started.md",
  "docs/guide/customers.md",
  "docs/guide/keys_and_roles.md",
  "docs/guide/errors_and_retries.md",
  "docs/guide/idempotency.md",
  "docs/guide/dry_run.md",
  "docs/guide/transactions.md",
  "docs/guide/blocks.md",
  "docs/guide/currencies.md",
  "docs/guide/hash_chain.md",
  "docs/guide/deposits.md",
  "docs/guide/search.md",
  "docs/guide/limits.md",
  "docs/guide/webhooks.md",
  "docs/guide/messages.md",
  "docs/guide/notes.md",
  "docs/operations/stops.md",
  "docs/operations/costs.md",
  "docs/operations/monitoring.md",
  "docs/operations/statistics.md",
];

/** The documented answers, in the order of the requests; accounts by their references. */
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

Deno.test("the requests of docs/guide/paging_and_filters.md give the documented answers", async () => {
  await using realm = await testRealm();
  await fillRealm(realm);
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
  for (const [, collection, names] of text.matchAll(/^\| ([\w/]+) \| `([\w. ]+)` \|$/gm)) {
    const change = paths[`/v1/${collection}/{id}`]?.patch;
    if (/account|holder|identity|person/.test(names)) {
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

Deno.test("the requests of the guide give the answers beside them", async () => {
  await using realm = await testRealm();
  const { account } = await realm.currency("100000", "GOLD");
  for (const page of PAGES) {
    const shop = await realm.account({ asset: "GOLD", from: account, total: "100" });
    const till = await realm.account({ asset: "GOLD" });
    const names = new Map([["realm", realm.id], ["shop", shop], ["till", till]]);
    const examples = await examplesOf(page);
    ok(examples.length > 0, page);
    for (const example of examples) await runExample(realm, names, page, example);
  }
});

Deno.test("the guide lists every error code with its status", async () => {
  const text = await Deno.readTextFile(
    new URL("../../docs/guide/errors_and_retries.md", import.meta.url),
  );
  const listed = [...text.matchAll(/^\| (\d{3}) \| ([`\w. ]+) \|/gm)].flatMap(([, status, codes]) =>
    [...codes.matchAll(/`([\w.]+)`/g)].map(([, code]) => `${code} ${status}`)
  );
  const all = Object.entries(PROBLEMS).map(([code, { status }]) => `${code} ${status}`);
  deepEqual(listed.sort(), all.sort());
});

Deno.test("the page on configuration lists every setting, and no other", async () => {
  const text = await Deno.readTextFile(
    new URL("../../docs/operations/configuration.md", import.meta.url),
  );
  const listed = [...text.matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, names]) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name)
  );
  const chain = new RegExp(`^(${CHAIN_NAMES.join("|")})_(?!CASH_)`);
  const all = new Set([...settingNames()].map((name) => name.replace(chain, "<CHAIN>_")));
  deepEqual([...new Set(listed)].sort(), [...all].sort());
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

/** The realm that the page describes: a currency, three accounts of it, and transfers. */
async function fillRealm(realm: TestRealm): Promise<void> {
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
