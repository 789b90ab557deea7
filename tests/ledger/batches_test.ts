import { deepEqual, equal, ok } from "node:assert/strict";
import { until } from "../support/eventually.ts";
import { rowsOf, type TestRealm, testRealm, type TestUser } from "../support/realm.ts";
import { tamper } from "../support/tamper.ts";
import { sharing } from "../support/sharing.ts";

const PATH = "/v1/transactions/batch";

async function pair(realm: TestRealm, supply = "100") {
  const { name, account } = await realm.currency(supply);
  const other = await realm.account({ asset: name });
  const move = (value: string, more: Record<string, unknown> = {}) => ({
    source: { account },
    destination: { account: other },
    value,
    ...more,
  });
  return { name, account, other, move };
}

const test = sharing("batch in one realm");

test("POST /v1/transactions/batch moves all in order and answers each in full", async (realm) => {
  const { account, other, move } = await pair(realm);
  const back = { source: { account: other }, destination: { account }, value: "2.5" };
  const { status, body } = await realm.admin.send("POST", PATH, {
    atomic: true,
    transactions: [move("10", { seal: { b: 1, a: 2 } }), back, move("1", { data: { x: 1 } })],
  });
  equal(status, 201);
  equal(body.results.length, 3);
  deepEqual(
    body.results.map((one: { balances: { source: { total: string } } }) =>
      one.balances.source.total
    ),
    ["90", "7.5", "91.5"],
  );
  for (const one of body.results) {
    const { status, body: read } = await realm.admin.send("GET", `/v1/transactions/${one.id}`);
    equal(status, 200);
    deepEqual({ ...read, seq: null, hash: null }, one);
  }
  deepEqual(await realm.balance(other), { total: "8.5", available: "8.5" });
});

test("batches of which no item names an account that there is lose no other that waits", async (realm) => {
  const { move } = await pair(realm);
  const nobody = { account: crypto.randomUUID() };
  const users = [realm.admin, await realm.user()];
  const statuses: number[] = [];
  const ask = async (user: Pick<TestUser, "send">, item: unknown) => {
    const asked = { atomic: false, transactions: [item] };
    statuses.push((await user.send("POST", PATH, asked)).status);
  };
  for (let i = 0; i < 12; i++) {
    void ask(users[i % 2], move("1")).catch(() => {});
    void ask(users[i % 2], move("1", { source: nobody, destination: nobody })).catch(() => {});
  }
  await until(() => statuses.length === 24);
  deepEqual(new Set(statuses), new Set([200]));
});

test("an atomic batch names the first item refused, and changes nothing", async (realm) => {
  const { account, move } = await pair(realm);
  const refused = await realm.admin.send("POST", PATH, {
    atomic: true,
    transactions: [move("60"), move("60"), move("1")],
  });
  deepEqual([refused.status, refused.body.code, refused.body.index], [
    409,
    "balance.insufficient",
    1,
  ]);
  const nowhere = move("1", { destination: { account: "nobody" } });
  const lost = await realm.admin.send("POST", PATH, {
    atomic: true,
    transactions: [move("1"), move("1"), nowhere],
  });
  deepEqual([lost.status, lost.body.code, lost.body.index], [404, "account.not_found", 2]);
  deepEqual(await realm.balance(account), { total: "100", available: "100" });
  const rows = await rowsOf(
    realm,
    "select id from transactions where type = 'transfer' and source = $1",
    [account],
  );
  equal(rows.length, 0);
});

test("a batch that is not atomic answers each item, and repeats itself byte for byte", async (realm) => {
  const { account, other, move } = await pair(realm);
  const batch = {
    atomic: false,
    transactions: [
      move("60", { seal: { zebra: 1, ant: 2, b: { y: 1, x: 2 } }, reference: "one" }),
      move("60"),
      move("1", { source: { alias: "nobody" } }),
      move("40", { data: { long: 1, a: 2 } }),
      move("1", { reference: "one" }),
    ],
  };
  const key = { "idempotency-key": "batch" };
  const first = await realm.admin.send("POST", PATH, batch, key);
  equal(first.status, 200);
  const seen = (one: { code?: string; status: unknown }) => one.code ?? one.status;
  deepEqual(first.body.results.map(seen), [
    "DONE",
    "balance.insufficient",
    "alias.not_found",
    "DONE",
    "balance.insufficient",
  ]);
  const back = { source: { account: other }, destination: { account }, value: "50" };
  equal((await realm.admin.send("POST", "/v1/transactions", back)).status, 201);
  const second = await realm.admin.send("POST", PATH, batch, key);
  deepEqual([second.status, second.text], [200, first.text]);
  equal(second.headers.get("idempotency-replayed"), "true");
  deepEqual(await realm.balance(account), { total: "50", available: "50" });
  const changed = { ...batch, atomic: true };
  const reused = await realm.admin.send("POST", PATH, changed, key);
  deepEqual([reused.status, reused.body.code], [422, "idempotency.key_reused"]);
});

test("a refused atomic batch is kept under its key", async (realm) => {
  const { account, other, move } = await pair(realm);
  const batch = { atomic: true, transactions: [move("60"), move("60")] };
  for (const transactions of [batch.transactions, [move("1", { source: { alias: "later" } })]]) {
    const key = { "idempotency-key": `refused ${transactions.length}`.replace(" ", "-") };
    const request = { atomic: true, transactions };
    const first = await realm.admin.send("POST", PATH, request, key);
    ok(first.status >= 400);
    const fund = { source: { account }, destination: { account: other }, value: "1" };
    await realm.admin.send("POST", "/v1/transactions", fund);
    const second = await realm.admin.send("POST", PATH, request, key);
    deepEqual([second.status, second.text], [first.status, first.text]);
    equal(second.headers.get("idempotency-replayed"), "true");
  }
});

test("the same batch twice at once is posted once", async (realm) => {
  const { other, move } = await pair(realm);
  const batch = { atomic: true, transactions: [move("1"), move("2")] };
  const key = { "idempotency-key": "twice" };
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => realm.admin.send("POST", PATH, batch, key)),
  );
  deepEqual(new Set(answers.map(({ text }) => text)).size, 1);
  deepEqual(await realm.balance(other), { total: "3", available: "3" });
});

test("a batch obeys the rights and conditions of single transfers", async (realm) => {
  const { account, move } = await pair(realm);
  const stranger = await realm.user();
  const batch = { atomic: false, transactions: [move("1")] };
  const hidden = await stranger.send("POST", PATH, batch);
  equal(hidden.body.results[0].code, "account.not_found");
  const conditions = { source_total_eq: "99" };
  const held = await realm.admin.send("POST", PATH, {
    atomic: false,
    transactions: [move("1", { conditions }), move("1"), move("1", { conditions })],
  });
  deepEqual(
    held.body.results.map((one: { code?: string }) => one.code ?? "DONE"),
    ["condition.failed", "DONE", "DONE"],
  );
  deepEqual(await realm.balance(account), { total: "98", available: "98" });
});

test("a batch holds 1 to 10 000 transfers and names the fault of each", async (realm) => {
  const { other, move } = await pair(realm, "20000");
  const send = (transactions: unknown[]) =>
    realm.admin.send("POST", PATH, { atomic: true, transactions });
  equal((await send([])).body.errors[0].path, "/transactions");
  equal((await send(Array(10_001).fill(move("1")))).body.errors[0].path, "/transactions");
  const wrong = await send([move("1"), move("-1")]);
  deepEqual([wrong.status, wrong.body.errors[0].path], [400, "/transactions/1/value"]);
  const full = await send(Array(10_000).fill(move("1")));
  equal(full.status, 201);
  equal(full.body.results.length, 10_000);
  deepEqual(await realm.balance(other), { total: "10000", available: "10000" });
});

test("a repeat of an atomic batch is answered from its key, though an alias is gone", async (realm) => {
  const { other, move } = await pair(realm, "100");
  const alias = await realm.admin.send("POST", "/v1/aliases", {
    type: "account",
    alias: "shop",
    account: other,
  });
  equal(alias.status, 201, alias.text);
  const batch = (atomic: boolean, value: string) => ({
    atomic,
    transactions: [move("1"), move(value, { destination: { alias: "shop" } })],
  });
  const send = (atomic: boolean, value: string, key: string) =>
    realm.admin.send("POST", PATH, batch(atomic, value), { "idempotency-key": key });
  const first = await send(true, "2", "a");
  equal(first.status, 201);
  const loose = await send(false, "2", "b");
  const refused = await send(true, "1000", "c");
  equal(refused.body.code, "balance.insufficient");
  const gone = await realm.admin.send("DELETE", `/v1/aliases/${alias.body.id}`);
  ok(gone.status < 300, gone.text);
  for (
    const [key, atomic, value, answer] of [
      ["a", true, "2", first],
      ["b", false, "2", loose],
      ["c", true, "1000", refused],
    ] as const
  ) {
    const again = await send(atomic, value, key);
    deepEqual([again.status, again.text], [answer.status, answer.text]);
    equal(again.headers.get("idempotency-replayed"), "true");
  }
  equal((await send(true, "3", "a")).body.code, "idempotency.key_reused");
  equal((await send(true, "2", "d")).body.code, "alias.not_found");
  deepEqual(await realm.balance(other), { total: "6", available: "6" });
});

Deno.test("a refusal that was never answered is answered to the repeat, though an alias is gone", async () => {
  await using realm = await testRealm();
  const { account, other, move } = await pair(realm, "100");
  const made = await realm.admin.send("POST", "/v1/aliases", {
    type: "account",
    alias: "shop",
    account: other,
  });
  const single = { source: { account }, destination: { alias: "shop" }, value: "1000" };
  const batch = { atomic: true, transactions: [move("1000", { destination: { alias: "shop" } })] };
  const all = async () => [
    await realm.admin.send("POST", "/v1/transactions", single, { "idempotency-key": "s" }),
    await realm.admin.send("POST", PATH, batch, { "idempotency-key": "b" }),
  ];
  for (const { body } of await all()) equal(body.code, "balance.insufficient");
  // As it stands when the process ends between the refusal and its answer.
  await tamper(
    realm,
    `update idempotency set status = null, body = case body::jsonb ? 'index' when true then '0 ' else ''
      end || 'insufficient 0123456789ab' where body like '%balance.insufficient%'`,
  );
  await realm.admin.send("DELETE", `/v1/aliases/${made.body.id}`);
  for (const { body } of await all()) equal(body.code, "balance.insufficient");
});

test("references in a batch: the first that is applied takes each, once", async (realm) => {
  const { move } = await pair(realm, "3000");
  const taken = await realm.admin.send("POST", "/v1/transactions", move("1", { reference: "old" }));
  equal(taken.status, 201, taken.text);
  const many = Array.from({ length: 2000 }, (_, i) => move("1", { reference: `ref ${i}` }));
  const { body } = await realm.admin.send("POST", PATH, {
    atomic: false,
    transactions: [
      move("9000", { reference: "a" }),
      move("1", { reference: "a" }),
      move("1"),
      move("1", { reference: "a" }),
      move("1", { reference: "old" }),
      ...many,
      many[0],
      many[1999],
    ],
  });
  const codes = body.results.map((one: { code?: string }) => one.code ?? "DONE");
  deepEqual(
    [...codes.slice(0, 5), ...codes.slice(-2)],
    [
      "balance.insufficient",
      "DONE",
      "DONE",
      "reference.taken",
      "reference.taken",
      "reference.taken",
      "reference.taken",
    ],
  );
  deepEqual(new Set(codes.slice(5, -2)), new Set(["DONE"]));
});
