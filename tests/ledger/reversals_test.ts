import { deepEqual, equal } from "node:assert/strict";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

/** A user's account with 50 out of an administrator's 100, and the transfer that brought them. */
async function fixture(realm: TestRealm) {
  const { name, account } = await realm.currency("100");
  const user = await realm.user();
  const mine = await realm.account({ asset: name, by: user });
  const body = { source: { account }, destination: { account: mine }, value: "50", data: { a: 1 } };
  const moved = (await realm.admin.send("POST", "/v1/transactions", body)).body;
  return { name, account, user, mine, moved, path: `/v1/transactions/${moved.id}` };
}

const test = sharing("postings in one realm");

test("POST …/revert moves the value back, once, and names the reverted transaction", async (realm) => {
  const { account, mine, user, moved, path, name } = await fixture(realm);
  const body = { seal: { why: "wrong" }, data: { by: "hand" } };
  const { status, body: counter } = await user.send("POST", `${path}/revert`, body);
  equal(status, 201);
  deepEqual(
    [counter.type, counter.reverts, counter.amount, counter.asset, counter.seal, counter.data],
    ["revert", moved.id, "50", name, { why: "wrong" }, { by: "hand" }],
  );
  deepEqual([counter.source.account, counter.destination.account], [mine, account]);
  deepEqual(counter.balances, { source: { total: "0", available: "0" }, destination: null });
  deepEqual(await realm.balance(account), { total: "100", available: "100" });
  const again = await realm.admin.send("POST", `${path}/revert`);
  deepEqual([again.status, again.body.code], [409, "transaction.reverted"]);
  const back = await realm.admin.send("POST", `/v1/transactions/${counter.id}/revert`);
  deepEqual([back.status, back.body.code], [409, "transaction.reverted"]);
  const found = await realm.admin.send("GET", `/v1/transactions/${counter.id}`);
  equal(found.body.reverts, moved.id);
});

Deno.test("POST …/revert obeys the rules of balance and of state", async () => {
  await using realm = await testRealm();
  const { account, mine, user, path } = await fixture(realm);
  const spent = { source: { account: mine }, destination: { account }, value: "1" };
  equal((await user.send("POST", "/v1/transactions", spent)).status, 201);
  const revert = async () => {
    const { status, body } = await realm.admin.send("POST", `${path}/revert`);
    return [status, body.code];
  };
  deepEqual(await revert(), [409, "balance.insufficient"]);
  await rowsOf(realm, "update accounts set frozen = true where id = $1", [mine]);
  deepEqual(await revert(), [409, "account.frozen"]);
  await rowsOf(realm, "update accounts set frozen = false, active = false where id = $1", [mine]);
  deepEqual(await revert(), [409, "account.inactive"]);
  const unknown = await realm.admin.send("POST", `/v1/transactions/${account}/revert`);
  deepEqual([unknown.status, unknown.body.code], [404, "transaction.not_found"]);
});

test("POST …/revert takes the right to move value out of the account that received", async (realm) => {
  const { path } = await fixture(realm);
  const stranger = await realm.user();
  const reader = await realm.user({ scope: "realm" });
  const hidden = await stranger.send("POST", `${path}/revert`);
  deepEqual([hidden.status, hidden.body.code], [404, "transaction.not_found"]);
  const seen = await reader.send("POST", `${path}/revert`);
  deepEqual([seen.status, seen.body.code], [403, "permission.owner"]);
  // Who paid sees the transaction, so it is not hidden from him that there is one.
  const [payer, payee] = [await realm.user(), await realm.user()];
  const { body: coin } = await payer.send("POST", "/v1/currencies", { name: "PAID", supply: "9" });
  const account = await realm.account({ asset: "PAID", by: payee });
  const move = { source: { account: coin.account }, destination: { account }, value: "4" };
  const { body: paid } = await payer.send("POST", "/v1/transactions", move);
  const { body: issued } = await payer.send("POST", `/v1/currencies/${coin.id}/issue`, {
    account,
    amount: "1",
  });
  const one = issued.issuing.find(({ amount }: { amount: string }) => amount === "1");
  for (const [by, id] of [[payer, paid.id], [payee, one.reference]] as const) {
    equal((await by.send("GET", `/v1/transactions/${id}`)).status, 200);
    const refused = await by.send("POST", `/v1/transactions/${id}/revert`);
    deepEqual([refused.status, refused.body.code], [403, "permission.owner"], refused.text);
  }
  equal((await realm.nobody("POST", `${path}/revert`)).status, 401);
  const manager = await realm.user({ role: "manage", scope: "realm" });
  equal((await manager.send("POST", `${path}/revert`)).status, 201);
});

test("a crowd that reverts the same transaction reverts it once", async (realm) => {
  const { account, path } = await fixture(realm);
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => realm.admin.send("POST", `${path}/revert`)),
  );
  equal(answers.filter((answer) => answer.status === 201).length, 1);
  equal(answers.filter((answer) => answer.body.code === "transaction.reverted").length, 11);
  deepEqual(await realm.balance(account), { total: "100", available: "100" });
});

test("PATCH /v1/transactions/<id> replaces the data beside it and nothing else", async (realm) => {
  const { moved, path, user } = await fixture(realm);
  const data = { b: [1, { c: null }], n: 2.5 };
  const { status, body } = await realm.admin.send("PATCH", path, { data });
  equal(status, 200);
  const { updated_at, ...rest } = body;
  equal(typeof updated_at, "number");
  deepEqual(rest, { ...moved, data, balances: rest.balances });
  deepEqual((await realm.admin.send("GET", path)).body.data, data);
  for (const field of ["value", "seal", "reference", "amount", "source"]) {
    const refused = await realm.admin.send("PATCH", path, { data, [field]: "x" });
    deepEqual([refused.status, refused.body.errors[0].path], [400, `/${field}`]);
  }
  equal((await realm.admin.send("PATCH", path, {})).status, 400);
  const receiver = await user.send("PATCH", path, { data });
  deepEqual([receiver.status, receiver.body.code], [403, "permission.owner"]);
  const stranger = await (await realm.user()).send("PATCH", path, { data });
  deepEqual([stranger.status, stranger.body.code], [404, "transaction.not_found"]);
  const again = await realm.admin.send("PATCH", path, { data: {} });
  deepEqual(again.body.data, {});
});

test("GET /v1/transactions/<id> shows number and hash once it is linked, to users who may see it", async (realm) => {
  const { path, user, moved } = await fixture(realm);
  deepEqual([moved.seq, moved.hash], [null, null]);
  await extendHashChain(realm.pool, Date.now);
  const { body } = await realm.admin.send("GET", path);
  deepEqual([body.seq > 0, /^[0-9a-f]{64}$/.test(body.hash)], [true, true]);
  deepEqual({ ...body, seq: null, hash: null }, moved);
  const received = await user.send("GET", path);
  deepEqual([received.status, received.body.balances.source], [200, null]);
  equal((await (await realm.user()).send("GET", path)).status, 404);
});

test("a repeat under an idempotency key answers as then, though linked and annotated since", async (realm) => {
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const body = { source: { account }, destination: { account: other }, value: "5", data: { a: 1 } };
  const key = { "idempotency-key": "k" };
  const first = await realm.admin.send("POST", "/v1/transactions", body, key);
  await extendHashChain(realm.pool, Date.now);
  await realm.admin.send("PATCH", `/v1/transactions/${first.body.id}`, { data: { a: 2 } });
  const second = await realm.admin.send("POST", "/v1/transactions", body, key);
  deepEqual([second.status, second.text], [201, first.text]);
});

test("conditions are checked with the move, by everyone's latest balance", async (realm) => {
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const send = (conditions: unknown) =>
    realm.admin.send("POST", "/v1/transactions", {
      source: { account },
      destination: { account: other },
      value: "1",
      conditions,
    });
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => send({ source_total_eq: "100" })),
  );
  equal(answers.filter((answer) => answer.status === 201).length, 1);
  equal(answers.filter((answer) => answer.body.code === "condition.failed").length, 9);
  equal((await send({ destination_total_lte: "2" })).status, 201);
  equal((await send({ destination_total_lte: "2" })).body.code, "condition.failed");
  await realm.admin.send("POST", `/v1/accounts/${account}/blocks`, { amount: "90" });
  equal(
    (await send({ source_available_gte: "8.000000000000000001" })).body.code,
    "condition.failed",
  );
  equal((await send({ source_available_gte: "8" })).status, 201);
  for (const bad of [{ source_total_eq: "-1" }, { total: "1" }, { source_total_eq: "1e2" }]) {
    equal((await send(bad)).status, 400);
  }
});
