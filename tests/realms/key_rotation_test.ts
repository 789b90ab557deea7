import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { reading } from "../../db/transaction.ts";
import { claimPlatformKey } from "../../domain/security/platform_key.ts";
import { reencryptAll } from "../../domain/realms/platform_key_rotation.ts";
import { openSecrets } from "../../domain/security/serving_secrets.ts";
import { totpCode } from "../../domain/security/totp.ts";
import { createApp } from "../../routes/http/app.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { patientProbes } from "../support/held_timers.ts";
import { PASSWORD, PLATFORM_KEY, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

const NEW_KEY = "the-next-key-of-the-platform";

/** The app of a process with these platform keys; gives the status of its answers. */
function processWith(realm: TestRealm, key: string, previous: string | null) {
  const config = { ...realm.services.config, previousPlatformKey: previous };
  const secrets = openSecrets(key, previous);
  const provisioning = { ...realm.services.provisioning, secrets };
  const app = createApp({ ...realm.services, config, secrets, provisioning }, key);
  return async (method: string, path: string, sent: string, body?: unknown) => {
    const headers = {
      ...(sent === "" ? {} : { "x-api-key": sent }),
      "content-type": "application/json",
    };
    const request = new Request(`http://purser.test${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    using _held = patientProbes();
    const answer = await app(request, "127.0.0.1");
    await answer.body?.cancel();
    return answer.status;
  };
}

Deno.test("the platform key is changed without a gap, and its ciphertexts open with the new one alone", async () => {
  await using own = await realmDatabase();
  await using elsewhere = await testDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const placed = await realm.operator("POST", "/v1/realms", {
    name: "elsewhere",
    database_url: elsewhere.url,
    admin: { email: "a@b.example", password: PASSWORD },
  });
  equal(placed.status, 201, placed.text);
  const path = `/v1/users/${realm.admin.id}/totp`;
  const { secret } = (await realm.admin.send("POST", path)).body;
  const step = Math.floor(Date.now() / 30_000);
  const code = totpCode(secret, step);
  equal((await realm.admin.send("POST", `${path}/confirm`, { code })).status, 200);
  const input = { url: "https://hooks.example.com", events: ["*"] };
  const hook = (await realm.admin.send("POST", "/v1/webhooks", input)).body;
  const rotated = await realm.admin.send("POST", `/v1/webhooks/${hook.id}/rotate`, {});
  equal(rotated.status, 200, rotated.text);

  const between = processWith(realm, NEW_KEY, PLATFORM_KEY);
  for (const key of [PLATFORM_KEY, NEW_KEY]) equal(await between("GET", "/v1/realms", key), 200);
  const both = openSecrets(NEW_KEY, PLATFORM_KEY);
  equal(await reencryptAll(realm.database, both), 5);
  equal(await reencryptAll(realm.database, both), 5, "again");

  const after = processWith(realm, NEW_KEY, null);
  equal(await after("GET", "/v1/realms", NEW_KEY), 200);
  equal(await after("GET", "/v1/realms", PLATFORM_KEY), 401);
  const login = {
    realm_key: realm.made.realm.realm_key,
    username: "admin@test.example",
    password: PASSWORD,
    code: totpCode(secret, step + 1),
  };
  equal(await after("POST", "/v1/auth/login", realm.made.applicationKey, login), 200);
  const [{ database_url_encrypted }] = await reading(
    realm.services.platform,
    (db) =>
      db<
        { database_url_encrypted: Uint8Array }[]
      >`select database_url_encrypted from realms where id = ${placed.body.id}`,
  );
  const [{ secret: factor }] = await rowsOf<{ secret: Uint8Array }>(
    realm,
    "select secret from second_factors",
  );
  const [signing] = await rowsOf<{ secret: Uint8Array; previous_secret: Uint8Array }>(
    realm,
    "select secret, previous_secret from webhooks",
  );
  const ofHook = `${realm.id} ${hook.id}`;
  for (
    const [purpose, subject, ciphertext, expected] of [
      ["webhook", ofHook, signing.secret, rotated.body.secret],
      ["webhook", ofHook, signing.previous_secret, hook.secret],
      ["database_url", placed.body.id, database_url_encrypted, elsewhere.url],
      ["totp", `${realm.id} ${realm.admin.id}`, factor, secret],
    ] as const
  ) {
    equal(openSecrets(NEW_KEY).decrypt(purpose, subject, ciphertext), expected);
    equal(openSecrets(PLATFORM_KEY).decrypt(purpose, subject, ciphertext), null);
  }
});

Deno.test("a realm key that was lost is read by the operator, one that leaked is replaced without a gap", async () => {
  await using realm = await testRealm();
  const path = `/v1/realms/${realm.id}`;
  const first = realm.made.realm.realm_key;
  equal((await realm.operator("GET", path)).body.realm_key, first);
  ok(!(await realm.admin.send("GET", path)).text.includes(first), "not to its administrators");
  const enters = async (realm_key: string) =>
    (await realm.nobody("POST", "/v1/auth/login", {
      realm_key,
      username: "admin@test.example",
      password: PASSWORD,
    }, { "x-api-key": realm.made.applicationKey })).status;
  const replaced = await realm.operator("POST", `${path}/realm-key`);
  equal(replaced.status, 201);
  const { realm_key: second, previous_realm_key } = replaced.body;
  notEqual(second, first);
  equal(previous_realm_key, first);
  deepEqual([await enters(first), await enters(second)], [200, 200]);
  equal((await realm.admin.send("POST", `${path}/realm-key`)).status, 401);
  const ended = await realm.operator("DELETE", `${path}/realm-key/previous`);
  equal(ended.status, 200);
  equal(ended.body.previous_realm_key, undefined);
  deepEqual([await enters(first), await enters(second)], [401, 200]);
  const again = await realm.operator("DELETE", `${path}/realm-key/previous`);
  deepEqual([again.status, again.body.code], [404, "key.not_found"]);
});

Deno.test("a process with another platform key does not start, makes no realm, begins no second factor, and is not ready", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { builder } = realm.database;
  const [old, both, fresh] = [
    openSecrets(PLATFORM_KEY),
    openSecrets(NEW_KEY, PLATFORM_KEY),
    openSecrets(NEW_KEY),
  ];
  await claimPlatformKey(builder, old);
  await rejects(claimPlatformKey(builder, fresh), /PLATFORM_KEY is not the key/);
  await claimPlatformKey(builder, both);
  const stale = processWith(realm, NEW_KEY, null);
  const asked = (name: string) => ({ name, admin: { email: "a@b.example", password: PASSWORD } });
  const factor = `/v1/users/${realm.admin.id}/totp`;
  equal(await stale("POST", "/v1/realms", NEW_KEY, asked("lost")), 503);
  equal(await stale("POST", factor, realm.admin.key), 503);
  equal(await stale("GET", "/health/ready", ""), 503);
  equal(await stale("GET", "/v1/auth/me", realm.admin.key), 200, "what needs no seal goes on");

  const between = processWith(realm, NEW_KEY, PLATFORM_KEY);
  equal(await between("POST", "/v1/realms", NEW_KEY, asked("between")), 201);
  equal(await between("GET", "/health/ready", ""), 200);
  ok(await reencryptAll(realm.database, both) > 0);
  await claimPlatformKey(builder, fresh);
  await rejects(claimPlatformKey(builder, old), /PLATFORM_KEY is not the key/);
  equal(await stale("POST", "/v1/realms", NEW_KEY, asked("after")), 201);
  const late = processWith(realm, PLATFORM_KEY, null);
  equal(await late("POST", "/v1/realms", PLATFORM_KEY, asked("late")), 503);
  await claimPlatformKey(builder, old, true);
  equal(await late("POST", "/v1/realms", PLATFORM_KEY, asked("where it was lost")), 201);
});
