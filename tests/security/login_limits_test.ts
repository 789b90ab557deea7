import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { openLoginGuard } from "../../routes/http/login_guard.ts";
import { PASSWORD, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { BESIDE } from "../support/statement_texts.ts";

const BEHIND_PROXY = { env: { TRUSTED_PROXIES: "127.0.0.1" } };
const ADMIN = "admin@test.example";

/** Logs in from an address; gives status and answer. */
async function logIn(
  realm: TestRealm,
  address: string,
  login: Record<string, unknown>,
  path = "/v1/auth/login",
) {
  const body = { realm_key: realm.made.realm.realm_key, password: "wrong", ...login };
  return await realm.nobody("POST", path, body, {
    "x-api-key": realm.made.applicationKey,
    "x-forwarded-for": address,
  });
}

async function usernameOf(realm: TestRealm, id: string): Promise<string> {
  const [row] = await rowsOf<{ username: string }>(
    realm,
    "select username from users where id = $1",
    [id],
  );
  return row.username;
}

Deno.test("wrong logins cost their realm no credits and none of its requests a second", async () => {
  await using realm = await testRealm({ ...BEHIND_PROXY, tier: "free" });
  const left = async () =>
    (await realm.admin.send("GET", `/v1/realms/${realm.id}/credits/available`)).body.credits;
  const before = await left();
  const statuses = [];
  for (let i = 0; i < 12; i++) {
    statuses.push((await logIn(realm, `192.0.2.${i}`, { username: `nobody-${i}` })).status);
  }
  deepEqual(new Set(statuses), new Set([401]));
  equal(await left(), before);
  const right = await logIn(realm, "192.0.2.99", { username: ADMIN, password: PASSWORD });
  equal(right.status, 200);
  equal(await left(), before - 2, "a login that gives a key is a write");
});

Deno.test("wrong tries lock out no caller from another network", async () => {
  await using realm = await testRealm(BEHIND_PROXY);
  for (let i = 0; i < 5; i++) {
    equal((await logIn(realm, "192.0.2.1", { username: ADMIN })).status, 401);
  }
  const sixth = await logIn(realm, "192.0.2.1", { username: ADMIN, password: PASSWORD });
  equal(sixth.status, 429, "not even the right password from there");
  equal((await logIn(realm, "192.0.2.2", { username: ADMIN, password: PASSWORD })).status, 200);
  const path = "/v1/auth/admins/login";
  const asAdmin = await logIn(realm, "2001:db8::1", { email: ADMIN, password: PASSWORD }, path);
  equal(asAdmin.status, 200);
});

Deno.test("an administrator's name counts whatever e-mail address is given beside it, which must be its own", async () => {
  await using realm = await testRealm(BEHIND_PROXY);
  const path = "/v1/auth/admins/login";
  const username = await usernameOf(realm, realm.admin.id);
  const named = (address: string, email: string, password: string) =>
    logIn(realm, address, { email, username, password }, path);
  const others = await named("192.0.2.1", "nobody@test.example", PASSWORD);
  deepEqual([others.status, others.body.code], [401, "auth.credentials"]);
  const statuses = [];
  for (let i = 0; i < 6; i++) {
    statuses.push((await named("192.0.2.2", `nobody-${i}@test.example`, "wrong")).status);
  }
  deepEqual(statuses, [401, 401, 401, 401, 401, 429]);
  equal((await named("192.0.2.3", ADMIN, PASSWORD)).status, 200);
});

Deno.test("tries on one name from many networks end, but not where its user is known to be", async () => {
  await using realm = await testRealm(BEHIND_PROXY);
  const home = "198.51.100.7";
  equal((await logIn(realm, home, { username: ADMIN, password: PASSWORD })).status, 200);
  for (let i = 0; i < 100; i += 20) {
    const some = Array.from(
      { length: 20 },
      (_, k) => logIn(realm, `192.0.2.${(i + k) % 25}`, { username: ADMIN }),
    );
    deepEqual(new Set((await Promise.all(some)).map(({ status }) => status)), new Set([401]));
  }
  equal((await logIn(realm, "192.0.2.200", { username: ADMIN })).status, 429);
  equal((await logIn(realm, home, { username: ADMIN, password: PASSWORD })).status, 200);
});

Deno.test("wrong logins count alike at both routes, whether there is such a user or not", async () => {
  await using realm = await testRealm(BEHIND_PROXY);
  const user = await realm.user();
  const names = [await usernameOf(realm, user.id), ADMIN, `nobody-${crypto.randomUUID()}`];
  const answers = [];
  for (const [i, name] of names.entries()) {
    const seen = [];
    for (let n = 0; n < 5; n++) {
      seen.push((await logIn(realm, `192.0.2.${i}`, { username: name })).status);
    }
    const path = "/v1/auth/admins/login";
    seen.push((await logIn(realm, `192.0.2.${i}`, { username: name }, path)).status);
    seen.push((await logIn(realm, `192.0.2.${i}`, { username: name.toUpperCase() })).status);
    answers.push(seen);
  }
  for (const seen of answers) deepEqual(seen, [401, 401, 401, 401, 401, 429, 429]);
  const subjects = await rowsOf<{ subject: string }>(realm, "select subject from login_attempts");
  ok(subjects.every(({ subject }) => !names.some((name) => subject.includes(name))));
});

Deno.test("made-up keys are refused without a query, right ones still let in", async () => {
  await using realm = await testRealm();
  const statements: string[] = [];
  await using other = realm.another(BEHIND_PROXY.env, (text) => statements.push(text));
  const send = (key: string, address: string, more: Record<string, unknown> = {}) =>
    other.send(key)("POST", "/v1/auth/login", {
      realm_key: realm.made.realm.realm_key,
      username: ADMIN,
      password: PASSWORD,
      ...more,
    }, { "x-forwarded-for": address });
  equal((await send(realm.made.applicationKey, "192.0.2.1")).status, 200);
  for (let i = 0; i < 30; i++) {
    equal((await send(`app_${crypto.randomUUID()}`, "192.0.2.1")).status, 401);
  }
  statements.length = 0;
  for (let i = 0; i < 10; i++) {
    equal((await send(`app_${crypto.randomUUID()}`, "192.0.2.1")).status, 429);
  }
  deepEqual(statements.filter((text) => text.includes("application_keys")), []);
  equal(
    (await send(`app_${crypto.randomUUID()}`, "192.0.2.2")).status,
    401,
    "of that network alone",
  );
  equal((await send(realm.made.applicationKey, "192.0.2.1")).status, 200);
  const realmKeys = Array.from({ length: 30 }, () => ({ realm_key: crypto.randomUUID() }));
  for (const wrong of realmKeys) {
    equal((await send(realm.made.applicationKey, "192.0.2.3", wrong)).status, 401);
  }
  statements.length = 0;
  equal((await send(realm.made.applicationKey, "192.0.2.3", realmKeys[0])).status, 429);
  deepEqual(statements.filter((text) => text.includes("application_keys")), []);
  let status = 401;
  for (let i = 0; status === 401 && i < 40; i++) {
    ({ status } = await send(realm.made.applicationKey, "192.0.2.4", { username: `nobody-${i}` }));
  }
  equal(status, 429);
  statements.length = 0;
  equal((await send(realm.made.applicationKey, "192.0.2.4")).status, 429, "whatever the name");
  const asked = statements.filter((text) => !BESIDE.test(text.trim()));
  deepEqual(asked, [], "right keys of a network that has used up its tries: no look either");
  equal((await send(realm.made.applicationKey, "192.0.2.1")).status, 200);
});

Deno.test("networks take turns at logging in, a few at a time", async () => {
  const guard = openLoginGuard(Date.now);
  const order: string[] = [];
  let running = 0;
  let most = 0;
  const login = (network: string) =>
    guard.inTurn({ realm: "realm", network }, async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      order.push(network);
      running--;
    });
  const flood = Array.from({ length: 40 }, () => login("flood"));
  await Promise.all([...flood, login("user"), login("other")]);
  ok(most <= 3, `${most} at once`);
  ok(order.indexOf("user") <= 6, `after ${order.indexOf("user")} others`);
  ok(order.indexOf("other") <= 8, `after ${order.indexOf("other")} others`);
  const many = Array.from({ length: 60 }, () => login("flood").then(() => 200, () => 503));
  const answers = await Promise.all([...many, login("user").then(() => 200)]);
  equal(answers.filter((status) => status === 503).length, 7, "a network has 50 places to wait");
  equal(answers.at(-1), 200);
});

Deno.test("a clock that is set back keeps no network out for longer than a minute", () => {
  let at = 10 * 3_600_000;
  const guard = openLoginGuard(() => at);
  guard.refuse("network", 60);
  for (let i = 0; i < 30; i++) guard.countWrong("other");
  for (const one of ["network", "other"]) throws(() => guard.check(one), { code: "rate.limited" });
  at -= 3_600_000;
  for (const one of ["network", "other"]) guard.check(one);
  for (let i = 0; i < 30; i++) guard.countWrong("other");
  throws(() => guard.check("other"), { code: "rate.limited" });
});

Deno.test("concurrent logins with made-up keys are looked up a few at a time, and public keys once for all", async () => {
  await using realm = await testRealm();
  const statements: string[] = [];
  await using other = realm.another({}, (text) => statements.push(text));
  const login = { realm_key: realm.made.realm.realm_key, username: ADMIN, password: PASSWORD };
  const passes = (of: string) => statements.filter((text) => text.includes(of)).length;
  const answers = await Promise.all(
    Array.from(
      { length: 300 },
      () => other.send(`app_${crypto.randomUUID()}`)("POST", "/v1/auth/login", login),
    ),
  );
  ok(answers.every(({ status }) => [401, 429, 503].includes(status)));
  ok(passes("application_keys") <= 2 * (30 + 3), `${passes("application_keys")} statements`);
  statements.length = 0;
  const asked = Array.from(
    { length: 100 },
    () => other.send(null)("GET", "/.well-known/jwks.json"),
  );
  ok((await Promise.all(asked)).every(({ status }) => status === 200));
  ok(passes("signing_keys") <= 3, `${passes("signing_keys")} passes`);
});

Deno.test("answers to a network that is refused are kept back for a moment, and no more of them than are few", async () => {
  const guard = openLoginGuard(Date.now);
  const order: string[] = [];
  const ask = (network: string, name: string) => guard.hold(network).then(() => order.push(name));
  const kept = Array.from({ length: 500 }, () => ask("flood", "kept"));
  const beyond = ask("flood", "beyond");
  const other = ask("other", "other");
  await Promise.all([...kept, beyond, other]);
  deepEqual([order[0], order.at(-1)], ["beyond", "other"]);
  const again = ask("flood", "again");
  equal(order.includes("again"), false);
  await again;
});
