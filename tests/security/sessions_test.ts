import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from "jose";
import { drawLoginEpoch, insertSigningKey } from "../../db/realms/realms.ts";
import { reading, serializable } from "../../db/transaction.ts";
import { openRealmContexts } from "../../domain/realms/context.ts";
import { openSigningKeys } from "../../domain/security/signing_keys.ts";
import { newId } from "../../domain/ids.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { PASSWORD, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { until } from "../support/eventually.ts";

const test = sharing("logins and keys in one realm");

/** Logs in with the application key. */
async function logIn(realm: TestRealm, path: string, login: Record<string, unknown>) {
  const body = { realm_key: realm.made.realm.realm_key, password: PASSWORD, ...login };
  return await realm.nobody("POST", path, body, { "x-api-key": realm.made.applicationKey });
}

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [
  status,
  body.code,
];

test("each of the three logins gives a key that works, in either header", async (realm) => {
  const user = await realm.user();
  const [{ username }] = await rowsOf<{ username: string }>(
    realm,
    "select username from users where id = $1",
    [user.id],
  );
  const answers = [
    await logIn(realm, "/v1/auth/admins/login", { email: "ADMIN@test.example" }),
    await logIn(realm, "/v1/auth/admins/login", { username: "admin@test.example" }),
    await logIn(realm, "/v1/auth/users/login", { username }),
    await logIn(realm, "/v1/auth/login", { username }),
  ];
  const [installation] = await reading(
    realm.services.platform,
    (db) => db<{ id: string }[]>`select id from installation`,
  );
  const issuer = `urn:purser:${installation.id}`;
  for (const { status, body } of answers) {
    equal(status, 200);
    deepEqual(Object.keys(body).sort(), ["expires_at", "x-api-key"]);
    const key = body["x-api-key"];
    const claims = decodeJwt(key);
    equal(claims.realm, realm.id);
    equal(claims.iss, issuer);
    equal(claims.auth_time, claims.iat);
    equal(claims.exp! * 1000, body.expires_at);
    for (
      const headers of [
        { "x-api-key": key },
        { authorization: key },
        { authorization: `Bearer ${key}` },
        { authorization: `bearer  ${key}`, "x-api-key": "" },
      ] as Record<string, string>[]
    ) {
      const me = await realm.nobody("GET", "/v1/auth/me", undefined, headers);
      equal(me.status, 200);
      equal(me.body.id, claims.sub);
      equal(me.body.realm, realm.id);
    }
  }
});

test("admins log in as such only with role admin and scope realm", async (realm) => {
  for (const rights of [{ role: "admin" }, { role: "manage", scope: "realm" }] as const) {
    const user = await realm.user(rights);
    const [{ username }] = await rowsOf<{ username: string }>(
      realm,
      "select username from users where id = $1",
      [user.id],
    );
    const asAdmin = await logIn(realm, "/v1/auth/admins/login", { username });
    deepEqual(codeOf(asAdmin), [401, "auth.credentials"]);
    equal((await logIn(realm, "/v1/auth/login", { username })).status, 200);
  }
});

test("unknown users, wrong passwords and foreign realm keys get one answer", async (realm) => {
  await using other = await realm.neighbour();
  const path = "/v1/auth/login";
  const wrong = await logIn(realm, path, { username: "admin@test.example", password: "no" });
  const unknown = await logIn(realm, path, { username: "nobody", password: "no" });
  const foreign = await logIn(realm, path, {
    username: "admin@test.example",
    realm_key: other.made.realm.realm_key,
  });
  const garbage = await logIn(realm, path, { username: "x", realm_key: "not a key" });
  for (const answer of [wrong, unknown, foreign, garbage]) {
    deepEqual(codeOf(answer), [401, "auth.credentials"]);
    equal(answer.body.detail, wrong.body.detail);
  }
  const body = { realm_key: realm.made.realm.realm_key, username: "a", password: PASSWORD };
  const keyless = await realm.nobody("POST", path, body);
  deepEqual(codeOf(keyless), [401, "auth.missing"]);
  const unkeyed = await realm.nobody("POST", path, body, { "x-api-key": "app_unknown" });
  deepEqual(codeOf(unkeyed), [401, "auth.invalid"]);
  deepEqual(codeOf(await realm.admin.send("POST", path, body)), [401, "auth.invalid"]);
});

test("an application key does nothing but log in", async (realm) => {
  const headers = { "x-api-key": realm.made.applicationKey };
  for (const [method, path] of [["GET", "/v1/auth/me"], ["POST", "/v1/auth/logout"]]) {
    deepEqual(codeOf(await realm.nobody(method, path, undefined, headers)), [401, "auth.invalid"]);
  }
  const realms = await realm.nobody("GET", "/v1/realms", undefined, headers);
  deepEqual(codeOf(realms), [401, "auth.invalid"]);
  const users = await realm.nobody("GET", `/v1/realms/${realm.id}`, undefined, headers);
  deepEqual(codeOf(users), [401, "auth.invalid"]);
});

test("keys that are not ours are refused, whatever is wrong with them", async (realm) => {
  const [head, payload, signature] = realm.admin.key.split(".");
  const encode = (value: unknown) =>
    btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const header = JSON.parse(atob(head));
  const claims = decodeJwt(realm.admin.key);
  const { privateKey, publicKey } = await generateKeyPair("EdDSA", { crv: "Ed25519" });
  const sign = (kid: string, more: Record<string, unknown> = {}) =>
    new SignJWT({ ...claims, ...more }).setProtectedHeader({ alg: "EdDSA", kid }).sign(privateKey);
  const secret = new TextEncoder().encode(JSON.stringify(await exportJWK(publicKey)));
  const changed = signature.startsWith("A") ? "B" : "A";
  const keys = {
    garbage: "garbage",
    dots: "..",
    words: "a.b.c",
    none: `${encode({ ...header, alg: "none" })}.${payload}.`,
    "none, signed": `${encode({ ...header, alg: "none" })}.${payload}.${signature}`,
    hs256: await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: header.kid })
      .sign(secret),
    claim: `${head}.${
      encode({ ...claims, roles: "admin,manage,user", sub: newId(1) })
    }.${signature}`,
    "other key": await sign(header.kid),
    "other kid": await sign(newId(Date.now())),
    "no kid": `${encode({ alg: "EdDSA" })}.${payload}.${signature}`,
    "kid of NUL": await sign("\0"),
    "kid of SQL": await sign("' or 1=1 --"),
    "embedded key": `${
      encode({ ...header, jwk: await exportJWK(publicKey) })
    }.${payload}.${signature}`,
    "changed signature": `${head}.${payload}.${changed}${signature.slice(1)}`,
    "cut signature": `${head}.${payload}.${signature.slice(0, 20)}`,
    "platform key": "platform-key-of-the-tests",
    long: "a".repeat(8000),
  };
  for (const [name, key] of Object.entries(keys)) {
    const answer = await realm.nobody("GET", "/v1/auth/me", undefined, { "x-api-key": key });
    deepEqual(codeOf(answer), [401, "auth.invalid"], name);
  }
});

test("a key holds in every process of the installation, whatever its address is", async (realm) => {
  await using moved = realm.another({ BASE_URL: "https://other.test", PORT: "28182" });
  const login = await moved.send(realm.made.applicationKey)("POST", "/v1/auth/login", {
    realm_key: realm.made.realm.realm_key,
    username: "admin@test.example",
    password: PASSWORD,
  });
  equal(login.status, 200);
  for (
    const [key, send] of [
      [realm.admin.key, moved.send],
      [login.body["x-api-key"], (_key: string | null) => realm.nobody],
    ] as const
  ) {
    const me = await send(key)("GET", "/v1/auth/me", undefined, { "x-api-key": key });
    equal(me.status, 200);
    equal(me.body.id, realm.admin.id);
  }
});

test("a key of another installation is refused, even one signed by a key published here", async (realm) => {
  const { privateKey, publicKey } = await generateKeyPair("EdDSA", { crv: "Ed25519" });
  const kid = newId(Date.now());
  const jwk = { ...await exportJWK(publicKey), kid, alg: "EdDSA", use: "sig" };
  await serializable(
    realm.services.platform,
    (tx) =>
      insertSigningKey(tx, { kid, jwk, created_at: Date.now(), expires_at: Date.now() + 60_000 }),
  );
  const claims = decodeJwt(realm.admin.key);
  const send = async (iss: string) => {
    const key = await new SignJWT({ ...claims, iss, jti: newId(Date.now()) })
      .setProtectedHeader({ alg: "EdDSA", kid }).sign(privateKey);
    return codeOf(await realm.nobody("GET", "/v1/auth/me", undefined, { "x-api-key": key }));
  };
  equal((await send(claims.iss!))[0], 200);
  for (const iss of [`urn:purser:${crypto.randomUUID()}`, "http://purser.test"]) {
    deepEqual(await send(iss), [401, "auth.invalid"], iss);
  }
});

test("a key expires, also one that is remembered", async (realm) => {
  const { services } = realm;
  const at = Date.now();
  const short = await services.signingKeys.sign(
    claimsOf(realm.made.admin, realm.made.realm, at, 60),
  );
  const past = await services.signingKeys.sign(
    claimsOf(realm.made.admin, realm.made.realm, at - 10_000, 5),
  );
  const send = (key: string) => realm.nobody("GET", "/v1/auth/me", undefined, { "x-api-key": key });
  deepEqual(codeOf(await send(past)), [401, "auth.expired"]);
  equal((await send(short)).status, 200);
  const real = services.now;
  services.now = () => real() + 61_000;
  deepEqual(codeOf(await send(short)), [401, "auth.expired"]);
  services.now = real;
});

test("logout ends the key in use at once here, and within a second in another process", async (realm) => {
  await using other = realm.another();
  const user = await realm.user();
  const there = other.send(user.key);
  equal((await there("GET", "/v1/auth/me")).status, 200);
  equal((await user.send("POST", "/v1/auth/logout")).status, 200);
  deepEqual(codeOf(await user.send("GET", "/v1/auth/me")), [401, "auth.revoked"]);
  await until(async () => (await there("GET", "/v1/auth/me")).status !== 200);
  deepEqual(codeOf(await there("GET", "/v1/auth/me")), [401, "auth.revoked"]);
});

test("a new password ends all keys of its user within a second, everywhere", async (realm) => {
  await using other = realm.another();
  const user = await realm.user();
  const there = other.send(user.key);
  equal((await there("GET", "/v1/auth/me")).status, 200);
  const changed = await realm.admin.send("PATCH", `/v1/users/${user.id}`, {
    password: "another horse battery",
  });
  equal(changed.status, 200);
  await until(async () => (await there("GET", "/v1/auth/me")).status !== 200);
  const { username } = changed.body;
  const old = await logIn(realm, "/v1/auth/login", { username });
  deepEqual(codeOf(old), [401, "auth.credentials"]);
  const login = { username, password: "another horse battery" };
  const fresh = await logIn(realm, "/v1/auth/login", login);
  equal((await other.send(fresh.body["x-api-key"])("GET", "/v1/auth/me")).status, 200);
});

Deno.test("a login after a restore gives a key that works at once in the process that gave it, and those of before end there", async () => {
  await using realm = await testRealm();
  const at = Date.now(); // what it knows does not age
  Object.assign(realm.services, { realms: openRealmContexts(realm.database, () => at) });
  const me = (key: string) =>
    realm.nobody("GET", "/v1/auth/me", undefined, { "x-api-key": key }).then(codeOf);
  deepEqual(await me(realm.admin.key), [200, undefined]);
  await serializable(realm.services.platform, (tx) => drawLoginEpoch(tx, realm.id));
  const anew = await logIn(realm, "/v1/auth/login", { username: "admin@test.example" });
  deepEqual(await me(anew.body["x-api-key"]), [200, undefined]);
  deepEqual(await me(realm.admin.key), [401, "auth.revoked"]);
});

test("a signing key is replaced without logging anyone out, and both are published", async (realm) => {
  await using other = realm.another();
  let at = Date.now();
  const signingKeys = openSigningKeys({
    platform: realm.services.platform,
    userKeyTtlS: 86_400,
    now: () => at,
  });
  const sign = () =>
    signingKeys.sign(claimsOf(realm.made.admin, realm.made.realm, Date.now(), 86_400));
  const kidOf = (key: string) => JSON.parse(atob(key.split(".")[0])).kid;
  const old = await sign();
  equal(kidOf(await sign()), kidOf(old));
  at += 25 * 3600 * 1000;
  const fresh = await sign();
  notEqual(kidOf(fresh), kidOf(old));
  for (const key of [old, fresh]) {
    equal((await other.send(key)("GET", "/v1/auth/me")).status, 200);
  }
  const set = await other.send(null)("GET", "/.well-known/jwks.json");
  const kids = set.body.keys.map((key: { kid: string }) => key.kid);
  ok(kids.includes(kidOf(old)) && kids.includes(kidOf(fresh)));
  for (const key of set.body.keys) {
    deepEqual(Object.keys(key).sort(), ["alg", "crv", "kid", "kty", "use", "x"]);
  }
});

Deno.test("administrators' routes answer only at their own host, where there is one", async () => {
  await using realm = await testRealm({ env: { ADMIN_URL: "http://admin.purser.test" } });
  const email = "admin@test.example";
  const login = { realm_key: realm.made.realm.realm_key, email, password: PASSWORD };
  const headers = { "x-api-key": realm.made.applicationKey };
  const at = (host: string) =>
    realm.nobody("POST", `http://${host}/v1/auth/admins/login`, login, headers);
  deepEqual(codeOf(await at("purser.test")), [404, "route.not_found"]);
  equal((await at("admin.purser.test")).status, 200);
  const list = (host: string) => realm.operator("GET", `http://${host}/v1/realms`);
  deepEqual(codeOf(await list("purser.test")), [404, "route.not_found"]);
  for (const host of ["admin.purser.test:8443", "admin.purser.test.", "Admin.Purser.Test:"]) {
    equal((await list(host)).status, 200, host);
  }
  const credits = `/v1/realms/${realm.id}/credits/available`;
  equal((await realm.admin.send("GET", `http://purser.test${credits}`)).status, 200);
});

Deno.test("five wrong logins of a user in a minute stop the sixth, also all at once", async () => {
  await using realm = await testRealm();
  const username = "admin@test.example";
  const began = Date.now();
  const wrong = await Promise.all(
    Array.from(
      { length: 9 },
      (_, i) =>
        i % 2 === 0
          ? logIn(realm, "/v1/auth/login", { username, password: "wrong" })
          : logIn(realm, "/v1/auth/admins/login", { email: username, password: "wrong" }),
    ),
  );
  equal(wrong.filter((answer) => answer.status === 401).length, 5);
  const limited = wrong.filter((answer) => answer.status === 429);
  equal(limited.length, 4);
  const tookS = (Date.now() - began) / 1000;
  for (const { body, headers } of limited) {
    equal(body.code, "rate.limited");
    const seconds = Number(headers.get("retry-after"));
    ok(seconds >= 60 - Math.ceil(tookS) && seconds <= 60, `${seconds} after ${tookS} s`);
  }
  const right = await logIn(realm, "/v1/auth/login", { username });
  equal(right.status, 429, "the right password is not looked at either");
  const other = await realm.user();
  const [row] = await rowsOf<{ username: string }>(
    realm,
    "select username from users where id = $1",
    [other.id],
  );
  equal((await logIn(realm, "/v1/auth/login", { username: row.username })).status, 200);
});

Deno.test("right logins are not counted, however many come at once", async () => {
  await using realm = await testRealm();
  const username = "admin@test.example";
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => logIn(realm, "/v1/auth/login", { username })),
  );
  deepEqual(new Set(answers.map((answer) => answer.status)), new Set([200]));
});

Deno.test("thirty wrong logins from an address stop the next, in every process", async () => {
  await using realm = await testRealm();
  await using other = realm.another();
  const login = (i: number, send = realm.nobody) =>
    send("POST", "/v1/auth/login", {
      realm_key: realm.made.realm.realm_key,
      username: `nobody-${i}`,
      password: "wrong",
    }, { "x-api-key": realm.made.applicationKey });
  for (let i = 0; i < 30; i += 10) {
    const some = await Promise.all(Array.from({ length: 10 }, (_, k) => login(i + k)));
    deepEqual(new Set(some.map((answer) => answer.status)), new Set([401]));
  }
  const last = await login(30, other.send(null));
  deepEqual(codeOf(last), [429, "rate.limited"]);
});

Deno.test("logins are in the trail, with those that were refused", async () => {
  await using realm = await testRealm();
  await logIn(realm, "/v1/auth/login", { username: "admin@test.example", password: "wrong" });
  await logIn(realm, "/v1/auth/login", { username: "admin@test.example" });
  await logIn(realm, "/v1/auth/login", { username: "nobody" });
  const rows = await rowsOf(
    realm,
    "select actor, action, entity, address from audit where action like '%login%' order by id",
  );
  const me = realm.admin.id;
  const address = "127.0.0.1";
  const refused = "POST /v1/auth/login refused";
  deepEqual(rows.map((row) => ({ ...row as object })), [
    { actor: null, action: refused, entity: me, address },
    { actor: me, action: "POST /v1/auth/login", entity: me, address },
    { actor: null, action: refused, entity: null, address },
  ]);
});
