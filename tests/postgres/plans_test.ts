import { equal, ok } from "node:assert/strict";
import { locationOf } from "../../domain/realms/realms.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { startTimetable } from "../../workers/schedule/timetable.ts";
import { copyRows } from "../support/copied_rows.ts";
import { diskDatabase, testDatabase } from "../support/database.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { attest, renewPrices } from "../support/installation.ts";
import { logPlans, type PlanLog, readsOf, type RunPlan } from "../support/plans.ts";
import { mineUntil, openRampFixture, type RampFixture } from "../support/ramp_fixture.ts";
import type { Send, TestRealm } from "../support/realm.ts";

/** Rows that each table grows to: `PLANS_ROWS=1000000` takes many minutes, and tens of gigabytes of the disk. */
const ROWS = Number(Deno.env.get("PLANS_ROWS") ?? 3000);
/** From here on the tables are on a disk. */
const LARGE = 100_000;
/**
 * Pages of a table that may be read through for a page of a list: it has up to 1000 rows, each of which may lie on a page
 * of its own, and to read one of those costs four that lie one behind the other (`random_page_cost`).
 */
const READ_THROUGH_MAX = 4000;
/** Sessions that copy rows. */
const SESSIONS = 3;
/** Most rows of a table that one statement may read: a batch and the rows beside it. */
const READ_MAX = 1500;
/** Tables that do not grow in use, or whose rows cannot be copied without a change of meaning. */
const STATIC = [
  ...[
    "asset_kinds",
    "attestations",
    "batches",
    "chain_blocks",
    "chain_cursors",
    "chain_head",
    "coin_rounds",
  ],
  ...[
    "currencies",
    "currency_issues",
    "event_listeners",
    "fee_quotes",
    "leases",
    "migrations",
    "nonces",
  ],
  ...["ramps", "row_counts", "secrets", "solvency", "stops"],
];
/** Statements that read more than they need, and why that is bearable. */
const KNOWN: readonly RegExp[] = [
  // Each hour: the first five runs are planned for the rows of their time.
  /^\s*with gone as \(\s*delete from idempotency where ctid/,
  // The addresses that hold an asset are read to be listed.
  /^\s*select d\.ramp, d\.address from addresses d/,
  // The watch list of a network is all of its addresses.
  /^\s*select address, asset from addresses\s+where chain = \$1 and network = \$2\s+union all/,
];

/** Carries out an operation of every kind. */
async function live(fixture: RampFixture, ramp: { id: string; address: string }): Promise<void> {
  const { realm, anvil } = fixture;
  const post = async (path: string, body?: unknown, key?: string) => {
    const headers: Record<string, string> = key === undefined ? {} : { "idempotency-key": key };
    const answer = await realm.admin.send("POST", path, body, headers);
    ok(answer.status < 300, `${path} ${answer.text}`);
    return answer.body;
  };
  const { name, account } = await realm.currency("100000");
  const other = await realm.account({ asset: name });
  const key = crypto.randomUUID();
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const first = await post("/v1/transactions", { ...move, data: { a: 1 } }, key);
  await post("/v1/transactions", { ...move, data: { a: 1 } }, key);
  await post("/v1/transactions", { ...move, reference: key });
  await post("/v1/transactions", move);
  const two = { atomic: true, transactions: [move, move] };
  for (let again = 0; again < 2; again++) await post("/v1/transactions/batch", two, `${key}b`);
  await post(`/v1/transactions/${first.id}/revert`, {});
  const blocks = `/v1/accounts/${account}/blocks`;
  const held = await post(blocks, { amount: "5" });
  await post(`${blocks}/${held.id}/capture`, { destination: { account: other }, amount: "2" });
  await post(blocks, { amount: "1", expires_at: Date.now() + 60_000 });
  await post("/v1/aliases", { type: "account", alias: `a-${key.slice(0, 8)}`, account });
  await (await realm.user()).send("GET", "/v1/accounts");
  await makeRest(realm, ramp.id, { account, key });
  await post("/v1/transactions/batch", { atomic: true, transactions: new Array(1000).fill(move) });
  const { address } = await fixture.address(ramp.id);
  await anvil.pool({ to: address, value: 10n ** 18n });
  await anvil.pool({ to: ramp.address, value: 10n ** 19n });
  for (let round = 0; round < 2; round++) await fixture.mine(3);
  const asked = await post("/v1/withdrawals", {
    source: { account: ramp.id },
    destination: { address: OUTSIDE },
    value: "0.5",
  });
  const status = async () =>
    (await realm.admin.send("GET", `/v1/withdrawals/${asked.id}`)).body.status;
  await mineUntil(fixture, async () => (await status()) !== "PROCESSING");
  equal(await status(), "DONE");
}

/** Makes what has routes of its own and moves no value; profiles and messages cannot be copied. */
async function makeRest(
  { admin: { send }, drain }: TestRealm,
  ramp: string,
  { account, key }: { account: string; key: string },
): Promise<void> {
  const served = { type: "virtual", asset: "ETH", testnet: true, ramp };
  const { id } = (await send("POST", "/v1/accounts", served)).body;
  await drain();
  const made: [string, unknown][] = [
    ["apps/deposit", { destination: { account: id }, asset: "ETH" }],
    ["keys", { name: "machine" }],
    ["notes", { entity: account, text: "a note" }],
    ["identities/companies", { name: key }],
  ];
  for (const [path, body] of made) {
    const { status, text } = await send("POST", `/v1/${path}`, body);
    equal(status, 201, `${path} ${text}`);
  }
}

/** Does all work that repeats, once. */
async function repeatAll({ id, made, database, services }: TestRealm, plans: PlanLog) {
  const { schema } = locationOf(made.realm);
  await plans.sql.unsafe(`delete from platform.leases; delete from ${schema}.leases`);
  const chains = openChains(services.config.chains);
  const signer = openSigner(services.config.masterKey!, Date.now);
  const options = { database, log: services.log, now: Date.now, chains, signer, rates: null };
  const timetable = startTimetable(options, { only: id, loop: false });
  await timetable.drain(120_000);
  await timetable.stop();
  chains.close();
}

/** A stream, which has no end; the list of the same events is read. */
const ENDLESS = "/v1/events";

const DAY_MS = 86_400_000;

/** Parameters that a route does not answer without. */
const ASKED: Readonly<Record<string, string>> = {
  "/v1/search": "q=a",
  "/v1/chains/history": "chain=ETHEREUM&testnet=true",
  "/v1/solvency/history": "asset=ETH&testnet=true",
};

/** Reads every collection of the API, and one of each; exports, and a balance over time. */
async function readAll(send: Send): Promise<void> {
  const { paths } = (await send("GET", "/v1/openapi.json")).body;
  const read = Object.keys(paths).filter((path) =>
    paths[path].get !== undefined && path !== ENDLESS
  )
    .sort();
  const ids = new Map<string, string>();
  for (const path of read.filter((path) => !path.includes("{"))) {
    const more = ASKED[path] ?? (path.endsWith("/all") ? "limit=10" : "");
    const { body } = await send("GET", `${path}?${more}`);
    await send("GET", `${path}?${more}&scope=all`);
    const [first] = Array.isArray(body) ? body : body?.rows ?? [];
    if (first?.id !== undefined) ids.set(path, first.id);
  }
  // Copied accounts are of assets that no chain has: those with an address are not shown.
  const virtual = encodeURIComponent('{"type":"virtual"}');
  const [{ id: account }] = (await send("GET", `/v1/accounts/all?limit=1&query=${virtual}`)).body;
  ids.set("/v1/accounts", account);
  const range = `format=csv&from=${Date.now() - DAY_MS}&to=${Date.now() + DAY_MS}`;
  const none = encodeURIComponent('{"asset":"none"}');
  const some = ["deposits", "transactions", "withdrawals"].map((one) => `${one}/all?${range}`);
  some.push(`accounts/all?${range}&query=${none}`, `transactions/all?${range}&query=${none}`);
  some.push(`accounts/${account}/entries?${range}`, `accounts/${account}/balances?points=500`);
  for (const path of some) equal((await send("GET", `/v1/${path}`)).status, 200, path);
  for (const path of read.filter((path) => path.includes("{"))) {
    const base = path.slice(0, path.indexOf("/{"));
    const id = ids.get(base) ?? ids.get(`${base}s`);
    if (id !== undefined) await send("GET", path.replaceAll(/\{[^}]+\}/g, id));
  }
}

/** Statements of the lists that carry a caller's condition, which are planned for each request. */
async function unpreparedTexts(realm: TestRealm, url: string, plans: PlanLog) {
  const texts = new Set<string>();
  const env = { DATABASE_URL: `${url}?plan_cache_mode=auto` };
  await using other = realm.another(env, (text) => texts.add(text.trim()));
  await plans.forget();
  await readAll(other.send(realm.admin.key));
  const { sql } = other.database.realm(locationOf(realm.made.realm));
  // One request may have used several connections of the pool: all are asked at once.
  const kept = await Promise.all(
    [1, 2, 3, 4].map(() =>
      sql<{ statement: string }[]>`select statement, pg_sleep(0.2) from pg_prepared_statements`
    ),
  );
  for (const { statement } of kept.flat()) texts.delete(statement.trim());
  return texts;
}

/** Reads of tables that grew which read through them, or more than they should; a line for each. */
function wrong(runs: RunPlan[], grown: Set<string>, schema: string, readMax: number): string {
  const lines = runs.flatMap(readsOf).filter((read) =>
    read.schema === schema && grown.has(read.table) &&
    (read.node === "Seq Scan" || read.rows > readMax) && !KNOWN.some((one) => one.test(read.text))
  ).map(({ node, table, rows, text }) =>
    `${node} ${table} ${rows}: ${text.trim().replaceAll(/\s+/g, " ")}`
  );
  return [...new Set(lines)].join("\n");
}

/** Tables of more pages. */
async function tablesOver({ sql }: PlanLog, schema: string, pages: number): Promise<Set<string>> {
  const rows = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = ${schema}::regnamespace
      and relkind = 'r' and pg_relation_size(oid) > ${pages}::bigint * current_setting('block_size')::bigint`;
  return new Set(rows.map(({ name }) => name));
}

Deno.test("no statement that was prepared on empty tables reads through a table that grew", async () => {
  await using own = await (ROWS >= LARGE ? diskDatabase : testDatabase)();
  await using plans = await logPlans(own, SESSIONS);
  await using fixture = await openRampFixture({ env: { DATABASE_URL: own.url } });
  const { realm } = fixture;
  const { schema } = locationOf(realm.made.realm);
  const ramp = await fixture.ramp();
  const all = async () => {
    await live(fixture, ramp);
    await readAll(realm.admin.send);
    await repeatAll(realm, plans);
  };
  await all();
  const grown = await copyRows(plans.sql, schema, ROWS, STATIC);
  await plans.sql.unsafe(
    `update ${schema}.chain_head set seq = (select max(seq) from ${schema}.chain_links)`,
  );
  for (
    const name of [
      ...["accounts", "transactions_newest", "entries_newest", "deposits", "jobs", "chain_links"],
      ...["hourly_flows", "chain_samples"],
    ]
  ) ok(grown.has(name), `${name} grew`);
  // A million rows take longer than a worker's word counts, and prices; none runs beside.
  await attest(realm);
  await renewPrices(realm);
  await plans.forget();
  await all();
  const prepared = await plans.read();
  const unprepared = await unpreparedTexts(realm, own.url, plans);
  const lists = (await plans.read()).filter(({ text }) => unprepared.has(text.trim()));
  ok(prepared.length > 500 && lists.length > 10, `${prepared.length} and ${lists.length} plans`);
  const runs = prepared.filter(({ text }) => !unprepared.has(text.trim()));
  const found = wrong(runs, grown, schema, READ_MAX);
  equal(found, "", found);
  // These are planned for the pages that a table has when they run: they read through small ones alone. What they
  // read of one's own rows before the first statistics is not bounded.
  const pages = lists.filter(({ text }) => !/^\s*select count/.test(text));
  equal(wrong(pages, await tablesOver(plans, schema, READ_THROUGH_MAX), schema, Infinity), "");
});
