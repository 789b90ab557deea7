/** What a user is told of changes of its password and its second factor. */
import { deepEqual, equal, match } from "node:assert/strict";
import { totpCode } from "../../domain/security/totp.ts";
import { PASSWORD, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("notices of changed passwords and second factors");

async function addressed(realm: TestRealm, email: string) {
  const user = await realm.user();
  const change = { channel: { email } };
  equal((await realm.admin.send("PATCH", `/v1/users/${user.id}`, change)).status, 200);
  return { ...user, path: `/v1/users/${user.id}` };
}

/** The subjects and texts of the notices to a user, with the addresses that they go to. */
async function told(realm: TestRealm, user: string) {
  const rows = await realm.pool.sql<{ id: string; destination: string; content: Uint8Array }[]>`
    select id, destination, content from messages
    where owner = ${user} and notice = 'security' order by id`;
  return rows.map(({ id, destination, content }) => {
    const of = `${realm.id}|${id}`;
    const text = realm.services.secrets.decrypt("message", of, content)!;
    return { destination, ...JSON.parse(text) as { subject: string; text: string } };
  });
}

test("a user hears that its password was changed, by itself or by another, and of no refused change", async (realm) => {
  const user = await addressed(realm, "owner@example.com");
  const next = "another horse battery";
  const wrong = { password: "wrong", new_password: next };
  equal((await user.send("POST", `${user.path}/password`, wrong)).status, 401);
  equal((await realm.admin.send("PATCH", user.path, { data: { x: 1 } })).status, 200);
  deepEqual(await told(realm, user.id), []);
  const right = { password: PASSWORD, new_password: next };
  equal((await user.send("POST", `${user.path}/password`, right)).status, 200);
  // Who takes an account over gives it another address with the password.
  const taken = { password: "a third horse", channel: { email: "thief@example.com" } };
  equal((await realm.admin.send("PATCH", user.path, taken)).status, 200);
  const [own, others, ...more] = await told(realm, user.id);
  deepEqual(more, []);
  deepEqual([own.destination, others.destination], Array(2).fill("owner@example.com"));
  match(own.text, /password was changed, by a login of its own/);
  match(others.text, /password was changed, by another user/);
});

test("a user hears that one-time passwords were begun and ended, once each, and of none that never were", async (realm) => {
  const user = await addressed(realm, "factor@example.com");
  const totp = `${user.path}/totp`;
  equal((await user.send("DELETE", totp)).status, 200);
  equal((await user.send("POST", totp)).status, 201);
  equal((await user.send("DELETE", totp)).status, 200);
  deepEqual(await told(realm, user.id), []);
  const { secret } = (await user.send("POST", totp)).body;
  const code = totpCode(secret, Math.floor(Date.now() / 30_000));
  equal((await user.send("POST", `${totp}/confirm`, { code })).status, 200);
  equal((await realm.admin.send("DELETE", totp)).status, 200);
  equal((await realm.admin.send("DELETE", totp)).status, 200);
  const subjects = (await told(realm, user.id)).map(({ subject }) => subject);
  deepEqual(subjects, ["One-time passwords were begun", "One-time passwords were ended"]);
});

test("who changes passwords again and again has the service write to strangers no more than twice in ten minutes", async (realm) => {
  const user = await addressed(realm, "stranger@example.com");
  for (let i = 0; i < 5; i++) {
    const change = { password: `horse battery ${i}` };
    equal((await realm.admin.send("PATCH", user.path, change)).status, 200);
  }
  equal((await told(realm, user.id)).length, 2);
});
