/** An identity that belongs to another user than the one it is linked to: seen, and not changed. @module */
import { deepEqual, equal } from "node:assert/strict";
import { PASSWORD, type Send, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("users linked to identities of the administrator");

test("a user sees the identity that it is linked to, and changes and deletes it only where it owns it", async (realm) => {
  const { identity, send } = await linkedUser(realm);
  const path = `/v1/identities/${identity}`;
  const before = await send("GET", path);
  equal(before.status, 200, before.text);
  const refused: [string, string, unknown?][] = [
    ["PATCH", path, { data: { verified: true } }],
    ["PATCH", path, { country: "CH", currency: "CHF" }],
    ["DELETE", path],
    ["POST", `${path}/person`, { firstName: "Ada" }],
    ["POST", "/v1/aliases", { alias: `of-${identity}`, type: "identity", identity }],
    ["POST", "/v1/ramps", {
      ramp: "binance",
      identity,
      authentication: { api_key: "key", secret: "secret" },
    }],
  ];
  for (const [method, where, body] of refused) {
    const { status, body: problem } = await send(method, where, body);
    deepEqual([status, problem.code], [403, "permission.owner"], `${method} ${where}`);
  }
  deepEqual((await send("GET", path)).body, before.body);
  const own = await realm.user();
  const changed = await own.send("PATCH", `/v1/identities/${own.identity}`, { country: "CH" });
  deepEqual([changed.status, changed.body.country], [200, "CH"]);
});

test("a user sees the person of the identity that it is linked to, and neither changes nor takes it", async (realm) => {
  const { identity, send } = await linkedUser(realm);
  const path = `/v1/identities/${identity}/person`;
  const made = await realm.admin.send("POST", path, { firstName: "Ada" });
  equal(made.status, 201, made.text);
  const seen = await send("GET", path);
  deepEqual([seen.status, seen.body.person.firstName], [200, "Ada"]);
  const mine = (await send("POST", "/v1/identities", {})).body.id;
  const refused: [string, string, unknown?][] = [
    ["PATCH", path, { firstName: "Eve" }],
    ["POST", `${path}/event/bought`, { data: { properties: {} } }],
    ["PATCH", `${path}/unassign`],
    ["PATCH", `/v1/identities/${mine}/person/${made.body.person.id}/assign`],
    ["DELETE", path],
  ];
  for (const [method, where, body] of refused) {
    const { status, body: problem } = await send(method, where, body);
    deepEqual([status, problem.code], [403, "permission.owner"], `${method} ${where}`);
  }
  deepEqual((await send("GET", path)).body, seen.body);
});

test("an identity that was deleted holds no new account, also of the user that is linked to it", async (realm) => {
  const { name } = await realm.currency("1");
  const { identity, send } = await linkedUser(realm);
  const paths: [string, Record<string, unknown>][] = [
    ["/v1/accounts", { type: "virtual", asset: name }],
    ["/v1/accounts", { type: "virtual", asset: name, holder: identity }],
    ["/v1/currencies", { name: `of-${identity.slice(-12)}`, supply: "1" }],
  ];
  equal((await send("POST", ...paths[0])).status, 201);
  equal((await realm.admin.send("DELETE", `/v1/identities/${identity}`)).status, 200);
  for (const [path, body] of paths) {
    const { status, body: problem } = await send("POST", path, body);
    deepEqual([status, problem.code], [404, "identity.not_found"], path);
    equal(problem.errors?.[0].path, "holder" in body ? "/holder" : undefined);
  }
  equal((await realm.admin.send("POST", `/v1/identities/${identity}/undelete`)).status, 200);
  for (const [path, body] of paths) equal((await send("POST", path, body)).status, 201, path);
});

test("an identity that was deleted is paid by no alias, and its user moves no default mark", async (realm) => {
  const { name, account } = await realm.currency("9");
  const { identity, send } = await linkedUser(realm);
  const named = { alias: `paid-${identity}`, type: "identity", identity };
  equal((await realm.admin.send("POST", "/v1/aliases", named)).status, 201);
  const made = await send("POST", "/v1/accounts", { type: "virtual", asset: name, default: true });
  await realm.drain();
  const pay = () =>
    realm.admin.send("POST", "/v1/transactions", {
      source: { account },
      destination: { alias: named.alias },
      value: "1",
    });
  equal((await pay()).status, 201);
  equal((await realm.admin.send("DELETE", `/v1/identities/${identity}`)).status, 200);
  deepEqual([(await pay()).body.code, (await realm.balance(made.body.id)).total], [
    "alias.not_found",
    "1",
  ]);
  const mark = await send("PATCH", `/v1/accounts/${made.body.id}`, { default: false });
  deepEqual([mark.status, mark.body.code], [403, "permission.role"]);
  equal((await realm.admin.send("POST", `/v1/identities/${identity}/undelete`)).status, 200);
  equal((await pay()).status, 201);
});

/** A customer whose identity an administrator made, and owns. */
async function linkedUser(realm: TestRealm): Promise<{ identity: string; send: Send }> {
  const { id: identity } =
    (await realm.admin.send("POST", "/v1/identities", { data: { verified: false } })).body;
  const username = `linked-${identity}`;
  const made = await realm.admin.send("POST", "/v1/users", {
    username,
    password: PASSWORD,
    identity,
  });
  equal(made.status, 201, made.text);
  const { realm: { realm_key }, applicationKey } = realm.made;
  const asked = { realm_key, username, password: PASSWORD };
  const login = await realm.nobody("POST", "/v1/auth/login", asked, {
    "x-api-key": applicationKey,
  });
  equal(login.status, 200, login.text);
  const key = { "x-api-key": login.body["x-api-key"] };
  return { identity, send: (method, path, body) => realm.nobody(method, path, body, key) };
}
