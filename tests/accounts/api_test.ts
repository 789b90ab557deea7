/** Accounts: their states, the default mark, changes, deletion, relations shown whole. @module */
import { deepEqual, equal } from "node:assert/strict";
import { viewEntity } from "../../domain/entity.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { BESIDE } from "../support/statement_texts.ts";

const test = sharing("accounts in one realm");

test("freeze, unfreeze, deactivate and activate take an account where it shall be, and again", async (realm) => {
  const { name, account } = await realm.currency("10");
  const id = await realm.account({ asset: name });
  const state = async (act: string, of = id) => {
    const { status, body, text } = await realm.admin.send("POST", `/v1/accounts/${of}/${act}`);
    equal(status, 200, text);
    return [body.active, body.frozen, body.balance.available];
  };
  deepEqual(await state("freeze", account), [true, true, "0"]);
  deepEqual(await state("freeze", account), [true, true, "0"]);
  equal((await move(realm, account, id, "1")).body.code, "account.frozen");
  deepEqual(await state("unfreeze", account), [true, false, "10"]);
  deepEqual(await state("unfreeze", account), [true, false, "10"]);
  deepEqual(await state("deactivate"), [false, false, "0"]);
  deepEqual(await state("deactivate"), [false, false, "0"]);
  equal((await move(realm, account, id, "1")).body.code, "account.inactive");
  deepEqual(await state("activate"), [true, false, "0"]);
  deepEqual(await state("activate"), [true, false, "0"]);
  equal((await move(realm, account, id, "1")).status, 201);
});

test("a frozen account receives and does not send", async (realm) => {
  const { name, account } = await realm.currency("10");
  const id = await realm.account({ asset: name, from: account, total: "4" });
  await realm.admin.send("POST", `/v1/accounts/${id}/freeze`);
  equal((await move(realm, account, id, "1")).status, 201);
  equal((await move(realm, id, account, "1")).body.code, "account.frozen");
  deepEqual(await realm.balance(id), { total: "5", available: "0" });
});

test("an account that holds or has promised something is neither deactivated nor deleted", async (realm) => {
  const { name, account } = await realm.currency("10");
  const id = await realm.account({ asset: name, from: account, total: "4" });
  const refused = async (method: string, path: string) => {
    const { status, body } = await realm.admin.send(method, path);
    deepEqual([status, body.code], [409, "account.not_empty"], `${method} ${path}`);
  };
  const block = await realm.admin.send("POST", `/v1/accounts/${id}/blocks`, { amount: "4" });
  equal(block.status, 201);
  await refused("POST", `/v1/accounts/${id}/deactivate`);
  await refused("DELETE", `/v1/accounts/${id}`);
  await realm.admin.send("DELETE", `/v1/accounts/${id}/blocks/${block.body.id}`);
  await refused("DELETE", `/v1/accounts/${id}`);
  equal((await move(realm, id, account, "4")).status, 201);
  const gone = await realm.admin.send("DELETE", `/v1/accounts/${id}`);
  deepEqual([gone.status, gone.body.deleted, typeof gone.body.deleted_at], [200, true, "number"]);
  equal((await realm.admin.send("GET", `/v1/accounts/${id}`)).status, 404);
  equal((await realm.admin.send("DELETE", `/v1/accounts/${id}`)).status, 404);
  equal((await move(realm, account, id, "1")).body.code, "account.not_found");
  const back = await realm.admin.send("POST", `/v1/accounts/${id}/undelete`);
  deepEqual([back.status, back.body.deleted], [200, undefined]);
  equal((await move(realm, account, id, "1")).status, 201);
});

test("value that arrives while an account is being emptied is never lost in a closed one", async (realm) => {
  const { name, account } = await realm.currency("100");
  for (let round = 0; round < 8; round++) {
    const id = await realm.account({ asset: name });
    const [moved, closed] = await Promise.all([
      move(realm, account, id, "1"),
      realm.admin.send(
        round % 2 ? "DELETE" : "POST",
        `/v1/accounts/${id}${round % 2 ? "" : "/deactivate"}`,
      ),
    ]);
    equal([moved.status === 201, closed.status === 200].filter((won) => won).length, 1);
  }
});

test("the default mark moves: one for each holder and asset, also among rivals", async (realm) => {
  const { name } = await realm.currency("1");
  const make = (mark: boolean) =>
    realm.admin.send("POST", "/v1/accounts", { type: "virtual", asset: name, default: mark });
  const first = (await make(true)).body.id;
  const second = (await make(true)).body.id;
  deepEqual(await marked(realm, name), [second]);
  const back = await realm.admin.send("PATCH", `/v1/accounts/${first}`, { default: "true" });
  equal(back.body.default, true);
  deepEqual(await marked(realm, name), [first]);
  const answers = await Promise.all([
    ...Array.from({ length: 6 }, () => make(true)),
    realm.admin.send("PATCH", `/v1/accounts/${second}`, { default: true }),
    realm.admin.send("PATCH", `/v1/accounts/${first}`, { default: true }),
  ]);
  deepEqual(answers.filter((answer) => answer.status >= 400), []);
  equal((await marked(realm, name)).length, 1);
  const [holder] = await marked(realm, name);
  equal(
    (await realm.admin.send("PATCH", `/v1/accounts/${holder}`, { default: false })).status,
    200,
  );
  deepEqual(await marked(realm, name), []);
});

test("PATCH /v1/accounts/<id> refuses fields that no caller may change", async (realm) => {
  const { account } = await realm.currency("1");
  const path = `/v1/accounts/${account}`;
  for (const change of [{ balance: { total: "9" } }, { total: "9" }, { owner: realm.admin.id }]) {
    const { status, body } = await realm.admin.send("PATCH", path, change);
    deepEqual([status, body.code], [400, "request.invalid"]);
  }
  const ramp = await realm.admin.send("PATCH", path, { ramp: account });
  deepEqual([ramp.body.code, ramp.body.errors[0].path], ["ramp.not_found", "/ramp"]);
  const data = { data: { k: 1.10 } };
  deepEqual((await realm.admin.send("PATCH", path, data)).body.data, data.data);
  const row = { id: "x", owner: null, data: {}, error: null, deleted_at: null };
  const { updated_at } = viewEntity({ ...row, created_at: 9, updated_at: 6 });
  equal(updated_at, 9, "no change is shown before the creation");
});

Deno.test("the singular path is the plural one, and relations are shown whole", async () => {
  await using realm = await testRealm();
  const { account } = await realm.currency("1");
  const plural = await realm.admin.send("GET", `/v1/accounts/${account}`);
  equal((await realm.admin.send("GET", `/v1/account/${account}`)).text, plural.text);
  equal((await realm.admin.send("GET", "/v1/account/all")).body.length, 1);
  equal((await realm.admin.send("POST", `/v1/account/${account}/freeze`)).body.frozen, true);
  const whole = await realm.admin.send(
    "GET",
    `/v1/account/${account}?populate=holder,owner,ramp&populate=address`,
  );
  equal(whole.body.holder.id, realm.admin.identity);
  deepEqual([whole.body.owner.id, whole.body.owner.roles], [realm.admin.id, "admin,manage,user"]);
  deepEqual([whole.body.ramp, whole.body.address], [null, null]);
});

test("a page with relations takes as many statements as one row with them", async (realm) => {
  const { name } = await realm.currency("1");
  for (let i = 0; i < 6; i++) {
    const of = await realm.user();
    const body = { type: "virtual", asset: name, holder: of.identity, owner: of.id };
    equal((await realm.admin.send("POST", "/v1/accounts", body)).status, 201);
  }
  let sent: string[] = [];
  await using other = realm.another({}, (text) => void sent.push(text.trim()));
  const send = other.send(realm.admin.key);
  const statements = async (limit: number) => {
    sent = [];
    const path = `/v1/accounts/all?scope=all&limit=${limit}&populate=holder,owner,ramp,address`;
    const { status, body } = await send("GET", path);
    deepEqual([status, body.length], [200, limit]);
    return sent.filter((text) => !BESIDE.test(text)).length;
  };
  await statements(1);
  const one = await statements(1);
  equal(one > 0, true);
  equal(await statements(7), one);
});

function move(realm: TestRealm, from: string, to: string, value: string) {
  const body = { source: { account: from }, destination: { account: to }, value };
  return realm.admin.send("POST", "/v1/transactions", body);
}

async function marked(realm: TestRealm, asset: string): Promise<string[]> {
  const rows = await rowsOf<{ id: string }>(
    realm,
    "select id from accounts where is_default and asset = $1",
    [asset],
  );
  return rows.map((row) => row.id);
}

Deno.test("a ramp has the accounting currency that it was made with, a virtual account its holder's", async () => {
  await using realm = await testRealm({ env: { LITECOIN_RPC_URL: "http://127.0.0.1:9" } });
  const make = async (body: Record<string, unknown>) => {
    const made = await realm.admin.send("POST", "/v1/accounts", { asset: "LTC", ...body });
    equal(made.status, 201, made.text);
    const [{ places }] = await rowsOf<{ places: number }>(
      realm,
      "select currency_places as places from accounts where id = $1",
      [made.body.id],
    );
    return [made.body.currency, places];
  };
  deepEqual(await make({ type: "ramp", currency: "JPY" }), ["JPY", 0]);
  deepEqual(await make({ type: "ramp" }), ["USD", 2]);
  deepEqual(await make({ type: "virtual", currency: "JPY" }), ["USD", 2]);
});
