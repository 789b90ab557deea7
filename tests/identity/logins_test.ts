import { deepEqual, equal, ok } from "node:assert/strict";
import { decodeJwt } from "jose";
import { insertLogin } from "../../db/identity/logins.ts";
import type { UserRow } from "../../db/identity/users.ts";
import { deleteOldLogins } from "../../db/records.ts";
import { agentOf } from "../../domain/identity/logins.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { totpCode } from "../../domain/security/totp.ts";
import {
  type Answer,
  PASSWORD,
  rowsOf,
  type Send,
  type TestRealm,
  testRealm,
} from "../support/realm.ts";
import { until } from "../support/eventually.ts";
import { sharing } from "../support/sharing.ts";

const FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";
const codeOf = ({ status, body }: Answer) => [status, body.code];

/** A login of a user: its id, and what sends with the key that it gave. */
interface Session {
  id: string;
  send: Send;
}

async function open(
  realm: TestRealm,
  username: string,
  headers: Record<string, string> = {},
  more: Record<string, unknown> = {},
): Promise<Session> {
  const body = { realm_key: realm.made.realm.realm_key, username, password: PASSWORD, ...more };
  const answer = await realm.nobody("POST", "/v1/auth/login", body, {
    "x-api-key": realm.made.applicationKey,
    ...headers,
  });
  equal(answer.status, 200, answer.text);
  const key = answer.body["x-api-key"];
  return {
    id: decodeJwt(key).jti!,
    send: (method, path, body, more) =>
      realm.nobody(method, path, body, { "x-api-key": key, ...more }),
  };
}

async function nameOf(realm: TestRealm, id: string): Promise<string> {
  const [row] = await rowsOf<{ username: string }>(
    realm,
    "select username from users where id = $1",
    [id],
  );
  return row.username;
}

Deno.test("a user sees its own logins: time, address, method, and no key", async () => {
  await using realm = await testRealm({ env: { TRUSTED_PROXIES: "127.0.0.1" } });
  const user = await realm.user();
  const name = await nameOf(realm, user.id);
  const first = await open(realm, name, {
    "x-forwarded-for": "203.0.113.7",
    "user-agent": FIREFOX,
  });
  const second = await open(realm, name, { "x-forwarded-for": "203.0.113.8" });
  await open(realm, "admin@test.example");
  await until(async () => {
    const { body } = await second.send("GET", "/v1/auth/logins");
    return body.find((login: { id: string }) => login.id === second.id).last_used_at !== null;
  });
  const { status, body, text } = await second.send("GET", "/v1/auth/logins");
  equal(status, 200);
  deepEqual(
    body.map((login: Record<string, unknown>) => [
      login.id,
      login.user,
      login.method,
      login.address,
      login.agent,
      login.current,
    ]),
    [
      [second.id, user.id, "password", "203.0.113.8", null, true],
      [first.id, user.id, "password", "203.0.113.7", "Firefox on Linux", false],
    ],
  );
  equal(body[1].last_used_at, null);
  ok(body[0].last_used_at >= body[0].created_at);
  ok(body[0].expires_at > Date.now());
  equal(/ey[A-Za-z]|Mozilla/.test(text), false, "neither a key nor the header");
});

const test = sharing("logins in one realm");

test("a login that is ended is refused everywhere within a second, and the others are not", async (realm) => {
  await using other = realm.another();
  const user = await realm.user();
  const name = await nameOf(realm, user.id);
  const [mine, lost] = [await open(realm, name), await open(realm, name)];
  const elsewhere = other.send(null);
  const key = { id: lost.id };
  equal((await lost.send("GET", "/v1/auth/me")).status, 200);
  const ended = await mine.send("DELETE", `/v1/auth/logins/${lost.id}`);
  deepEqual([ended.status, ended.body], [200, { ...key, ended: 1 }]);
  deepEqual(codeOf(await lost.send("GET", "/v1/auth/me")), [401, "auth.revoked"]);
  const third = await open(realm, name);
  let there: Answer | null = null;
  await third.send("GET", "/v1/auth/me", undefined, {});
  const login = await elsewhere("POST", "/v1/auth/login", {
    realm_key: realm.made.realm.realm_key,
    username: name,
    password: PASSWORD,
  }, { "x-api-key": realm.made.applicationKey });
  const fourth = { "x-api-key": login.body["x-api-key"] };
  equal((await elsewhere("GET", "/v1/auth/me", undefined, fourth)).status, 200);
  const others = await mine.send("DELETE", "/v1/auth/logins");
  deepEqual(others.body, { ended: 2 });
  await until(async () => {
    there = await elsewhere("GET", "/v1/auth/me", undefined, fourth);
    return there.status === 401;
  });
  deepEqual(codeOf(there!), [401, "auth.revoked"]);
  deepEqual(codeOf(await third.send("GET", "/v1/auth/me")), [401, "auth.revoked"]);
  equal((await mine.send("GET", "/v1/auth/me")).status, 200);
  const left = (await mine.send("GET", "/v1/auth/logins")).body;
  deepEqual(left.map((one: { id: string }) => one.id), [mine.id]);
  deepEqual(codeOf(await mine.send("DELETE", `/v1/auth/logins/${lost.id}`)), [
    404,
    "login.not_found",
  ]);
  deepEqual(codeOf(await mine.send("DELETE", "/v1/auth/logins/x")), [404, "login.not_found"]);
  const trail = (await realm.admin.send("GET", `/v1/audit?actor=${user.id}`)).body;
  const actions = trail.map((
    line: { action: string; entity: string },
  ) => [line.action, line.entity]);
  ok(
    actions.some(([action, entity]: string[]) =>
      action === "DELETE /v1/auth/logins/{id}" && entity === lost.id
    ),
  );
  ok(actions.some(([action]: string[]) => action === "DELETE /v1/auth/logins"));
});

test("an administrator of the realm ends a user's logins, and nobody else but the user", async (realm) => {
  const user = await realm.user();
  const name = await nameOf(realm, user.id);
  const [one, two] = [await open(realm, name), await open(realm, name)];
  const path = `/v1/users/${user.id}/logins`;
  const stranger = await realm.user();
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const narrow = await realm.user({ role: "admin" });
  const machine = (await realm.admin.send("POST", "/v1/keys", { name: "m" })).body.key;
  const byMachine: Send = (method, path) =>
    realm.nobody(method, path, undefined, { "x-api-key": machine });
  for (
    const [method, at] of [["GET", path], ["DELETE", path], [
      "DELETE",
      `${path}/${one.id}`,
    ]] as const
  ) {
    deepEqual(codeOf(await stranger.send(method, at)), [404, "user.not_found"], method);
    deepEqual(codeOf(await manager.send(method, at)), [403, "permission.role"], method);
    deepEqual(codeOf(await narrow.send(method, at)), [404, "user.not_found"], method);
    deepEqual(codeOf(await byMachine(method, at)), [401, "auth.invalid"], method);
  }
  const own = "/v1/auth/logins";
  for (const [method, at] of [["GET", own], ["DELETE", own], ["DELETE", `${own}/${one.id}`]]) {
    deepEqual(codeOf(await byMachine(method, at)), [401, "auth.invalid"], `${method} ${at}`);
  }
  deepEqual(codeOf(await stranger.send("DELETE", `/v1/auth/logins/${one.id}`)), [
    404,
    "login.not_found",
  ]);
  const foreign = `/v1/users/${stranger.id}/logins/${one.id}`;
  deepEqual(codeOf(await realm.admin.send("DELETE", foreign)), [404, "login.not_found"]);
  equal((await realm.admin.send("GET", path)).body.length, 2);
  equal((await realm.admin.send("DELETE", `${path}/${one.id}`)).status, 200);
  deepEqual(codeOf(await one.send("GET", "/v1/auth/me")), [401, "auth.revoked"]);
  equal((await two.send("GET", "/v1/auth/me")).status, 200);
  deepEqual((await realm.admin.send("DELETE", path)).body, { id: user.id, ended: 1 });
  deepEqual(codeOf(await two.send("GET", "/v1/auth/me")), [401, "auth.revoked"]);
  deepEqual(
    codeOf(await user.send("GET", "/v1/auth/me")),
    [401, "auth.revoked"],
    "any key it held",
  );
  deepEqual((await realm.admin.send("GET", path)).body, []);
});

test("all logins of a user end, also one from before the database's clock was set back", async (realm) => {
  const user = await realm.user();
  const [row] = await rowsOf<UserRow>(realm, "select * from users where id = $1", [user.id]);
  const at = Date.now() + 3_600_000; // by a clock that was an hour ahead
  const claims = claimsOf(row, realm.made.realm, at, 3600);
  const login = { id: claims.jti, user_id: user.id, method: "password" as const };
  const facts = { address: null, agent: null, expires_at: at + 3_600_000, created_at: at };
  await realm.command((tx) => insertLogin(tx, { ...login, ...facts }));
  const key = { "x-api-key": await realm.services.signingKeys.sign(claims) };
  const me = () => realm.nobody("GET", "/v1/auth/me", undefined, key);
  equal((await me()).status, 200);
  const answer = await realm.admin.send("DELETE", `/v1/users/${user.id}/logins`);
  deepEqual(answer.body, { id: user.id, ended: 1 });
  deepEqual(codeOf(await me()), [401, "auth.revoked"]);
});

test("logins are taken after all of a user's were ended by a clock that was ahead, and end again", async (realm) => {
  const user = await realm.user();
  const name = await nameOf(realm, user.id);
  const path = `/v1/users/${user.id}/logins`;
  const ahead = Date.now() + 3_600_000;
  // As revokeUser() left it while the database's clock was an hour ahead.
  await realm.command((tx) =>
    tx`with until as (update users set keys_until = ${ahead} where id = ${user.id})
      insert into revocations (id, user_id, issued_before, expires_at, created_at)
      values (gen_random_uuid(), ${user.id}, ${ahead}, ${ahead + 86_400_000}, ${ahead})`
      .then(() => {})
  );
  for (let times = 0; times < 3; times++) {
    const [one, two] = [await open(realm, name), await open(realm, name)];
    await until(async () => codeOf(await user.send("GET", "/v1/auth/me"))[1] === "auth.revoked");
    for (const { send } of [one, two]) equal((await send("GET", "/v1/auth/me")).status, 200);
    const [{ created_at, expires_at }] = (await one.send("GET", "/v1/auth/logins")).body;
    ok(created_at < ahead && expires_at < ahead + 86_400_000 - 1_800_000, "by the present clock");
    deepEqual((await realm.admin.send("DELETE", path)).body, { id: user.id, ended: 2 });
    for (const { send } of [one, two]) {
      deepEqual(codeOf(await send("GET", "/v1/auth/me")), [401, "auth.revoked"]);
    }
  }
});

test("logout, a new password and changed rights take logins off the list", async (realm) => {
  const user = await realm.user();
  const name = await nameOf(realm, user.id);
  const list = async () =>
    (await realm.admin.send("GET", `/v1/users/${user.id}/logins`)).body.length;
  const [one] = [await open(realm, name), await open(realm, name)];
  equal(await list(), 2);
  equal((await one.send("POST", "/v1/auth/logout")).status, 200);
  equal(await list(), 1);
  await realm.admin.send("PATCH", `/v1/users/${user.id}`, { active: false });
  equal(await list(), 0);
});

test("logins have a bound: one more ends the oldest, and expired ones are forgotten in slices", async (realm) => {
  const user = await realm.user();
  const name = await nameOf(realm, user.id);
  const oldest = await open(realm, name);
  await realm.command((tx) =>
    tx`insert into logins (id, user_id, method, expires_at, created_at)
      select gen_random_uuid(), ${user.id}, 'password', now() + interval '1 hour',
        now() + i * interval '1 millisecond' from generate_series(1, 99) i`.then(() => {})
  );
  equal((await oldest.send("GET", "/v1/auth/logins")).body.length, 100);
  await open(realm, name);
  await until(async () => (await oldest.send("GET", "/v1/auth/me")).body.code === "auth.revoked");
  const path = `/v1/users/${user.id}/logins`;
  equal((await realm.admin.send("GET", path)).body.length, 100);
  await realm.command((tx) =>
    tx`insert into logins (id, user_id, method, expires_at, created_at)
      select gen_random_uuid(), ${user.id}, 'password', now() - interval '1 hour',
        now() - interval '2 hours' from generate_series(1, 30)`.then(() => {})
  );
  const slices: number[] = [];
  do slices.push(await realm.command((tx) => deleteOldLogins(tx, 20))); while (slices.at(-1)! > 0);
  deepEqual(slices, [20, 10, 0]);
  equal((await realm.admin.send("GET", path)).body.length, 100);
});

test("a hundred requests write down one use of a login", async (realm) => {
  const statements: string[] = [];
  await using other = realm.another({}, (text) => statements.push(text));
  const send = other.send(realm.admin.key);
  for (let i = 0; i < 100; i++) equal((await send("GET", "/v1/auth/me")).status, 200);
  await until(() => Promise.resolve(statements.some((text) => text.includes("update logins"))));
  equal(statements.filter((text) => text.includes("update logins")).length, 1);
});

test("a login says whether a code or a recovery code came with the password", async (realm) => {
  const user = await realm.user();
  const name = await nameOf(realm, user.id);
  const path = `/v1/users/${user.id}/totp`;
  const { secret } = (await user.send("POST", path)).body;
  // That the next one is taken already leaves half a minute: the present one may just be ending.
  const step = Math.floor(Date.now() / 30_000);
  const confirm = { code: totpCode(secret, step) };
  const { recovery_codes } = (await user.send("POST", `${path}/confirm`, confirm)).body;
  await open(realm, name, {}, { code: totpCode(secret, step + 1) });
  const last = await open(realm, name, {}, { code: recovery_codes[0] });
  const { body } = await last.send("GET", "/v1/auth/logins");
  deepEqual(body.map((login: { method: string }) => login.method), ["recovery_code", "totp"]);
});

Deno.test("agentOf() names a kind of program, and keeps nothing else of the header", () => {
  for (
    const [header, kind] of [
      [FIREFOX, "Firefox on Linux"],
      [
        "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537 Chrome/150.0 Safari/537 Edg/150",
        "Edge on Windows",
      ],
      ["Mozilla/5.0 (iPhone; CPU iPhone OS 19) Version/19 Mobile Safari/604", "Safari on iOS"],
      ["curl/8.9", "curl"],
      ["python-requests/2", "a program"],
      ["<script>alert(1)</script>", "another program"],
      ["", "another program"],
    ]
  ) equal(agentOf(header), kind);
  equal(agentOf(null), null);
});
