import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { claimsOf } from "../../domain/security/sessions.ts";
import { totpCode } from "../../domain/security/totp.ts";
import { createApp } from "../../routes/http/app.ts";
import {
  type Answer,
  PASSWORD,
  PLATFORM_KEY,
  rowsOf,
  type TestRealm,
  testRealm,
  type TestUser,
} from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("second factors in one realm");

const codeOf = ({ status, body }: Answer) => [status, body.code];
const stepNow = () => Math.floor(Date.now() / 30_000);

async function logIn(realm: TestRealm, username: string, code?: string, password = PASSWORD) {
  const body = { realm_key: realm.made.realm.realm_key, username, password, code };
  const headers = { "x-api-key": realm.made.applicationKey };
  return await realm.nobody("POST", "/v1/auth/login", body, headers);
}

/** A user whose logins take codes; that of the present step is used. */
async function guarded(user: TestUser) {
  const path = `/v1/users/${user.id}/totp`;
  const begun = await user.send("POST", path);
  equal(begun.status, 201, begun.text);
  const { secret } = begun.body;
  const confirmed = await user.send("POST", `${path}/confirm`, {
    code: totpCode(secret, stepNow()),
  });
  equal(confirmed.status, 200, confirmed.text);
  const { username } = (await user.send("GET", "/v1/auth/me")).body;
  return { secret, codes: confirmed.body.recovery_codes as string[], username, path };
}

test("logins ask for a code once a first one has confirmed it, and take each code once", async (realm) => {
  const user = await realm.user();
  const path = `/v1/users/${user.id}/totp`;
  const { username } = (await user.send("GET", "/v1/auth/me")).body;
  const begun = await user.send("POST", path);
  match(begun.body.uri, /^otpauth:\/\/totp\/Purser:/);
  equal((await logIn(realm, username)).status, 200, "not confirmed yet");
  const wrong = await user.send("POST", `${path}/confirm`, { code: "000000" });
  if (totpCode(begun.body.secret, stepNow()) !== "000000") {
    deepEqual(codeOf(wrong), [401, "auth.credentials"]);
  }
  deepEqual((await user.send("GET", path)).body, { confirmed: false, recovery_codes_left: 0 });
  const { secret } = await guarded(user);
  deepEqual((await user.send("GET", path)).body, { confirmed: true, recovery_codes_left: 10 });
  deepEqual(codeOf(await user.send("POST", path)), [409, "version.conflict"], "ended first");
  const without = await logIn(realm, username);
  deepEqual(codeOf(without), [401, "auth.credentials"]);
  equal(without.body.errors[0].path, "/code");
  const blind = await logIn(realm, username, totpCode(secret, stepNow() + 1), "wrong");
  equal(blind.body.errors, undefined, "a wrong password is told nothing of codes");
  const code = totpCode(secret, stepNow() + 1);
  const both = await Promise.all([logIn(realm, username, code), logIn(realm, username, code)]);
  deepEqual(both.map(({ status }) => status).sort(), [200, 401], "at once");
  equal((await logIn(realm, username, code)).status, 401, "again");
});

test("a recovery code stands in for a code once, however it is written", async (realm) => {
  const user = await realm.user();
  const { codes, username, path, secret } = await guarded(user);
  equal(new Set(codes).size, 10);
  match(codes[0], /^[A-Z2-7]{4}(-[A-Z2-7]{4}){3}$/);
  equal((await logIn(realm, username, codes[0])).status, 200);
  equal((await logIn(realm, username, codes[0])).status, 401);
  const written = codes[1].toLowerCase().replaceAll("-", " ");
  equal((await logIn(realm, username, written)).status, 200);
  equal((await user.send("GET", path)).body.recovery_codes_left, 8);
  const kept = await rowsOf<{ kept: string }>(
    realm,
    "select row_to_json(f)::text as kept from second_factors f union all select body from idempotency",
  );
  for (const { kept: text } of kept) {
    ok(![secret, ...codes].some((known) => `${text}`.includes(known)));
  }
  const back = realm.command((tx) => tx`update second_factors set last_step = 0`.then(() => {}));
  await rejects(back, /stays so/);
});

Deno.test("a login that is right and refused by the realm's limits uses up no code, and no wrong try", async () => {
  await using realm = await testRealm({ tier: "basic" });
  const user = await realm.user();
  const { codes, username, path, secret } = await guarded(user);
  await realm.services.limits.flush();
  const { sql } = realm.database.builder;
  const used = (credits: number) =>
    sql`update platform.usage set credits = ${credits} where realm = ${realm.id}`;
  await used(250_000); // all of the tier's, as processes that start now read it
  await using full = realm.another();
  const body = { realm_key: realm.made.realm.realm_key, username, password: PASSWORD };
  const headers = { "x-api-key": realm.made.applicationKey };
  const enter = (send: typeof realm.nobody, code: string) =>
    send("POST", "/v1/auth/login", { ...body, code }, headers);
  const present = totpCode(secret, stepNow() + 1);
  for (const code of [codes[0], present, codes[0], present, codes[0], present, codes[0]]) {
    deepEqual(codeOf(await enter(full.send(null), code)), [402, "credits.exhausted"]);
  }
  deepEqual(codeOf(await enter(full.send(null), "AAAA-AAAA-AAAA-AAAA")), [401, "auth.credentials"]);
  equal((await rowsOf(realm, "select from logins where user_id = $1", [user.id])).length, 0);
  await used(0);
  await using emptied = realm.another();
  equal((await enter(emptied.send(null), codes[0])).status, 200);
  equal((await enter(emptied.send(null), present)).status, 200);
  equal((await user.send("GET", path)).body.recovery_codes_left, 9);
});

test("codes are guessed no more often than passwords", async (realm) => {
  const user = await realm.user();
  const { username } = await guarded(user);
  const statuses = [];
  for (let i = 0; i < 7; i++) {
    statuses.push((await logIn(realm, username, "AAAA-AAAA-AAAA-AAAA")).status);
  }
  deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429]);
});

Deno.test("of a user's codes so few are tried in a day that nobody who has its password finds one, from however many networks", async () => {
  await using realm = await testRealm();
  const user = await realm.user();
  const { codes, username, secret } = await guarded(user);
  let tries = 0;
  const from = async (network: string, code: string) => {
    const headers = { "x-api-key": realm.made.applicationKey, "content-type": "application/json" };
    const { realm_key } = realm.made.realm;
    const body = JSON.stringify({ realm_key, username, password: PASSWORD, code });
    const app = createApp(realm.services, PLATFORM_KEY);
    const url = "http://purser.test/v1/auth/login";
    const answer = await app(new Request(url, { method: "POST", headers, body }), network);
    const { code: told } = await answer.json();
    return { status: answer.status, told, retryAfter: Number(answer.headers.get("retry-after")) };
  };
  const elsewhere = (code: string) => from(`198.51.100.${++tries}`, code);
  const wrong = () => {
    const right = [-1, 0, 1, 2].map((step) => totpCode(secret, stepNow() + step));
    return ["000000", "111111", "222222", "333333", "444444"].find((one) => !right.includes(one))!;
  };
  const right = () => totpCode(secret, stepNow() + 1);
  equal((await from("203.0.113.7", codes[0])).status, 200, "at home");
  for (let i = 0; i < 20; i++) {
    const { status, told } = await elsewhere(wrong());
    deepEqual([status, told], [401, "auth.credentials"]);
  }
  for (const code of [wrong(), right()]) {
    const { status, told, retryAfter } = await elsewhere(code);
    deepEqual([status, told], [429, "rate.limited"], "neither a wrong one nor the right one");
    ok(retryAfter > 86_000 && retryAfter <= 86_400, `${retryAfter}`);
  }
  equal((await from("203.0.113.7", right())).status, 200, "at home nobody is kept out");
  equal((await elsewhere(codes[1])).status, 200, "nor with a recovery code");
  const passed = "update second_factors set wrong_codes = 40 where user_id = $1";
  await rowsOf(realm, passed, [user.id]);
  await rowsOf(realm, "update login_attempts set wrong = '{}', pending = '{}'");
  equal((await from("203.0.113.7", wrong())).status, 429, "forty in all, at home too");
  await rowsOf(realm, "update second_factors set wrong_since = now() - interval '25 hours'");
  await rowsOf(realm, "update login_attempts set wrong = '{}', pending = '{}'");
  equal((await elsewhere(wrong())).status, 401);
  const [{ wrong_codes }] = await rowsOf<{ wrong_codes: number }>(
    realm,
    "select wrong_codes from second_factors",
  );
  equal(wrong_codes, 1, "another day");
});

test("a second factor is begun and ended with a recent login, and by nobody beneath its user", async (realm) => {
  const user = await realm.user();
  const stranger = await realm.user({ role: "admin", scope: "own" });
  const manager = await realm.user({ role: "manage", scope: "realm" });
  const { path, username } = await guarded(user);
  const ttlS = realm.services.config.userKeyTtlS;
  const [row] = await rowsOf<TestRealm["made"]["admin"]>(
    realm,
    "select * from users where id = $1",
    [user.id],
  );
  const old = await realm.services.signingKeys.sign(
    claimsOf(row, realm.made.realm, Date.now() - 11 * 60_000, ttlS),
  );
  const made = await user.send("POST", "/v1/keys", { name: "machine" });
  for (const [key, code] of [[old, "auth.expired"], [made.body.key, "auth.invalid"]]) {
    for (const method of ["POST", "DELETE"]) {
      const answer = await realm.nobody(method, path, undefined, { "x-api-key": key });
      deepEqual(codeOf(answer), [401, code]);
    }
  }
  deepEqual(codeOf(await stranger.send("DELETE", path)), [404, "user.not_found"]);
  deepEqual(codeOf(await realm.admin.send("POST", path)), [403, "permission.owner"]);
  const admins = await guarded(realm.admin);
  deepEqual(codeOf(await manager.send("DELETE", admins.path)), [403, "permission.role"]);
  equal((await logIn(realm, username)).status, 401);
  equal((await realm.admin.send("DELETE", path)).status, 200, "the telephone is lost");
  equal((await logIn(realm, username)).status, 200);
});
