/** What a desk asks for is found by indexes: the rows that each answer reads are counted by the server. */
import { equal, ok } from "node:assert/strict";
import { locationOf } from "../../domain/realms/realms.ts";
import { copyRows } from "../support/copied_rows.ts";
import { testDatabase } from "../support/database.ts";
import { OUTSIDE } from "../support/evm_fixture.ts";
import { logPlans, readsOf } from "../support/plans.ts";
import { openRampFixture } from "../support/ramp_fixture.ts";

const ETHER = 10n ** 18n;
/** Rows that each table grows to. */
const ROWS = 5000;
/** Most rows that one read of a table may look at. */
const READ_MAX = 100;
/** Tables that are small, and read whole. */
const SMALL = ["chain_cursors", "row_counts", "migrations", "ramps", "secrets", "stops", "leases"];

Deno.test("a filter of a desk reads the few rows that it finds", async () => {
  await using own = await testDatabase();
  await using plans = await logPlans(own);
  await using fixture = await openRampFixture({ env: { DATABASE_URL: own.url } });
  const { realm, anvil } = fixture;
  const { schema } = locationOf(realm.made.realm);
  const ramp = await fixture.ramp();
  const at = { type: "virtual", asset: "ETH", testnet: true, ramp: ramp.id };
  const target = (await realm.admin.send("POST", "/v1/accounts", at)).body.id;
  await realm.drain();
  const { address } = await fixture.address(target);
  for (const to of [ramp.address, ramp.address]) await anvil.pool({ to, value: ETHER });
  await fixture.mine(2);
  const asked = { source: { account: ramp.id }, destination: { address: OUTSIDE }, value: "0.5" };
  equal((await realm.admin.send("POST", "/v1/withdrawals", asked)).status, 201);
  await plans.sql.unsafe(`update ${schema}.withdrawals set status = 'FAILED'`);
  const grown = await copyRows(plans.sql, schema, ROWS, SMALL);
  ok(grown.has("deposits") && grown.has("withdrawals"));
  await anvil.pool({ to: address, value: ETHER });
  await fixture.mine();
  equal((await realm.admin.send("POST", "/v1/withdrawals", asked)).status, 201);
  await plans.sql.unsafe(`
    update ${schema}.deposits set error = '{"code": "upstream.failed"}' where beneficiary is not null;
    analyze ${schema}.deposits; analyze ${schema}.withdrawals`);
  // As lists are planned in use: for the statement at hand.
  await using process = realm.another({ DATABASE_URL: `${own.url}?plan_cache_mode=auto` });
  const send = process.send(realm.admin.key);
  const filters = [
    ["deposits", { beneficiary: target }],
    ["deposits", { error: { $exists: true } }],
    ["deposits", { error: { $ne: null } }],
    ["deposits", { "error.code": "upstream.failed" }],
    ["withdrawals", { status: "PROCESSING" }],
  ] as const;
  await plans.forget();
  for (const [name, query] of filters) {
    const path = `/v1/${name}?scope=all&query=${encodeURIComponent(JSON.stringify(query))}`;
    const { status, body, text } = await send("GET", path);
    equal(status, 200, text);
    equal(body.total, 1, path);
    equal(body.rows.length, 1);
  }
  for (const name of ["deposits", "withdrawals"]) {
    ok((await send("GET", `/v1/${name}/count?scope=all`)).body < ROWS, "copies are not counted");
  }
  const reads = (await plans.read()).flatMap(readsOf).filter((read) =>
    read.schema === schema && grown.has(read.table)
  );
  ok(reads.some((read) => read.table === "deposits"));
  const wide = reads.filter((read) => read.node === "Seq Scan" || read.rows > READ_MAX)
    .map(({ node, table, rows, text }) => `${node} ${table} ${rows}: ${text}`);
  equal(wide.join("\n"), "");
});
