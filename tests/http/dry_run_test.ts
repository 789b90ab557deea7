import { deepEqual, equal } from "node:assert/strict";
import { openFundedRamp, OUTSIDE } from "../support/evm_fixture.ts";
import { type Answer, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const VARYING = ["id", "created_at", "updated_at", "instance", "expires_at", "issuing", "at"];

/** An answer without ids and times, which every run has of its own. */
function saying({ status, body }: Answer, own: readonly string[]): unknown {
  const varying = [...VARYING, ...own];
  const text = JSON.stringify(body, (key, value) => varying.includes(key) ? null : value);
  return [status, JSON.parse(text)];
}

/** Everything that could have changed. */
async function state(realm: TestRealm): Promise<unknown> {
  const tables = [
    "accounts",
    "transactions",
    "entries",
    "transaction_data",
    "ledger_commits",
    "ledger_events",
    "blocks",
    "account_states",
    "currencies",
    "currency_issues",
    "idempotency",
    "batches",
    "jobs",
    "events",
    "chain_orders",
    "withdrawals",
    "audit",
  ];
  const found: Record<string, unknown> = {};
  for (const table of tables) {
    const rows = await rowsOf(realm, `select to_jsonb(t)::text as row from ${table} t order by 1`);
    found[table] = rows.map((row) => (row as { row: string }).row);
  }
  return found;
}

/** Tries a request twice, then does it: all three must say the same, and only the last may stay. */
async function parity(
  realm: TestRealm,
  path: string,
  body: unknown,
  own: readonly string[] = [],
): Promise<Answer> {
  const before = await state(realm);
  const key = { "idempotency-key": crypto.randomUUID() };
  const dry = await realm.admin.send("POST", `${path}?dry_run=true`, body, key);
  const again = await realm.admin.send("POST", `${path}?dry_run=true`, body, key);
  deepEqual(await state(realm), before, `${path} changed something`);
  const real = await realm.admin.send("POST", path, body, key);
  deepEqual(saying(dry, own), saying(real, own), path);
  deepEqual(saying(again, own), saying(real, own), path);
  return real;
}

const test = sharing("trials in one realm");

test("a dry run answers like the real run, and changes nothing: transfers", async (realm) => {
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const foreign = await realm.account({ asset: "BTC" });
  const move = { source: { account }, destination: { account: other }, value: "10.5" };
  const cases: [unknown, number | string][] = [
    [move, 201],
    [{ ...move, reference: "once", seal: { a: 1.10 }, data: { b: [2] } }, 201],
    [{ ...move, reference: "once" }, "reference.taken"],
    [{ ...move, value: "1000" }, "balance.insufficient"],
    [{ ...move, value: "0.0000000000000000001" }, "request.invalid"],
    [{ ...move, destination: { account } }, "request.invalid"],
    [{ ...move, destination: { account: foreign } }, "account.asset_mismatch"],
    [{ ...move, destination: { alias: "nobody" } }, "alias.not_found"],
    [{ ...move, source: { account: "none" } }, "account.not_found"],
    [{ ...move, asset: "BTC" }, "account.asset_mismatch"],
    [{ ...move, conditions: { source_available_gte: "79" } }, 201],
    [{ ...move, conditions: { source_available_gte: "79" } }, "condition.failed"],
    [{ ...move, conditions: { source_total_eq: "68.5", destination_total_lte: "42" } }, 201],
    [{ ...move, conditions: { source_total_eq: "58.1" } }, "condition.failed"],
    [{ ...move, conditions: { destination_total_lte: "52.4" } }, "condition.failed"],
  ];
  for (const [body, expected] of cases) {
    const { status, body: said } = await parity(realm, "/v1/transactions", body);
    equal(typeof expected === "number" ? status : said.code, expected, JSON.stringify(body));
  }
  deepEqual(await realm.balance(account), { total: "58", available: "58" });
});

test("a dry run answers like the real run, and changes nothing: batches", async (realm) => {
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "40" };
  const back = { source: { account: other }, destination: { account }, value: "15" };
  const lost = { ...move, destination: { alias: "nobody" } };
  const cases: [unknown, number][] = [
    [{ atomic: true, transactions: [move, back, move] }, 201],
    [{ atomic: true, transactions: [back, move, move, move] }, 409],
    [{ atomic: false, transactions: [move, back, lost, move, back] }, 200],
    [{ atomic: false, transactions: [lost] }, 200],
    [{ atomic: true, transactions: [back, lost] }, 404],
  ];
  for (const [body, expected] of cases) {
    equal((await parity(realm, "/v1/transactions/batch", body)).status, expected);
  }
});

test("a dry run answers like the real run, and changes nothing: blocks and reverts", async (realm) => {
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const blocks = `/v1/accounts/${account}/blocks`;
  const block = await parity(realm, blocks, { amount: "60", data: { n: 1 } });
  equal((await parity(realm, blocks, { amount: "60" })).body.code, "balance.insufficient");
  const capture = `${blocks}/${block.body.id}/capture`;
  const destination = { account: other };
  equal((await parity(realm, capture, { destination, amount: "61" })).status, 400);
  const captured = await parity(realm, capture, { destination, amount: "20", seal: { s: 1 } });
  equal(captured.status, 201);
  equal((await parity(realm, capture, { destination })).body.code, "block.closed");
  const revert = `/v1/transactions/${captured.body.id}/revert`;
  equal((await parity(realm, revert, { data: { why: "wrong" } })).body.type, "revert");
  equal((await parity(realm, revert, {})).body.code, "transaction.reverted");
  deepEqual(await realm.balance(account), { total: "100", available: "100" });
});

test("a dry run answers like the real run, and changes nothing: issue and destroy", async (realm) => {
  const body = { name: "GOLD", supply: "100" };
  const { id } = (await realm.admin.send("POST", "/v1/currencies", body)).body;
  const path = `/v1/currencies/${id}`;
  equal((await parity(realm, `${path}/issue`, { amount: "5" })).body.supply, "105");
  equal((await parity(realm, `${path}/destroy`, { amount: "6" })).body.supply, "99");
  const much = await parity(realm, `${path}/destroy`, { amount: "100" });
  equal(much.body.code, "balance.insufficient");
  const strange = await parity(realm, `${path}/issue`, { amount: "1", account: "none" });
  equal(strange.body.code, "account.not_found");
});

Deno.test("a dry run answers like the real run, and changes nothing: withdrawals", async () => {
  await using funded = await openFundedRamp();
  const { realm, account } = funded;
  const of = (value: string) => ({
    source: { account },
    destination: { address: OUTSIDE },
    value,
    data: { note: "a" },
  });
  equal((await parity(realm, "/v1/withdrawals", of("11"))).status, 409);
  const made = await parity(realm, "/v1/withdrawals", of("1"));
  equal(made.status, 201);
  const path = `/v1/withdrawals/${made.body.id}/cancel`;
  equal((await parity(realm, path, undefined)).body.status, "CANCELED");
  equal((await parity(realm, path, undefined)).status, 409);
  const { body: { id } } = await funded.withdraw("1", { fee: { speed: "slow" } });
  await funded.advance();
  await rowsOf(realm, "update fee_quotes set base = base * 2, quoted_at = now()");
  const speedUp = `/v1/withdrawals/${id}/speed-up`;
  equal((await parity(realm, speedUp, { speed: "fast" })).status, 200);
  equal((await parity(realm, speedUp, { speed: "fast" })).status, 429);
});

Deno.test("a dry run answers like the real run, and changes nothing: currencies", async () => {
  await using realm = await testRealm();
  const body = { name: "GOLD", supply: "1000", base: "USD", rate: "2" };
  const made = await parity(realm, "/v1/currencies", body, ["account"]);
  equal(made.status, 201);
  equal((await parity(realm, "/v1/currencies", body)).status, 409);
});
