import { deepEqual, equal } from "node:assert/strict";
import { claimsOf } from "../../domain/security/sessions.ts";
import { type Answer, PASSWORD, rowsOf, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("passwords in one realm");

const NEW = "another horse battery";
const codeOf = ({ status, body }: Answer) => [status, body.code];

async function logIn(realm: TestRealm, login: Record<string, unknown>, path = "/v1/auth/login") {
  const body = { realm_key: realm.made.realm.realm_key, password: PASSWORD, ...login };
  return await realm.nobody("POST", path, body, { "x-api-key": realm.made.applicationKey });
}

test("a key alone changes no password of its own user: that takes the present one", async (realm) => {
  const user = await realm.user();
  const { username } = (await user.send("GET", "/v1/auth/me")).body;
  const patched = await user.send("PATCH", `/v1/users/${user.id}`, { password: NEW });
  deepEqual(codeOf(patched), [400, "request.invalid"]);
  equal(patched.body.errors[0].path, "/password");
  const path = `/v1/users/${user.id}/password`;
  const body = { password: PASSWORD, new_password: NEW };
  const made = await user.send("POST", "/v1/keys", { name: "machine" });
  const key = { "x-api-key": made.body.key };
  deepEqual(codeOf(await realm.nobody("POST", path, body, key)), [401, "auth.invalid"]);
  const short = await user.send("POST", path, { ...body, new_password: "short" });
  deepEqual(codeOf(short), [400, "request.invalid"]);
  equal((await user.send("POST", path, body)).status, 200);
  deepEqual(codeOf(await user.send("GET", "/v1/auth/me")), [401, "auth.revoked"]);
  deepEqual(codeOf(await logIn(realm, { username })), [401, "auth.credentials"]);
  equal((await logIn(realm, { username, password: NEW })).status, 200);
});

test("the present password is guessed no more often than at a login", async (realm) => {
  const user = await realm.user();
  const path = `/v1/users/${user.id}/password`;
  const guess = { password: "wrong", new_password: NEW };
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => user.send("POST", path, guess)),
  );
  deepEqual(answers.map(({ status }) => status).sort(), [401, 401, 401, 401, 401, 429, 429, 429]);
  const right = await user.send("POST", path, { password: PASSWORD, new_password: NEW });
  equal(right.status, 429);
});

test("nobody else changes a password so, and administrators reset one after a recent login", async (realm) => {
  const user = await realm.user();
  const stranger = await realm.user();
  const body = { password: PASSWORD, new_password: NEW };
  const path = `/v1/users/${user.id}/password`;
  deepEqual(codeOf(await stranger.send("POST", path, body)), [404, "user.not_found"]);
  deepEqual(codeOf(await realm.admin.send("POST", path, body)), [403, "permission.owner"]);
  const ttlS = realm.services.config.userKeyTtlS;
  const claims = claimsOf(realm.made.admin, realm.made.realm, Date.now() - 11 * 60_000, ttlS);
  const old = { "x-api-key": await realm.services.signingKeys.sign(claims) };
  const change = (headers?: Record<string, string>) =>
    headers === undefined
      ? realm.admin.send("PATCH", `/v1/users/${user.id}`, { password: NEW })
      : realm.nobody("PATCH", `/v1/users/${user.id}`, { password: NEW }, headers);
  deepEqual(codeOf(await change(old)), [401, "auth.expired"]);
  const made = await realm.admin.send("POST", "/v1/keys", { name: "machine" });
  deepEqual(codeOf(await change({ "x-api-key": made.body.key })), [401, "auth.invalid"]);
  equal((await change()).status, 200);
});

test("an administrator logs in with the address that it has now, and with no other", async (realm) => {
  const id = realm.admin.id;
  const path = "/v1/auth/admins/login";
  const enters = async (email: string) => (await logIn(realm, { email }, path)).status;
  const change = (body: Record<string, unknown>) =>
    realm.admin.send("PATCH", `/v1/users/${id}`, body);
  equal(await enters("admin@test.example"), 200);
  equal((await change({ channel: {} })).status, 200);
  equal(await enters("admin@test.example"), 401, "taken off");
  equal((await change({ data: { email: "not an address" } })).status, 200);
  equal(await enters("not an address"), 401);
  const [row] = await rowsOf<{ email: string | null }>(
    realm,
    "select email from users where id = $1",
    [id],
  );
  equal(row.email, null);
  equal((await change({ channel: { email: "New@test.example" } })).status, 200);
  equal((await change({ data: { email: "other@test.example" } })).status, 200);
  equal(await enters("new@test.example"), 200);
  equal(await enters("other@test.example"), 401, "the channel goes first");
});
