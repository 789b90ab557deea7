import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { newId } from "../../domain/ids.ts";
import { migrateAll } from "../../domain/realms/migrations.ts";
import { prepareRealm } from "../../domain/realms/provisioning.ts";
import { NewRealm } from "../../domain/realms/realms.ts";
import { hashPassword } from "../../domain/security/passwords.ts";
import { claimEpoch } from "../../workers/installation/fence.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { patientProbes } from "../support/held_timers.ts";
import { type Answer, PASSWORD, type TestRealm, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const codeOf = ({ status, body }: Answer) => [status, body.code];
const asked = (more: Record<string, unknown> = {}) => ({
  name: "made",
  admin: { email: "boss@made.example", password: PASSWORD },
  ...more,
});

async function logInTo(realm: TestRealm, made: Answer["body"], key = made["x-api-key"]) {
  return await realm.nobody("POST", "/v1/auth/admins/login", {
    realm_key: made.realm_key,
    email: "boss@made.example",
    password: PASSWORD,
  }, { "x-api-key": key });
}

/** Runs a statement on the platform's schema. */
async function onPlatform(realm: TestRealm, text: string, values: unknown[] = []) {
  return await realm.services.platform.sql.unsafe(text, values as never[]) as unknown as Record<
    string,
    unknown
  >[];
}

const test = sharing("realms in one realm");

test("POST /v1/realms makes a realm that can be logged in to, and stores its keys encrypted", async (realm) => {
  const key = { "idempotency-key": `make ${crypto.randomUUID()}`.replace(" ", "-") };
  const first = await realm.operator("POST", "/v1/realms", asked({ country: "DE" }), key);
  equal(first.status, 201);
  equal(first.body.tier, "unlimited");
  equal(first.body.admin.roles, "admin,manage,user");
  const again = await realm.operator("POST", "/v1/realms", asked({ country: "DE" }), key);
  equal(again.text, first.text);
  equal(again.headers.get("idempotency-replayed"), "true");
  const kept = await onPlatform(
    realm,
    "select 1 from idempotency where body like $1 or body like $2",
    [`%${first.body["x-api-key"]}%`, `%${first.body.realm_key}%`],
  );
  equal(kept.length, 0);
  const login = await logInTo(realm, first.body);
  equal(login.status, 200);
  const send = { "x-api-key": login.body["x-api-key"] };
  const identity = await realm.nobody("POST", "/v1/identities", {}, send);
  equal(identity.body.country, "DE");
  const unknown = await realm.operator("POST", "/v1/realms", asked({ tier: "golden" }));
  deepEqual([unknown.status, unknown.body.errors[0].path], [400, "/tier"]);
  deepEqual(codeOf(await realm.admin.send("POST", "/v1/realms", asked())), [401, "auth.invalid"]);
});

test("application keys are added, listed without themselves, and ended", async (realm) => {
  const path = `/v1/realms/${realm.id}/keys`;
  const added = await realm.operator("POST", path);
  equal(added.status, 201);
  ok(added.body["x-api-key"].startsWith("app_"));
  const login = (key: string) =>
    realm.nobody("POST", "/v1/auth/login", {
      realm_key: realm.made.realm.realm_key,
      username: "admin@test.example",
      password: PASSWORD,
    }, { "x-api-key": key });
  const [old, young] = (await realm.operator("GET", path)).body;
  equal(young.id, added.body.id);
  deepEqual(Object.keys(young).sort(), ["created_at", "id"]);
  equal((await login(realm.made.applicationKey)).status, 200);
  const ended = await realm.operator("DELETE", `${path}/${old.id}`);
  equal(ended.status, 200);
  ok(ended.body.revoked_at > 0);
  deepEqual(codeOf(await login(realm.made.applicationKey)), [401, "auth.invalid"]);
  equal((await login(added.body["x-api-key"])).status, 200);
  for (const id of [old.id, newId(1), "x"]) {
    deepEqual(codeOf(await realm.operator("DELETE", `${path}/${id}`)), [404, "key.not_found"]);
  }
  const nowhere = await realm.operator("POST", `/v1/realms/${newId(1)}/keys`);
  deepEqual(codeOf(nowhere), [404, "realm.not_found"]);
  deepEqual(codeOf(await realm.admin.send("POST", path)), [401, "auth.invalid"]);
});

test("PATCH /v1/realms changes the fields that the caller may change, at once", async (realm) => {
  await using other = await testRealm();
  const path = `/v1/realms/${realm.id}`;
  const changed = await realm.admin.send("PATCH", path, {
    name: "renamed",
    country: "CH",
    accounting_currency: "CHF",
    webhooks: { a: 1 },
  });
  equal(changed.status, 200);
  equal(changed.body.name, "renamed");
  deepEqual(changed.body.webhooks, { a: 1 });
  ok(changed.body.updated_at > 0);
  equal((await realm.admin.send("PATCH", path, {})).status, 200, "as every PATCH of nothing");
  const identity = await realm.admin.send("POST", "/v1/identities", {});
  deepEqual([identity.body.country, identity.body.currency], ["CH", "CHF"]);
  const tier = await realm.admin.send("PATCH", path, { tier: "free" });
  deepEqual(codeOf(tier), [403, "permission.role"]);
  const byOperator = await realm.operator("PATCH", path, { tier: "pro", chains: { b: true } });
  deepEqual([byOperator.body.tier, byOperator.body.webhooks], ["pro", { a: 1 }]);
  deepEqual((await realm.admin.send("GET", path)).body, byOperator.body);
  for (
    const [user, code] of [
      [await realm.user({ role: "manage", scope: "realm" }), "permission.role"],
      [await realm.user({ role: "admin" }), "permission.scope"],
    ] as const
  ) {
    deepEqual(codeOf(await user.send("PATCH", path, { name: "x" })), [403, code]);
    deepEqual(codeOf(await user.send("GET", path)), [403, code]);
  }
  deepEqual(codeOf(await other.admin.send("GET", path)), [404, "realm.not_found"]);
  const foreign = await other.admin.send("PATCH", path, { name: "x" });
  deepEqual(codeOf(foreign), [404, "realm.not_found"]);
  for (const body of [{ zone: "EU" }, { country: "XX" }, { tier: "golden" }, { name: "" }]) {
    deepEqual(codeOf(await realm.operator("PATCH", path, body)), [400, "request.invalid"]);
  }
  for (const id of ["x", newId(1), "%00"]) {
    const none = await realm.operator("PATCH", `/v1/realms/${id}`, { name: "x" });
    deepEqual(codeOf(none), [404, "realm.not_found"]);
  }
  const listed = await realm.operator("GET", `/v1/realms?limit=1&after=${idBefore(realm.id)}`);
  deepEqual(listed.body.map((row: { id: string }) => row.id), [realm.id]);
});

/** An id that stands right before another. */
function idBefore(id: string): string {
  const bits = BigInt(`0x${id.replaceAll("-", "")}`) - 1n;
  const hex = bits.toString(16).padStart(32, "0");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

test("users of a realm are made by its administrators and by the operator", async (realm) => {
  await using other = await testRealm();
  const path = `/v1/realms/${realm.id}/users`;
  const user = (username: string) => ({ username, password: PASSWORD });
  equal((await realm.admin.send("POST", path, user("a"))).status, 201);
  equal((await realm.operator("POST", path, user("b"))).status, 201);
  deepEqual(codeOf(await realm.operator("POST", path, user("b"))), [409, "username.taken"]);
  const foreign = await other.admin.send("POST", path, user("c"));
  deepEqual(codeOf(foreign), [404, "realm.not_found"]);
  const nowhere = await realm.operator("POST", "/v1/realms/not-an-id/users", user("c"));
  deepEqual(codeOf(nowhere), [404, "realm.not_found"]);
});

Deno.test("a realm in a database of its own works end to end, and is migrated there", async () => {
  await using elsewhere = await testDatabase();
  await using realm = await testRealm();
  const key = { "idempotency-key": crypto.randomUUID() };
  const body = asked({ database_url: elsewhere.url });
  const made = await realm.operator("POST", "/v1/realms", body, key);
  equal(made.status, 201, made.text);
  equal(made.text.includes("postgres"), false);
  const { id } = made.body;
  equal((await realm.operator("POST", "/v1/realms", body, key)).text, made.text);
  const [row] = await onPlatform(realm, "select database_url_encrypted from realms where id = $1", [
    id,
  ]);
  equal(
    new TextDecoder().decode(row.database_url_encrypted as Uint8Array).includes("postgres"),
    false,
  );
  deepEqual(await onPlatform(realm, "select id from realm_provisioning"), []);
  const schema = `realm_${id.replaceAll("-", "")}`;
  const here = await onPlatform(realm, "select from pg_namespace where nspname = $1", [schema]);
  equal(here.length, 0, "nothing of it is in the platform's database");
  const login = await logInTo(realm, made.body);
  const send = { "x-api-key": login.body["x-api-key"] };
  const currency = await realm.nobody("POST", "/v1/currencies", { name: "EE", supply: "5" }, send);
  equal(currency.status, 201);
  const account = await realm.nobody(
    "GET",
    `/v1/accounts/${currency.body.account}`,
    undefined,
    send,
  );
  equal(account.body.balance.total, "5");
  // A realm that is a step behind is brought up where it lives.
  await using other = realm.another();
  await onPlatform(realm, "update realms set schema_version = 0 where id = $1", [id]);
  await migrateAll(other.database, realm.services.migrations, () => {});
  const [after] = await onPlatform(realm, "select schema_version from realms where id = $1", [id]);
  equal(after.schema_version, realm.services.migrations.realm.length);
  const { pool } = (await other.services.realms.find(id))!;
  const [who] = await pool.sql`select current_user::text as name, current_database()::text as db`;
  deepEqual([who.name, who.db], [schema, new URL(elsewhere.url).pathname.slice(1)]);
});

test("a database that cannot be used is said so, and nothing of the realm stays", async (realm) => {
  const count = async () => (await onPlatform(realm, "select id from realm_provisioning")).length;
  for (
    const url of [
      "postgres://nobody:secret@127.0.0.1:1/none",
      realm.services.config.databaseUrl!.replace(/\/[^/]*$/, "/no_such_database"),
    ]
  ) {
    const answer = await realm.operator("POST", "/v1/realms", asked({ database_url: url }));
    deepEqual([answer.status, answer.body.errors[0].path], [400, "/database_url"], answer.text);
    equal(answer.text.includes("secret"), false);
  }
  const wrong = asked({ database_url: "https://example.org" });
  deepEqual(codeOf(await realm.operator("POST", "/v1/realms", wrong)), [400, "request.invalid"]);
  equal(await count(), 0, "nothing was begun, so nothing is left to be cleared");
});

Deno.test("a process that dies between the two phases leaves nothing visible", async () => {
  await using elsewhere = await testDatabase();
  await using realm = await testRealm();
  const { provisioning } = realm.services;
  const input = NewRealm.parse(asked({ database_url: elsewhere.url }));
  const actor = { ...realm.admin.actor, kind: "operator" as const, at: Date.now() };
  const left = await prepareRealm(provisioning, actor, input, await hashPassword(PASSWORD, ""));
  const { location } = left.provisioned!;
  const owner = provisioning.database.owner(location);
  const schemas = async () =>
    (await owner.sql`select nspname::text as name from pg_namespace where nspname like 'realm_%'`)
      .map((row) => row.name);
  try {
    deepEqual(await schemas(), [location.schema]);
    const gone = await realm.operator("GET", `/v1/realms/${location.id}`);
    deepEqual(codeOf(gone), [404, "realm.not_found"]);
    // An hour later the next one to be made clears it away, and is made.
    await onPlatform(
      realm,
      "update realm_provisioning set created_at = now() - interval '2 hours' where id = $1",
      [location.id],
    );
    const made = await realm.operator("POST", "/v1/realms", asked({ database_url: elsewhere.url }));
    equal(made.status, 201, made.text);
    notEqual(made.body.id, location.id);
    deepEqual(await schemas(), [`realm_${made.body.id.replaceAll("-", "")}`]);
    deepEqual(
      await onPlatform(realm, "select id from realm_provisioning where id = $1", [location.id]),
      [],
    );
  } finally {
    await owner.sql.end();
  }
});

Deno.test("a record of an old dump drops no realm that is in use, and nothing before the reconciliation", async () => {
  await using own = await realmDatabase();
  await using elsewhere = await testDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { provisioning, platform } = realm.services;
  const make = async () => {
    const { status, text, body } = await realm.operator(
      "POST",
      "/v1/realms",
      asked({ database_url: elsewhere.url }),
    );
    equal(status, 201, text);
    return body;
  };
  const used = await make();
  equal((await logInTo(realm, used)).status, 200);
  const input = NewRealm.parse(asked({ database_url: elsewhere.url }));
  const actor = { ...realm.admin.actor, kind: "operator" as const, at: Date.now() };
  const left = await prepareRealm(provisioning, actor, input, await hashPassword(PASSWORD, ""));
  const { location } = left.provisioned!;
  // As a dump has it that was taken while both were being made.
  await onPlatform(
    realm,
    `insert into realm_provisioning (id, database_url_encrypted, created_at)
     select id, database_url_encrypted, now() from realms where id = $1`,
    [used.id],
  );
  await onPlatform(realm, "update realm_provisioning set created_at = now() - interval '2 hours'");
  const owner = provisioning.database.owner(location);
  const there = async (id: string) => {
    const schema = `realm_${id.replaceAll("-", "")}`;
    return (await owner.sql`select from pg_namespace where nspname = ${schema}`).length === 1;
  };
  const records = async () => (await onPlatform(realm, "select id from realm_provisioning")).length;
  const folder = await Deno.makeTempDir();
  try {
    await onPlatform(realm, `update installation set halted = '{"detail": "restored", "at": 1}'`);
    await make();
    deepEqual([await records(), await there(used.id), await there(location.id)], [2, true, true]);
    await onPlatform(realm, "update installation set halted = null");
    await make();
    deepEqual([await records(), await there(used.id), await there(location.id)], [0, true, false]);
    equal((await logInTo(realm, used)).status, 200);
    await onPlatform(
      realm,
      `insert into realm_provisioning (id, database_url_encrypted, created_at)
       select id, database_url_encrypted, now() from realms where id = $1`,
      [used.id],
    );
    await claimEpoch({ platform, dataDir: folder, label: null }, "new");
    equal(await records(), 0);
  } finally {
    await owner.sql.end();
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("REALM_ROLES=off keeps realms apart by schema, and says so", async () => {
  await using realm = await testRealm({ env: { REALM_ROLES: "off" } });
  equal(realm.made.realm.role_name, null);
  const { account } = await realm.currency("3");
  deepEqual(await realm.balance(account), { total: "3", available: "3" });
  using _held = patientProbes();
  const ready = await realm.nobody("GET", "/health/ready");
  equal(ready.body.checks.database.isolation, "schema alone");
  await using usual = await testRealm();
  const other = await usual.nobody("GET", "/health/ready");
  equal(other.body.checks.database.isolation, "schema and login");
});
