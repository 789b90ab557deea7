/** Keys where the server falls back to an older state, as where a late standby takes its place, while processes run. */
import { deepEqual, equal } from "node:assert/strict";
import { openSigningKeys } from "../../domain/security/signing_keys.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { until } from "../support/eventually.ts";
import { olderServer } from "../support/older_server.ts";
import { type Answer, type Send, testRealm } from "../support/realm.ts";

const ME = "/v1/auth/me";

/** Asks who somebody is until the server has answered. */
async function served(send: Send): Promise<Answer> {
  let answer: Answer;
  await until(async () => (answer = await send("GET", ME)).status !== 503);
  return answer!;
}

Deno.test("a key that is revoked after the server fell back is revoked in a process that knew the newer state", async () => {
  await using server = await olderServer();
  const env = { DATABASE_URL: server.url };
  await using realm = await testRealm({ env });
  await using other = realm.another(env);
  const user = await realm.user();
  equal((await served(user.send)).status, 200);
  await server.keep();
  for (let i = 0; i < 20; i++) await realm.user(); // which the older state does not know
  (await realm.services.realms.find(realm.id))!.refresh();
  equal((await served(user.send)).status, 200);
  await server.fallBack();
  const there = other.send(user.key);
  equal((await served(there)).status, 200);
  equal((await there("POST", "/v1/auth/logout")).status, 200);
  (await realm.services.realms.find(realm.id))!.refresh();
  const { status, body } = await served(user.send);
  deepEqual([status, body.code], [401, "auth.revoked"]);
});

Deno.test("a process whose signing key was lost with the server's last commits signs with another one", async () => {
  await using server = await olderServer();
  const env = { DATABASE_URL: server.url };
  await using realm = await testRealm({ env });
  await using other = realm.another(env);
  await server.keep();
  const { platform, config: { userKeyTtlS } } = other.services;
  let at = Date.now();
  const signingKeys = openSigningKeys({ platform, userKeyTtlS, now: () => at });
  Object.assign(other.services, { signingKeys });
  const sign = () =>
    signingKeys.sign(claimsOf(realm.made.admin, realm.made.realm, Date.now(), userKeyTtlS));
  const known = await served(other.send(await sign()));
  equal(known.status, 200, "it knows its own key");
  await server.fallBack();
  await using third = realm.another(env);
  const { send } = third;
  const lost = await served(send(await sign()));
  deepEqual([lost.status, lost.body.code], [401, "auth.invalid"]);
  at += 10_000;
  const key = await sign();
  for (const each of [send, other.send]) equal((await served(each(key))).status, 200);
});
