import { deepEqual, equal, match } from "node:assert/strict";
import { expireDueBlocks } from "../../domain/ledger/blocks.ts";
import { databaseClock } from "../support/clock.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

/** A currency with 100, an empty second account, and a way to block. */
async function fixture(realm: TestRealm) {
  const { name, account } = await realm.currency("100");
  const other = await realm.account({ asset: name });
  const block = async (body: unknown, id = account) =>
    await realm.admin.send("POST", `/v1/accounts/${id}/blocks`, body);
  return { name, account, other, block, at: `/v1/accounts/${account}/blocks` };
}

const test = sharing("blocks in one realm");

test("POST /v1/accounts/<id>/blocks takes from available and leaves the total", async (realm) => {
  const { account, other, block, at } = await fixture(realm);
  const { status, body } = await block({ amount: 30.5, reason: "order 7", data: { n: 1 } });
  equal(status, 201);
  deepEqual(
    { ...body, id: "", created_at: 0 },
    {
      id: "",
      account,
      amount: "30.5",
      captured: "0",
      reason: "order 7",
      status: "OPEN",
      expires_at: null,
      transaction: null,
      owner: realm.admin.id,
      created_at: 0,
      data: { n: 1 },
      error: null,
    },
  );
  deepEqual(await realm.balance(account), { total: "100", available: "69.5" });
  const move = { source: { account }, destination: { account: other }, value: "70" };
  equal(
    (await realm.admin.send("POST", "/v1/transactions", move)).body.code,
    "balance.insufficient",
  );
  const list = await realm.admin.send("GET", `${at}?status=OPEN`);
  deepEqual([list.body.total, list.body.totalPages, list.body.rows], [1, 1, [body]]);
  deepEqual((await realm.admin.send("GET", `${at}/${body.id}`)).body, body);
});

Deno.test("POST …/blocks refuses more than is available, and changes nothing", async () => {
  await using realm = await testRealm();
  const { account, other, block, at } = await fixture(realm);
  deepEqual((await block({ amount: "100.000000000000000001" })).body.code, "balance.insufficient");
  deepEqual((await block({ amount: "1" }, other)).body.code, "balance.insufficient");
  for (const amount of ["0", "-1", "1e3", "0.0000000000000000001", null]) {
    const { status, body } = await block({ amount });
    deepEqual([status, body.code], [400, "request.invalid"], String(amount));
    equal(body.errors[0].path, "/amount");
  }
  const past = await block({ amount: "1", expires_at: Date.now() - 1 });
  deepEqual([past.status, past.body.errors[0].path], [400, "/expires_at"]);
  deepEqual((await block({ amount: "1" }, "nowhere")).body.code, "account.not_found");
  await rowsOf(realm, "update accounts set frozen = true where id = $1", [account]);
  deepEqual((await block({ amount: "1" })).body.code, "account.frozen");
  await rowsOf(realm, "update accounts set frozen = false, active = false where id = $1", [
    account,
  ]);
  deepEqual((await block({ amount: "1" })).body.code, "account.inactive");
  equal((await realm.admin.send("GET", at)).body.total, 0);
});

test("blocks take the right to write the account", async (realm) => {
  const { name, account, other, block, at } = await fixture(realm);
  const { id } = (await block({ amount: "5" })).body;
  const stranger = await realm.user();
  const reader = await realm.user({ scope: "realm" });
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const destination = { account: await realm.account({ asset: "BTC", by: stranger }) };
  for (
    const [method, path, body] of [
      ["POST", at, { amount: "1" }],
      ["DELETE", `${at}/${id}`, undefined],
      ["POST", `${at}/${id}/capture`, { destination }],
    ] as const
  ) {
    const hidden = await stranger.send(method, path, body);
    deepEqual([hidden.status, hidden.body.code], [404, "account.not_found"], method + path);
    const seen = await reader.send(method, path, body);
    deepEqual([seen.status, seen.body.code], [403, "permission.owner"], method + path);
  }
  equal((await stranger.send("GET", at)).status, 404);
  equal((await reader.send("GET", at)).body.total, 1);
  equal((await manager.send("DELETE", `${at}/${id}`)).body.status, "RELEASED");
  deepEqual(await realm.balance(account), { total: "100", available: "100" });
  // Nor does the owner of an account free what others have blocked on it.
  const owner = await realm.user();
  const owned = await realm.account({ asset: name, by: owner, from: account, total: "10" });
  const held = (await block({ amount: "5" }, owned)).body.id;
  const path = `/v1/accounts/${owned}/blocks/${held}`;
  const freed = await owner.send("DELETE", path);
  deepEqual([freed.status, freed.body.code], [403, "permission.owner"]);
  const taken = await owner.send("POST", `${path}/capture`, { destination: { account: other } });
  deepEqual([taken.status, taken.body.code], [403, "permission.owner"]);
});

test("DELETE …/blocks/<block> releases once", async (realm) => {
  const { account, other, block, at } = await fixture(realm);
  const { id } = (await block({ amount: "40" })).body;
  const wrong = await realm.admin.send("DELETE", `/v1/accounts/${other}/blocks/${id}`);
  deepEqual([wrong.status, wrong.body.code], [404, "block.not_found"]);
  const { status, body } = await realm.admin.send("DELETE", `${at}/${id}`);
  deepEqual([status, body.status, body.captured], [200, "RELEASED", "0"]);
  equal(typeof body.updated_at, "number");
  const again = await realm.admin.send("DELETE", `${at}/${id}`);
  deepEqual([again.status, again.body.code], [409, "block.closed"]);
  const capture = { destination: { account: other } };
  const late = await realm.admin.send("POST", `${at}/${id}/capture`, capture);
  deepEqual([late.status, late.body.code], [409, "block.closed"]);
  deepEqual(await realm.balance(account), { total: "100", available: "100" });
});

test("POST …/capture moves a part and releases the rest", async (realm) => {
  const { name, account, other, block, at } = await fixture(realm);
  const { id } = (await block({ amount: "40" })).body;
  const capture = { destination: { account: other }, amount: "15", seal: { s: 1 }, data: { d: 2 } };
  const { status, body } = await realm.admin.send("POST", `${at}/${id}/capture`, capture);
  equal(status, 201);
  deepEqual([body.type, body.amount, body.asset, body.seal, body.data], [
    "capture",
    "15",
    name,
    { s: 1 },
    { d: 2 },
  ]);
  deepEqual(body.balances, {
    source: { total: "85", available: "85" },
    destination: { total: "15", available: "15" },
  });
  const closed = (await realm.admin.send("GET", `${at}/${id}`)).body;
  deepEqual([closed.status, closed.captured, closed.transaction], ["CAPTURED", "15", body.id]);
  const again = await realm.admin.send("POST", `${at}/${id}/capture`, capture);
  deepEqual([again.status, again.body.code], [409, "block.closed"]);
  deepEqual(await realm.balance(account), { total: "85", available: "85" });
});

Deno.test("POST …/capture takes all unless an amount is given, and refuses more, frozen accounts and other users", async () => {
  await using realm = await testRealm();
  const { account, other, block, at } = await fixture(realm);
  const { id } = (await block({ amount: "40" })).body;
  const send = (body: unknown) => realm.admin.send("POST", `${at}/${id}/capture`, body);
  const destination = { account: other };
  const more = await send({ destination, amount: "40.1" });
  deepEqual([more.status, more.body.errors[0].path], [400, "/amount"]);
  const foreign = { account: await realm.account({ asset: "BTC" }) };
  deepEqual((await send({ destination: foreign })).body.code, "account.asset_mismatch");
  const [world] = await rowsOf<{ id: string }>(
    realm,
    "select w.id from accounts w join accounts a on a.asset = w.asset where a.id = $1 and w.system = 'world'",
    [account],
  );
  deepEqual((await send({ destination: { account: world.id } })).body.code, "account.not_found");
  deepEqual((await send({ destination: { account } })).body.code, "request.invalid");
  await rowsOf(realm, "update accounts set frozen = true where id = $1", [account]);
  deepEqual((await send({ destination })).body.code, "account.frozen");
  deepEqual(await realm.balance(account), { total: "100", available: "0" });
  await rowsOf(realm, "update accounts set frozen = false where id = $1", [account]);
  deepEqual(await realm.balance(account), { total: "100", available: "60" });
  equal((await send({ destination })).body.amount, "40");
  deepEqual(await realm.balance(account), { total: "60", available: "60" });
});

test("a block expires by itself, and cannot be captured from that moment on", async (realm) => {
  const { account, other, block, at } = await fixture(realm);
  const setClock = await databaseClock(realm);
  const expires_at = Date.now() + 3_600_000;
  const { id, ...rest } = (await block({ amount: "40", expires_at: String(expires_at) })).body;
  equal(rest.expires_at, expires_at);
  const path = `${at}/${id}/capture`;
  const capture = { destination: { account: other } };
  equal((await realm.admin.send("POST", `${path}?dry_run=true`, capture)).status, 201);
  equal(await realm.command(expireDueBlocks, { lockLedger: true }), 0);
  await setClock(3_600_000);
  equal((await realm.admin.send("POST", path, capture)).body.code, "block.closed");
  equal(await realm.command(expireDueBlocks, { lockLedger: true }), 1);
  equal((await realm.admin.send("GET", `${at}/${id}`)).body.status, "EXPIRED");
  deepEqual(await realm.balance(account), { total: "100", available: "100" });
  equal((await realm.admin.send("POST", path, capture)).body.code, "block.closed");
});

test("?dry_run=true on blocks and captures answers the same and changes nothing", async (realm) => {
  const { account, other, block, at } = await fixture(realm);
  const tried = await realm.admin.send("POST", `${at}?dry_run=true`, { amount: "40" });
  deepEqual([tried.status, tried.body.status], [201, "OPEN"]);
  deepEqual(await realm.balance(account), { total: "100", available: "100" });
  const { id } = (await block({ amount: "40" })).body;
  const path = `${at}/${id}/capture`;
  const body = { destination: { account: other }, amount: "10" };
  const dry = await realm.admin.send("POST", `${path}?dry_run=true`, body);
  deepEqual(await realm.balance(account), { total: "100", available: "60" });
  const real = await realm.admin.send("POST", path, body);
  const { id: _, created_at: __, ...expected } = real.body;
  const { id: ___, created_at: ____, ...got } = dry.body;
  deepEqual(got, expected);
  deepEqual([dry.status, real.status], [201, 201]);
});

Deno.test("the database keeps the sum of blocks itself, and refuses a second life", async () => {
  await using realm = await testRealm();
  const { account, block } = await fixture(realm);
  const { id } = (await block({ amount: "40" })).body;
  const refused = async (text: string, state: RegExp) => {
    const error = await rowsOf(realm, text, [id]).then(() => null, (error) => error);
    match(String(error?.code ?? "none"), state, text);
  };
  await refused("update blocks set amount = 1 where id = $1", /23001/);
  await refused("delete from blocks where id = $1", /23001/);
  await realm.admin.send("DELETE", `/v1/accounts/${account}/blocks/${id}`);
  await refused("update blocks set status = 'OPEN', closed_at = null where id = $1", /23001/);
  const states = await rowsOf(
    realm,
    "select blocked, frozen from account_states where account = $1 order by id",
    [account],
  );
  deepEqual(states.map((row) => ({ ...row as object })), [
    { blocked: "40", frozen: false },
    { blocked: "0", frozen: false },
  ]);
});

test("a crowd that blocks the same account never blocks more than there is", async (realm) => {
  const { account, block, at } = await fixture(realm);
  const answers = await Promise.all(Array.from({ length: 15 }, () => block({ amount: "10" })));
  equal(answers.filter((answer) => answer.status === 201).length, 10);
  equal(answers.filter((answer) => answer.body.code === "balance.insufficient").length, 5);
  deepEqual(await realm.balance(account), { total: "100", available: "0" });
  const pages = await realm.admin.send("GET", `${at}?page=2&pageSize=4`);
  deepEqual(
    [pages.body.rows.length, pages.body.total, pages.body.totalPages, pages.body.page],
    [4, 10, 3, 2],
  );
});
