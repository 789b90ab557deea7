/**
 * Requests that try to read entities of another user, of the same realm or of another one:
 * through a filter, an order, a relation, a field, an id or an alias.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { type TestRealm, testRealm, type TestUser } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const COLLECTIONS = ["users", "identities", "accounts", "aliases", "currencies", "transactions"];

/** An owner with one entity in every collection, and a marker that none of it may show elsewhere. */
interface Treasure {
  owner: TestUser;
  marker: string;
  ids: Record<string, string>;
}

const test = sharing("hostile in one realm");

test("no filter reaches an entity of another user", async (realm) => {
  const { owner, marker, ids } = await hide(realm);
  const thief = await realm.user();
  const queries = [
    { owner: owner.id },
    { owner: { $ne: thief.id } },
    { $or: [{ owner: owner.id }, { id: { $exists: true } }] },
    { $not: { owner: thief.id } },
    { $not: { $and: [{ owner: thief.id }, { id: { $exists: false } }] } },
    { id: { $in: Object.values(ids) } },
    { id: { $gt: "00000000-0000-0000-0000-000000000000" } },
    { "data.marker": marker },
    { data: { $contains: { marker } } },
  ];
  for (const collection of COLLECTIONS) {
    for (const query of queries) {
      for (const scope of ["", "&scope=own", "&scope=false", "&scope=deleted", "&scope=-own"]) {
        const given = `query=${encodeURIComponent(JSON.stringify(query))}${scope}`;
        const answer = await thief.send("GET", `/v1/${collection}/all?${given}`);
        if (answer.status !== 200) equal([400, 403].includes(answer.status), true, answer.text);
        keepsSilent(answer.text, marker, owner, given);
        const counted = await thief.send("GET", `/v1/${collection}/count?${given}`);
        const own = ["users", "identities"].includes(collection) ? 1 : 0;
        if (counted.status === 200) equal(counted.body <= own, true, `${collection} ${given}`);
      }
    }
    const searched = await thief.send("GET", `/v1/${collection}?search=${marker}`);
    deepEqual([searched.status, searched.body.total], [200, 0], collection);
    const all = await thief.send("GET", `/v1/${collection}/all?scope=all`);
    deepEqual([all.status, all.body.code], [403, "permission.scope"], collection);
  }
});

test("no id, scope, relation or field opens an entity of another user", async (realm) => {
  const { owner, marker, ids } = await hide(realm);
  const thief = await realm.user();
  for (const collection of COLLECTIONS) {
    const path = `/v1/${collection}/${ids[collection]}`;
    for (const given of ["", "?scope=own", "?scope=false", "?scope=deleted", "?fields=id,data"]) {
      const { status, body, text } = await thief.send("GET", path + given);
      equal(status, 404, `${path}${given}: ${text}`);
      equal(body.code.endsWith(".not_found"), true);
    }
    const after = await thief.send("GET", `/v1/${collection}/all?after=${ids[collection]}&sort=id`);
    equal(after.status, 200, after.text);
    keepsSilent(after.text, marker, owner, "after");
    const between = `/v1/${collection}/all?after=${ids[collection]}&sort=owner`;
    equal((await thief.send("GET", between)).status, 400, "an anchor that is not the caller's");
  }
  equal((await thief.send("PATCH", `/v1/accounts/${ids.accounts}`, { data: {} })).status, 404);
  equal((await thief.send("POST", `/v1/accounts/${ids.accounts}/freeze`)).status, 404);
});

test("a relation is shown whole only to users who may see it", async (realm) => {
  const { owner, marker, ids } = await hide(realm);
  const thief = await realm.user();
  const { name, account } = await realm.currency("5");
  const mine = await realm.account({ asset: name, by: thief });
  const move = { source: { account }, destination: { account: mine }, value: "1" };
  equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  const seen = await thief.send(
    "GET",
    "/v1/transactions/all?scope=incoming&populate=source.account,destination.account",
  );
  equal(seen.status, 200, seen.text);
  equal(seen.body[0].source.account, account);
  equal(seen.body[0].destination.account.id, mine);
  const whole = await thief.send("GET", "/v1/accounts/all?populate=holder,owner,ramp,address");
  equal(whole.status, 200, whole.text);
  equal(whole.body[0].owner.id, thief.id);
  keepsSilent(seen.text + whole.text, marker, owner, "populate");
  const aliased = await thief.send("POST", "/v1/aliases", {
    alias: "mine-now",
    type: "account",
    account: ids.accounts,
  });
  deepEqual([aliased.status, aliased.body.code], [404, "account.not_found"]);
});

test("text of a request is never SQL", async (realm) => {
  const { ids } = await hide(realm);
  const thief = await realm.user();
  const nasty = [
    `id; drop table accounts`,
    `id" desc; select 1 --`,
    `(select verifier from users limit 1)`,
    `data'||(select 1)||'`,
    `__proto__`,
    `constructor`,
    `verifier`,
    `password_digest`,
    `total`,
    `is_default`,
  ];
  for (const text of nasty) {
    const coded = encodeURIComponent(text);
    for (const parameter of ["sort", "fields", "searchFields", "populate", "scope"]) {
      const path = `/v1/users/all?search=x&${parameter}=${coded}`;
      const { status, body } = await thief.send("GET", path);
      deepEqual([status, body.code], [400, "query.invalid"], path);
    }
    const query = encodeURIComponent(JSON.stringify({ [text]: 1 }));
    const answer = await thief.send("GET", `/v1/users/all?query=${query}`);
    deepEqual([answer.status, answer.body.code], [400, "query.invalid"], text);
    const byId = await thief.send("GET", `/v1/accounts/${coded}`);
    deepEqual([byId.status, byId.body.code], [404, "account.not_found"], text);
    const found = await thief.send("GET", `/v1/accounts/all?search=${coded}`);
    deepEqual([found.status, found.body], [200, []], text);
  }
  equal((await realm.admin.send("GET", `/v1/accounts/${ids.accounts}`)).status, 200);
});

test("no request of one realm reaches another realm's entities", async (realm) => {
  await using other = await testRealm();
  const { owner, marker, ids } = await hide(other);
  const { admin } = realm;
  for (const collection of COLLECTIONS) {
    const { status } = await admin.send("GET", `/v1/${collection}/${ids[collection]}?scope=false`);
    equal(status, 404, collection);
    const query = encodeURIComponent(JSON.stringify({ owner: owner.id }));
    const found = await admin.send("GET", `/v1/${collection}/all?scope=all&query=${query}`);
    deepEqual([found.status, found.body], [200, []], collection);
    const list = await admin.send("GET", `/v1/${collection}?scope=all&pageSize=500`);
    keepsSilent(list.text, marker, owner, collection);
  }
  const move = { source: { alias: `a${marker}` }, destination: { alias: "x" }, value: "1" };
  const moved = await admin.send("POST", "/v1/transactions", move);
  deepEqual([moved.status, moved.body.code], [404, "alias.not_found"]);
  // The same alias is free in this realm.
  const again = { alias: `a${marker}`, type: "identity", identity: admin.identity };
  equal((await admin.send("POST", "/v1/aliases", again)).status, 201);
  equal((await admin.send("DELETE", `/v1/users/${owner.id}`)).status, 404);
  equal((await owner.send("GET", "/v1/auth/me")).status, 200);
});

/** Makes something in every collection that only its owner may see. */
async function hide(realm: TestRealm): Promise<Treasure> {
  const marker = `m${crypto.randomUUID().slice(0, 8)}`;
  const owner = await realm.user({ role: "admin" });
  const made = async (collection: string, body: unknown) => {
    const answer = await owner.send("POST", `/v1/${collection}`, body);
    equal(answer.status, 201, answer.text);
    return answer.body;
  };
  const data = { marker };
  const currency = await made("currencies", { name: `C${marker}`, supply: "10", data });
  const account = await made("accounts", { type: "virtual", asset: `C${marker}`, data });
  await realm.drain();
  const ids: Record<string, string> = {
    currencies: currency.id,
    accounts: account.id,
    identities: (await made("identities", { data })).id,
    users: (await made("users", {
      username: `u${marker}`,
      password: "correct horse battery",
      data,
    })).id,
    aliases: (await made("aliases", {
      alias: `a${marker}`,
      type: "account",
      account: account.id,
      data,
    })).id,
    transactions: (await made("transactions", {
      source: { account: currency.account },
      destination: { account: account.id },
      value: "1",
      data,
    })).id,
  };
  return { owner, marker, ids };
}

/** Checks that an answer tells nothing of the owner or of what it hid. */
function keepsSilent(
  text: string,
  marker: string,
  owner: TestUser,
  what: string,
): void {
  equal(text.includes(marker), false, `${what} shows what is hidden: ${text}`);
  equal(text.includes(`"owner":"${owner.id}"`), false, `${what} shows another's: ${text}`);
}
