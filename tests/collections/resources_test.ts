/** The promises of the generic routes, along whole stories. @module */
import { deepEqual, equal } from "node:assert/strict";
import { type TestRealm, testRealm, type TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

async function identity(user: TestUser, body: unknown = {}): Promise<string> {
  const { status, body: made, text } = await user.send("POST", "/v1/identities", body);
  equal(status, 201, text);
  return made.id;
}

async function ids(user: TestUser, path: string): Promise<string[]> {
  const { status, body, text } = await user.send("GET", path);
  equal(status, 200, text);
  return body.map((row: { id: string }) => row.id);
}

async function people(realm: TestRealm) {
  return {
    admin: realm.admin,
    own: await realm.user(),
    reader: await realm.user({ scope: "realm" }),
    manager: await realm.user({ role: "manage" }),
  };
}

const test = sharing("resources in one realm");

test("GET /v1/identities lists pages with totals, oldest first", async (realm) => {
  const { own } = await people(realm);
  const made: string[] = [];
  for (let i = 0; i < 12; i++) made.push(await identity(own, { data: { n: i } }));
  const first = await own.send("GET", "/v1/identities");
  const mine = [own.identity, ...made];
  deepEqual(first.body.rows.map((row: { id: string }) => row.id), mine.slice(0, 10));
  const { rows: _, ...rest } = first.body;
  deepEqual(rest, { total: 13, page: 1, pageSize: 10, totalPages: 2 });
  const second = await own.send("GET", "/v1/identities?page=2&pageSize=10");
  deepEqual(second.body.rows.map((row: { id: string }) => row.id), mine.slice(10));
  equal((await own.send("GET", "/v1/identities/count")).body, 13);
  deepEqual(
    await ids(own, `/v1/identities/all?after=${made[9]}&limit=5`),
    made.slice(10),
  );
  deepEqual(await ids(own, "/v1/identities/all?sort=-created_at&limit=2"), [made[11], made[10]]);
});

test("GET lists obey query, search, sort and fields", async (realm) => {
  const { own } = await people(realm);
  const german = await identity(own, { country: "DE", currency: "EUR", data: { rank: 2.5 } });
  const swiss = await identity(own, { country: "CH", currency: "CHF", data: { rank: 10 } });
  const query = (filter: unknown) => encodeURIComponent(JSON.stringify(filter));
  const find = (filter: unknown) => ids(own, `/v1/identities/all?query=${query(filter)}`);
  deepEqual(await find({ country: "DE" }), [german]);
  deepEqual(await find({ "data.rank": { $gt: 2.5 } }), [swiss]);
  deepEqual(await find({ $or: [{ country: "DE" }, { currency: { $in: ["CHF"] } }] }), [
    german,
    swiss,
  ]);
  deepEqual(await ids(own, "/v1/identities/all?search=chf&searchFields=currency"), [swiss]);
  deepEqual(await ids(own, "/v1/identities/all?search=%25"), []);
  const { body } = await own.send(
    "GET",
    "/v1/identities/all?fields=country,data.rank&sort=-country",
  );
  deepEqual(body[1], { country: "DE", data: { rank: 2.5 } });
});

test("GET lists refuse unknown parameters and values", async (realm) => {
  const { own } = await people(realm);
  for (
    const bad of [
      "limit=1001",
      "limit=-1",
      "limit=x",
      "offset=100001",
      "after=nonsense",
      "fields=nothing",
      "sort=password",
      "sort=owner%3Bdrop",
      "query={",
      'query={"verifier":"x"}',
      'query={"$where":"1"}',
      'query={"country":{"$regex":"."}}',
      "searchFields=data&search=%00",
      "populate=owner",
      "scope=everything",
      "unknown=1",
    ]
  ) {
    const { status, body } = await own.send("GET", `/v1/identities/all?${bad}`);
    deepEqual([status, body.code], [400, "query.invalid"], bad);
  }
  for (const bad of ["page=0", "pageSize=501", "pageSize=0", "page=1.5"]) {
    const { status, body } = await own.send("GET", `/v1/identities?${bad}`);
    deepEqual([status, body.code], [400, "query.invalid"], bad);
  }
});

test("scopes never show an entity that a user may not see", async (realm) => {
  const { admin, own, reader } = await people(realm);
  const foreign = await identity(admin);
  const gone = await identity(own);
  const goneToo = await identity(admin);
  equal((await own.send("DELETE", `/v1/identities/${gone}`)).status, 200);
  equal((await admin.send("DELETE", `/v1/identities/${goneToo}`)).status, 200);
  deepEqual(await ids(own, "/v1/identities/all"), [own.identity]);
  deepEqual(await ids(own, "/v1/identities/all?scope=false"), [own.identity, gone]);
  deepEqual(await ids(own, "/v1/identities/all?scope=deleted"), [gone]);
  for (const scope of ["all", "own,all", "-own,all"]) {
    const { status, body } = await own.send("GET", `/v1/identities/all?scope=${scope}`);
    deepEqual([status, body.code], [403, "permission.scope"], scope);
  }
  deepEqual(await ids(reader, "/v1/identities/all"), [reader.identity]);
  const all = await ids(reader, "/v1/identities/all?scope=-own,all");
  equal(all.includes(foreign) && all.includes(own.identity) && !all.includes(gone), true);
  equal((await ids(reader, "/v1/identities/all?scope=all&scope=deleted")).length, 2);
  const crafted = encodeURIComponent(
    JSON.stringify({ $or: [{ owner: admin.id }, { deleted_at: { $exists: true } }, {}] }),
  );
  deepEqual(await ids(own, `/v1/identities/all?query=${crafted}`), [own.identity]);
  equal((await own.send("GET", `/v1/identities/${foreign}`)).status, 404);
  equal((await own.send("GET", `/v1/identities/${gone}`)).status, 404);
  equal((await own.send("GET", `/v1/identities/${gone}?scope=deleted`)).body.deleted, true);
  equal((await own.send("GET", `/v1/identities/${goneToo}?scope=false`)).status, 404);
  equal((await own.send("GET", `/v1/identities/all?after=${foreign}&sort=country`)).status, 400);
});

test("totals count exactly the rows of lists, also after deletions and restorations", async (realm) => {
  const { admin, own } = await people(realm);
  const mine = await identity(own);
  await identity(own);
  await own.send("DELETE", `/v1/identities/${mine}`);
  const count = async (user: TestUser, scope: string) => {
    const total = (await user.send("GET", `/v1/identities/count?scope=${scope}`)).body;
    const list = await ids(user, `/v1/identities/all?scope=${scope}`);
    equal(total, list.length, scope);
    return total;
  };
  equal(await count(own, "own"), 2);
  equal(await count(own, "false"), 3);
  equal(await count(own, "deleted"), 1);
  const before = await count(admin, "all");
  await admin.send("POST", `/v1/identities/${mine}/undelete`);
  equal(await count(admin, "all"), before + 1);
});

test("accounts: states, default mark, alias, deletion", async (realm) => {
  const { name, account } = await realm.currency("10");
  const { send } = realm.admin;
  const made = await send("POST", "/v1/accounts", {
    type: "virtual",
    asset: name,
    alias: "till",
    default: true,
  }, { prefer: "wait=1" });
  equal(made.body.alias, "till");
  equal(made.body.default, true);
  await realm.drain();
  const id = made.body.id;
  equal((await send("POST", `/v1/accounts/${account}/freeze`)).body.frozen, true);
  equal((await send("POST", `/v1/accounts/${account}/freeze`)).status, 200);
  const frozen = await send("GET", `/v1/accounts/${account}`);
  deepEqual(frozen.body.balance, { total: "10", available: "0" });
  const move = { source: { account }, destination: { alias: "till" }, value: "1" };
  equal((await send("POST", "/v1/transactions", move)).body.code, "account.frozen");
  equal((await send("POST", `/v1/accounts/${account}/unfreeze`)).body.frozen, false);
  equal((await send("POST", "/v1/transactions", move)).status, 201);
  equal((await send("POST", `/v1/accounts/${id}/deactivate`)).body.code, "account.not_empty");
  equal((await send("DELETE", `/v1/accounts/${id}`)).body.code, "account.not_empty");
  const back = { source: { alias: "till" }, destination: { account }, value: "1" };
  equal((await send("POST", "/v1/transactions", back)).status, 201);
  equal((await send("POST", `/v1/accounts/${id}/deactivate`)).body.active, false);
  equal((await send("POST", "/v1/transactions", move)).body.code, "account.inactive");
  equal((await send("POST", `/v1/accounts/${id}/activate`)).body.active, true);
  await send("PATCH", `/v1/accounts/${account}`, { default: true });
  equal((await send("GET", `/v1/account/${id}`)).body.default, false);
  equal((await send("DELETE", `/v1/accounts/${id}`)).body.deleted, true);
  equal((await send("GET", `/v1/accounts/${id}`)).status, 404);
  equal((await send("POST", `/v1/accounts/${id}/undelete`)).body.deleted, undefined);
  const taken = { alias: "till", type: "identity", identity: realm.admin.identity };
  equal((await send("POST", "/v1/aliases", taken)).body.code, "alias.taken");
  const whole = await send("GET", "/v1/aliases/all?populate=account");
  equal(whole.body[0].account.id, id);
  const populated = await send("GET", `/v1/accounts/${id}?populate=holder,owner`);
  equal(populated.body.holder.id, realm.admin.identity);
  equal(populated.body.owner.username, "admin@test.example");
});

Deno.test("system accounts are shown to administrators who ask for them", async () => {
  await using realm = await testRealm();
  await realm.currency("10");
  const reader = await realm.user({ scope: "realm" });
  const query = encodeURIComponent('{"type":"system"}');
  const path = `/v1/accounts/all?scope=all&query=${query}`;
  equal((await realm.admin.send("GET", path)).body.length, 1);
  equal((await realm.admin.send("GET", "/v1/accounts/all?scope=all")).body.length, 1);
  deepEqual(await ids(reader, path), []);
});

Deno.test("transactions: incoming and outgoing, by owner, and never deleted", async () => {
  await using realm = await testRealm();
  const { name, account } = await realm.currency("10");
  const own = await realm.user();
  const mine = await realm.account({ asset: name, by: own });
  const pay = (source: string, destination: string, user: TestUser) =>
    user.send("POST", "/v1/transactions", {
      source: { account: source },
      destination: { account: destination },
      value: "2",
    });
  const incoming = (await pay(account, mine, realm.admin)).body.id;
  const outgoing = (await pay(mine, account, own)).body.id;
  deepEqual(await ids(own, "/v1/transactions/all"), [outgoing]);
  deepEqual(await ids(own, "/v1/transactions/all?scope=incoming"), [incoming]);
  deepEqual(await ids(own, "/v1/transactions/all?scope=outgoing"), [outgoing]);
  deepEqual(await ids(own, "/v1/transactions/all?scope=incoming,outgoing"), [incoming, outgoing]);
  equal((await own.send("GET", `/v1/transactions/${incoming}`)).status, 200);
  equal((await realm.admin.send("GET", "/v1/transactions/count?scope=all")).body, 3);
  equal((await own.send("GET", "/v1/transactions/count")).body, 1);
  const gone = await own.send("DELETE", `/v1/transactions/${outgoing}`);
  deepEqual([gone.status, gone.body.code], [405, "method.not_allowed"]);
  const whole = await own.send("GET", `/v1/transactions/${outgoing}?populate=source.account`);
  equal(whole.body.source.account.id, mine);
});
