import { deepEqual, equal } from "node:assert/strict";
import { rowsOf, type TestRealm, testRealm, type TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

/** A currency with 100 in circulation. */
async function fixture(realm: TestRealm) {
  const { name, account } = await realm.currency("100");
  const { body } = await realm.admin.send("GET", `/v1/accounts/${account}`);
  equal(body.asset, name);
  const [{ id }] = await rowsOf<{ id: string }>(
    realm,
    "select id from currencies where name = $1",
    [name],
  );
  return { name, account, path: `/v1/currencies/${id}` };
}

/** The supply, in four figures that must agree. */
async function supplies(realm: TestRealm, name: string): Promise<string[]> {
  const [row] = await rowsOf<Record<string, string>>(
    realm,
    `select trim_scale(c.supply)::text as supply,
      trim_scale((select sum(case operation when 'issue' then amount else -amount end)
        from currency_issues where currency = c.id))::text as issued,
      trim_scale((select sum(total) from accounts where asset = c.name and type <> 'system'))::text
        as held,
      trim_scale((select -total from accounts where asset = c.name and system = 'world'))::text
        as world
      from currencies c where name = $1`,
    [name],
  );
  return [row.supply, row.issued, row.held, row.world];
}

const test = sharing("issuance in one realm");

test("issue and destroy change the supply, and nothing else does", async (realm) => {
  const { name, account, path } = await fixture(realm);
  const other = await realm.account({ asset: name, from: account, total: "30" });
  const issued = await realm.admin.send("POST", `${path}/issue`, { account: other, amount: "5.5" });
  equal(issued.status, 200);
  deepEqual([issued.body.name, issued.body.supply], [name, "105.5"]);
  const list = issued.body.issuing;
  deepEqual(list.map(({ reference: _, ...rest }: { reference: string }) => rest), [
    { operation: "issue", amount: "100", account },
    { operation: "issue", amount: "5.5", account: other },
  ]);
  const made = await realm.admin.send("GET", `/v1/transactions/${list[1].reference}`);
  deepEqual([made.body.type, made.body.amount, made.body.destination.account], [
    "issue",
    "5.5",
    other,
  ]);
  deepEqual(await supplies(realm, name), ["105.5", "105.5", "105.5", "105.5"]);
  const destroyed = await realm.admin.send("POST", `${path}/destroy`, { amount: 20.25 });
  deepEqual([destroyed.status, destroyed.body.supply], [200, "85.25"]);
  deepEqual(destroyed.body.issuing[2].operation, "destroy");
  deepEqual(destroyed.body.issuing[2].account, account);
  deepEqual(await realm.balance(account), { total: "49.75", available: "49.75" });
  deepEqual(await supplies(realm, name), ["85.25", "85.25", "85.25", "85.25"]);
});

Deno.test("destroy takes only available value; issue only whole parts of the currency", async () => {
  await using realm = await testRealm();
  const { name, account, path } = await fixture(realm);
  await realm.admin.send("POST", `/v1/accounts/${account}/blocks`, { amount: "60" });
  const send = async (verb: string, body: unknown) => {
    const answer = await realm.admin.send("POST", `${path}/${verb}`, body);
    return [answer.status, answer.body.code];
  };
  deepEqual(await send("destroy", { amount: "40.5" }), [409, "balance.insufficient"]);
  deepEqual(await send("issue", { amount: "0" }), [400, "request.invalid"]);
  deepEqual(await send("issue", { amount: "0.0000000000000000001" }), [400, "request.invalid"]);
  deepEqual(await send("issue", { amount: "1", account: "none" }), [404, "account.not_found"]);
  const btc = await realm.account({ asset: "BTC" });
  deepEqual(await send("issue", { amount: "1", account: btc }), [409, "account.asset_mismatch"]);
  const [world] = await rowsOf<{ id: string }>(
    realm,
    "select id from accounts where asset = $1 and system = 'world'",
    [name],
  );
  deepEqual(await send("issue", { amount: "1", account: world.id }), [404, "account.not_found"]);
  deepEqual(await send("destroy", { amount: "1", account: world.id }), [404, "account.not_found"]);
  await rowsOf(realm, "update accounts set frozen = true where id = $1", [account]);
  deepEqual(await send("destroy", { amount: "1" }), [409, "account.frozen"]);
  equal((await send("issue", { amount: "1" }))[0], 200);
  deepEqual(await supplies(realm, name), ["101", "101", "101", "101"]);
});

test("issuing is for the owner of the currency, destroying for the owner of the account too", async (realm) => {
  const { name, account, path } = await fixture(realm);
  const owner = await realm.user();
  const reader = await realm.user({ scope: "realm" });
  for (
    const [method, route, body] of [
      ["POST", `${path}/issue`, { amount: "1" }],
      ["POST", `${path}/destroy`, { amount: "1" }],
      ["PATCH", path, { symbol: "X" }],
    ] as const
  ) {
    const hidden = await owner.send(method, route, body);
    deepEqual([hidden.status, hidden.body.code], [404, "currency.not_found"]);
    const seen = await reader.send(method, route, body);
    deepEqual([seen.status, seen.body.code], [403, "permission.owner"]);
    equal((await realm.nobody(method, route, body)).status, 401);
  }
  const make = async (user: TestUser, name: string) => {
    const made = (await user.send("POST", "/v1/currencies", { name, supply: "5" })).body;
    const others = await realm.account({ asset: name });
    const ends = { source: { account: made.account }, destination: { account: others } };
    equal((await user.send("POST", "/v1/transactions", { ...ends, value: "2" })).status, 201);
    const stolen = { amount: "2", account: others };
    return { mine: made, stolen, path: `/v1/currencies/${made.id}/destroy` };
  };
  const other = await make(reader, "MINE-2"); // who sees the account, and does not own it
  const seen = await reader.send("POST", other.path, other.stolen);
  deepEqual([seen.status, seen.body.code], [403, "permission.owner"]);
  const { mine, stolen, path: destroying } = await make(owner, "MINE-1");
  const refused = await owner.send("POST", destroying, stolen);
  deepEqual([refused.status, refused.body.code], [404, "account.not_found"]);
  equal((await owner.send("POST", `/v1/currencies/${mine.id}/issue`, stolen)).status, 200);
  deepEqual(await supplies(realm, "MINE-1"), ["7", "7", "7", "7"]);
  deepEqual(await realm.balance(account), { total: "100", available: "100" });
  equal(name.length > 0, true);
});

test("reverting an issue destroys and reverting a destruction issues, once", async (realm) => {
  const { name, account, path } = await fixture(realm);
  const { body } = await realm.admin.send("POST", `${path}/issue`, { amount: "5" });
  const issue = body.issuing[1].reference;
  const reverted = await realm.admin.send("POST", `/v1/transactions/${issue}/revert`);
  deepEqual([reverted.status, reverted.body.type, reverted.body.reverts], [201, "revert", issue]);
  deepEqual(await supplies(realm, name), ["100", "100", "100", "100"]);
  const again = await realm.admin.send("POST", `/v1/transactions/${issue}/revert`);
  deepEqual([again.status, again.body.code], [409, "transaction.reverted"]);
  const gone = (await realm.admin.send("POST", `${path}/destroy`, { amount: "10" })).body;
  const destruction = gone.issuing.at(-1).reference;
  equal((await realm.admin.send("POST", `/v1/transactions/${destruction}/revert`)).status, 201);
  deepEqual(await supplies(realm, name), ["100", "100", "100", "100"]);
  deepEqual(await realm.balance(account), { total: "100", available: "100" });
});

test("PATCH /v1/currencies/<id> changes the fields that may change, and refuses the rest", async (realm) => {
  const { name, path } = await fixture(realm);
  const change = {
    rate: "1.25",
    base: "EUR",
    symbol: "¢",
    symbol_url: "https://example.org/c.png",
    sub_unit: ["cent", "cents"],
    data: { a: 1 },
  };
  const { status, body, text } = await realm.admin.send("PATCH", path, change);
  equal(status, 200);
  deepEqual(
    [body.rate, body.base, body.symbol, body.symbol_url, body.sub_unit, body.data, body.supply],
    [1.25, "EUR", "¢", "https://example.org/c.png", ["cent", "cents"], { a: 1 }, "100"],
  );
  equal(text.includes('"rate":1.25'), true);
  equal(typeof body.updated_at, "number");
  const cleared = await realm.admin.send("PATCH", path, { rate: null, sub_unit: null });
  deepEqual([cleared.body.rate, cleared.body.sub_unit, cleared.body.base], [null, null, "EUR"]);
  for (const field of ["name", "supply", "account", "owner", "currency"]) {
    const refused = await realm.admin.send("PATCH", path, { [field]: name });
    deepEqual([refused.status, refused.body.errors[0].path], [400, `/${field}`]);
  }
  equal((await realm.admin.send("PATCH", path, { rate: "0" })).status, 400);
});

test("the base of a currency is another one that there is, or an asset", async (realm) => {
  const { name, path } = await fixture(realm);
  const named = async (base: string) => {
    const made = `C${crypto.randomUUID().slice(0, 8)}`;
    const { status, body } = await realm.admin.send("POST", "/v1/currencies", {
      ...{ name: made, rate: "1", base: base === name ? made : base },
    });
    const changed = await realm.admin.send("PATCH", path, { rate: "1", base });
    return [status, body.code, changed.status, changed.body.code];
  };
  deepEqual(await named(name), [400, "request.invalid", 400, "request.invalid"]);
  deepEqual(await named("NOSUCH"), [422, "asset.unknown", 422, "asset.unknown"]);
  const { name: other } = await realm.currency("1");
  for (const base of [other, "EUR", "BTC"]) {
    deepEqual(await named(base), [201, undefined, 200, undefined]);
  }
});

test("the rate of a currency gives transfers their value over its base", async (realm) => {
  const { name, account, path } = await fixture(realm);
  const other = await realm.account({ asset: name });
  await realm.admin.send("PATCH", path, { rate: "2.5", base: "GBP" });
  await realm.admin.send("PUT", "/v1/rates", { base: "GBP", currency: "USD", rate: "1.3" });
  const body = { source: { account }, destination: { account: other }, value: "2" };
  const { fiat } = (await realm.admin.send("POST", "/v1/transactions", body)).body;
  deepEqual(fiat, { currency: "USD", rate: "3.25", value: "6.5" });
  const pair = await realm.admin.send("GET", `/v1/rates?base=${name}&currency=USD`);
  deepEqual(pair.body[0].rate, "3.25");
});

test("a crowd that issues and destroys leaves the law of supply whole", async (realm) => {
  const { name, path } = await fixture(realm);
  const answers = await Promise.all(
    Array.from(
      { length: 30 },
      (_, i) =>
        realm.admin.send("POST", `${path}/${i % 3 === 0 ? "issue" : "destroy"}`, { amount: "8" }),
    ),
  );
  const done = (verb: number) =>
    answers.filter((answer, i) => (i % 3 === 0) === (verb === 0) && answer.status === 200).length;
  equal(done(0), 10);
  const expected = `${100 + 80 - 8 * done(1)}`;
  deepEqual(await supplies(realm, name), [expected, expected, expected, expected]);
});
