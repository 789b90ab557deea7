/** Users: made, changed, deleted, restored; their keys end, the last administrator stays. @module */
import { deepEqual, equal, match, notEqual } from "node:assert/strict";
import { PASSWORD, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("users in one realm");

test("POST /v1/users makes a user with cumulative roles and an identity of its own", async (realm) => {
  const { status, body } = await realm.admin.send("POST", "/v1/users", {
    username: "grace",
    password: PASSWORD,
    roles: "manage",
    scopes: "realm",
    channel: { phone: "+15550001", email: "grace@test.example" },
    data: { note: "x" },
  });
  equal(status, 201);
  deepEqual([body.roles, body.scopes, body.active], ["manage,user", "realm,own", true]);
  equal(body.owner, realm.admin.id);
  match(body.password, /^[0-9a-f]{32}$/);
  const identity = await realm.admin.send("GET", `/v1/identities/${body.identity}`);
  deepEqual([identity.body.owner, identity.body.country], [body.id, "US"]);
  const again = await realm.admin.send("POST", "/v1/users", {
    username: "grace",
    password: PASSWORD,
  });
  deepEqual([again.status, again.body.code], [409, "username.taken"]);
  const [{ verifier }] = await rowsOf<{ verifier: string }>(
    realm,
    "select verifier from users where username = $1",
    ["grace"],
  );
  match(verifier, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
});

test("PATCH /v1/users/<id> changes the given fields and leaves the rest", async (realm) => {
  const user = await realm.user();
  const change = { channel: { phone: "+15550002" }, data: { a: 1 } };
  const { status, body } = await user.send("PATCH", `/v1/users/${user.id}`, change);
  equal(status, 200);
  deepEqual([body.channel, body.data, body.roles], [change.channel, change.data, "user"]);
  equal(typeof body.updated_at, "number");
  equal((await user.send("GET", "/v1/auth/me")).status, 200); // its key goes on
  const other = await realm.user();
  const { username } = (await other.send("GET", "/v1/auth/me")).body;
  const taken = await user.send("PATCH", `/v1/users/${user.id}`, { username });
  deepEqual([taken.status, taken.body.code], [409, "username.taken"]);
});

test("a user's keys end with its password, roles, scopes, activity and life", async (realm) => {
  const changes = [
    { password: "another horse battery" },
    { roles: "manage" },
    { scopes: "realm" },
    { active: false },
  ];
  for (const change of changes) {
    const user = await realm.user();
    const changed = await realm.admin.send("PATCH", `/v1/users/${user.id}`, change);
    equal(changed.status, 200, changed.text);
    const { status, body } = await user.send("GET", "/v1/auth/me");
    deepEqual([status, body.code], [401, "auth.revoked"], JSON.stringify(change));
  }
  const user = await realm.user();
  equal((await realm.admin.send("DELETE", `/v1/users/${user.id}`)).body.deleted, true);
  equal((await user.send("GET", "/v1/auth/me")).body.code, "auth.revoked");
});

test("a login after a change takes the new password, and no deleted or inactive user logs in", async (realm) => {
  const made = { username: "henry", password: PASSWORD };
  const { id } = (await realm.admin.send("POST", "/v1/users", made)).body;
  const before = await logIn(realm, "henry", PASSWORD);
  equal(before.status, 200);
  const change = { password: "another horse battery" };
  const changed = await realm.admin.send("PATCH", `/v1/users/${id}`, change);
  notEqual(changed.body.password, undefined);
  equal((await logIn(realm, "henry", PASSWORD)).body.code, "auth.credentials");
  equal((await logIn(realm, "henry", change.password)).status, 200);
  await realm.admin.send("PATCH", `/v1/users/${id}`, { active: "false" });
  equal((await logIn(realm, "henry", change.password)).body.code, "auth.credentials");
  await realm.admin.send("PATCH", `/v1/users/${id}`, { active: true });
  await realm.admin.send("DELETE", `/v1/users/${id}`);
  equal((await logIn(realm, "henry", change.password)).body.code, "auth.credentials");
  equal((await realm.admin.send("POST", `/v1/users/${id}/undelete`)).body.deleted, undefined);
  equal((await logIn(realm, "henry", change.password)).status, 200);
});

test("the last administrator of a realm stays, whatever is tried", async (realm) => {
  const self = `/v1/users/${realm.admin.id}`;
  const tries = [
    () => realm.admin.send("DELETE", self),
    () => realm.admin.send("PATCH", self, { active: false }),
    () => realm.admin.send("PATCH", self, { roles: "manage" }),
    () => realm.admin.send("PATCH", self, { scopes: "own" }),
  ];
  for (const attempt of tries) {
    const { status, body } = await attempt();
    deepEqual([status, body.code], [409, "user.last_admin"]);
  }
  equal((await realm.admin.send("GET", "/v1/auth/me")).status, 200);
});

test("of two administrators that remove each other at once one stays", async (realm) => {
  for (let round = 0; round < 5; round++) {
    const second = await realm.user({ role: "admin", scope: "realm" });
    const answers = await Promise.all([
      realm.admin.send("PATCH", `/v1/users/${realm.admin.id}`, { active: false }),
      second.send("DELETE", `/v1/users/${second.id}`),
    ]);
    deepEqual(answers.map((answer) => answer.status).sort(), [200, 409], `round ${round}`);
    const [{ n }] = await rowsOf<{ n: string }>(
      realm,
      `select count(*) as n from users where active and deleted_at is null
        and 'admin' = any (roles) and 'realm' = any (scopes)`,
    );
    equal(n, "1");
    if (answers[1].status === 200) continue; // the first one is still there
    const sender = second.send;
    equal((await sender("PATCH", `/v1/users/${realm.admin.id}`, { active: true })).status, 200);
    return;
  }
});

Deno.test("a change under an idempotency key happens once", async () => {
  await using realm = await testRealm();
  const user = await realm.user();
  const key = { "idempotency-key": "change" };
  const path = `/v1/users/${user.id}`;
  const first = await realm.admin.send("PATCH", path, { data: { n: 1 } }, key);
  await realm.admin.send("PATCH", path, { data: { n: 2 } });
  const second = await realm.admin.send("PATCH", path, { data: { n: 1 } }, key);
  deepEqual([second.text, second.headers.get("idempotency-replayed")], [first.text, "true"]);
  deepEqual((await user.send("GET", path)).body.data, { n: 2 });
});

async function logIn(realm: TestRealm, username: string, password: string) {
  const body = { realm_key: realm.made.realm.realm_key, username, password };
  return await realm.nobody("POST", "/v1/auth/login", body, {
    "x-api-key": realm.made.applicationKey,
  });
}
