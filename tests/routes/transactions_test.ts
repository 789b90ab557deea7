import { deepEqual, equal, notEqual } from "node:assert/strict";
import { testRealm } from "../support/realm.ts";

Deno.test("POST /v1/transactions moves value exactly and answers with both balances", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("1000");
  const other = await realm.account({ asset: name });
  const { status, body, text } = await realm.admin.send(
    "POST",
    "/v1/transactions",
    `{"source":{"account":"${account}"},"destination":{"account":"${other}"},` +
      `"value":1.000000000000000001,"seal":{"note":1.10}}`,
  );
  equal(status, 201);
  equal(body.amount, "1.000000000000000001");
  deepEqual(body.balances, {
    source: { total: "998.999999999999999999", available: "998.999999999999999999" },
    destination: { total: "1.000000000000000001", available: "1.000000000000000001" },
  });
  equal(text.includes('"seal":{"note":1.10}'), true);
  deepEqual(await realm.balance(other), {
    total: "1.000000000000000001",
    available: "1.000000000000000001",
  });
});

Deno.test("POST /v1/transactions repeats its answer byte for byte under an idempotency key", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "1", data: { a: 1 } };
  const key = { "idempotency-key": "one" };
  const first = await realm.admin.send("POST", "/v1/transactions", move, key);
  const second = await realm.admin.send("POST", "/v1/transactions", move, key);
  equal(first.status, 201);
  equal(second.status, 201);
  equal(second.text, first.text);
  equal(first.headers.get("idempotency-replayed"), null);
  equal(second.headers.get("idempotency-replayed"), "true");
  notEqual(second.headers.get("x-request-id"), first.headers.get("x-request-id"));
  deepEqual(await realm.balance(account), { total: "9", available: "9" });
  const reused = await realm.admin.send("POST", "/v1/transactions", { ...move, value: "2" }, key);
  equal(reused.status, 422);
  equal(reused.body.code, "idempotency.key_reused");
});

Deno.test("POST /v1/transactions keeps a refusal under its key", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const move = { source: { account: other }, destination: { account }, value: "1" };
  const key = { "idempotency-key": "refused" };
  const first = await realm.admin.send("POST", "/v1/transactions", move, key);
  equal(first.status, 409);
  equal(first.body.code, "balance.insufficient");
  const back = { source: { account }, destination: { account: other }, value: "5" };
  equal((await realm.admin.send("POST", "/v1/transactions", back)).status, 201);
  const second = await realm.admin.send("POST", "/v1/transactions", move, key);
  equal(second.status, 409);
  equal(second.text, first.text);
  deepEqual(await realm.balance(other), { total: "5", available: "5" });
});

Deno.test("POST /v1/transactions refuses amounts that are none, and changes nothing", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  for (
    const value of [
      "0",
      "-1",
      '"-1"',
      "1e5",
      '"1e5"',
      '"NaN"',
      '""',
      "1.0000000000000000001",
      "null",
      "true",
      "[]",
      '"01"',
      '" 1"',
      '"1."',
      '".5"',
    ]
  ) {
    const text = `{"source":{"account":"${account}"},"destination":{"account":"${other}"},` +
      `"value":${value}}`;
    const { status, body } = await realm.admin.send("POST", "/v1/transactions", text);
    equal(status, 400, value);
    equal(body.code, "request.invalid", value);
    equal(body.errors[0].path, "/value", value);
  }
  deepEqual(await realm.balance(account), { total: "10", available: "10" });
});

Deno.test("POST /v1/transactions lets nobody move value out of another's account", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("10");
  const own = await realm.user();
  const reader = await realm.user({ scope: "realm" });
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const mine = await realm.account({ asset: name, by: own });
  const move = { source: { account }, destination: { account: mine }, value: "1" };
  const hidden = await own.send("POST", "/v1/transactions", move);
  deepEqual([hidden.status, hidden.body.code], [404, "account.not_found"]);
  const seen = await reader.send("POST", "/v1/transactions", move);
  deepEqual([seen.status, seen.body.code], [403, "permission.owner"]);
  const managed = await manager.send("POST", "/v1/transactions", move);
  equal(managed.status, 201);
  const back = { source: { account: mine }, destination: { account }, value: "1" };
  const returned = await own.send("POST", "/v1/transactions", back);
  equal(returned.status, 201);
  deepEqual(returned.body.balances, {
    source: { total: "0", available: "0" },
    destination: null,
  });
});

Deno.test("POST /v1/transactions refuses system accounts, other assets and itself", async () => {
  await using realm = await testRealm();
  const a = await realm.currency("10");
  const b = await realm.currency("10");
  const [world] = await realm.command((tx) =>
    tx<{ id: string }[]>`select id from accounts where system = 'world' and asset = ${a.name}`
  );
  const send = async (source: string, destination: string) => {
    const move = { source: { account: source }, destination: { account: destination }, value: "1" };
    const { status, body } = await realm.admin.send("POST", "/v1/transactions", move);
    return [status, body.code];
  };
  deepEqual(await send(world.id, a.account), [404, "account.not_found"]);
  deepEqual(await send(a.account, world.id), [404, "account.not_found"]);
  deepEqual(await send(a.account, b.account), [409, "account.asset_mismatch"]);
  deepEqual(await send(a.account, a.account), [400, "request.invalid"]);
  deepEqual(await send(a.account, "not-an-id"), [404, "account.not_found"]);
});

Deno.test("a crowd of transfers on one account keeps every unit", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const answers = await Promise.all(
    Array.from({ length: 150 }, () =>
      realm.admin.send("POST", "/v1/transactions", {
        source: { account },
        destination: { account: other },
        value: "1",
      })),
  );
  equal(answers.filter((answer) => answer.status === 201).length, 100);
  equal(answers.filter((answer) => answer.body.code === "balance.insufficient").length, 50);
  deepEqual(await realm.balance(account), { total: "0", available: "0" });
  deepEqual(await realm.balance(other), { total: "100", available: "100" });
});
