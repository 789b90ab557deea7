import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { selectDue } from "../../db/jobs.ts";
import { selectRealm } from "../../db/realms/realms.ts";
import { reading } from "../../db/transaction.ts";
import { serveWithLess } from "../../domain/security/platform_login.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { loginsUnder, openSecrets } from "../../domain/security/serving_secrets.ts";
import { keptIdentities } from "../../workers/installation/network_identities.ts";
import { realmDatabase } from "../support/database.ts";
import { patientProbes } from "../support/held_timers.ts";
import { PASSWORD, PLATFORM_KEY, testRealm } from "../support/realm.ts";

/** Statements that reach beyond the rows of the platform's own tables. */
const hostile = (owner: string, schema: string, role: string) => [
  `set role ${owner}`,
  `set role "${role}_worker"`,
  `set session authorization ${owner}`,
  `select * from "${schema}".accounts`,
  `update "${schema}".accounts set total = 9`,
  `drop schema "${schema}" cascade`,
  `alter role "${role}" password 'known'`,
  `grant "${role}" to current_user`,
  "create schema x",
  "create table x ()",
  "create role x",
  "alter table realms disable trigger all",
  "drop table audit",
  "update realms set schema_name = schema_name",
  "update realms set role_name = null, login = null",
  "update realms set database_url_encrypted = 'x'",
  "insert into realms select * from realms",
  "delete from realms",
  "delete from application_keys",
  "delete from audit",
  "update audit set action = 'x'",
  "update migrations set checksum = ''",
  "update installation set id = gen_random_uuid()",
  "update installation set login = null",
  "update installation set platform_key = null",
  "update tiers set requests_per_second = null",
  "update network_identities set identity = '5'",
  "delete from network_identities",
];

Deno.test("a statement injected into the platform's tables changes no realm, no role and no table, and all is served", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url }, tier: "pro" });
  const owner = new URL(own.url).username;
  equal(await serveWithLess(realm.database), true);
  const { sql } = realm.database.platform;
  const [me] = await sql<{ name: string; now: string }[]>`
    select session_user::text as name, current_user::text as now`;
  deepEqual([me.now, /^platform_[0-9a-f]{32}$/.test(me.name)], [me.name, true]);
  const { schema, role } = locationOf(realm.made.realm);
  for (const text of hostile(owner, schema, role!)) {
    await rejects(async () => await sql.unsafe(text), /permission denied|must (be|have)/, text);
  }

  // Workers decide which network a chain is of; the operator's command alone forgets it.
  const kept = keptIdentities(realm.database.platform)({ chain: "ETHEREUM", network: "testnet" });
  deepEqual([await kept.keep("5"), await kept.keep("6"), await kept.read()], ["5", "5", "5"]);
  const made = await realm.operator("POST", "/v1/realms", {
    name: "later",
    admin: { email: "a@b.example", password: PASSWORD },
  });
  equal(made.status, 201, made.text);
  const { id, realm_key } = made.body;
  const keyed = await realm.operator("POST", `/v1/realms/${id}/keys`);
  equal(keyed.status, 201, keyed.text);
  const asked: [method: string, path: string, body: unknown, status: number][] = [
    ["PATCH", `/v1/realms/${id}`, { tier: "free", name: "renamed" }, 200],
    ["GET", `/v1/realms/${id}`, undefined, 200],
    ["GET", "/v1/realms", undefined, 200],
    ["GET", `/v1/realms/${id}/keys`, undefined, 200],
    ["PUT", "/v1/rates", { base: "BTC", currency: "USD", rate: "9" }, 200],
    ["GET", "/health/ready", undefined, 200],
  ];
  using _held = patientProbes();
  for (const [method, path, body, status] of asked) {
    const answer = await realm.operator(method, path, body);
    equal(answer.status, status, `${method} ${path} ${answer.text}`);
  }
  const login = await realm.nobody("POST", "/v1/auth/admins/login", {
    realm_key,
    username: "a@b.example",
    password: PASSWORD,
  }, { "x-api-key": keyed.body["x-api-key"] });
  equal(login.status, 200, login.text);
  await realm.services.limits.close();
  const rates = await realm.admin.send("GET", "/v1/rates?base=BTC&currency=USD");
  equal(rates.body[0]?.rate, "9", rates.text);
  ok((await realm.admin.send("GET", "/v1/audit")).status === 200);
});

Deno.test("realms that were made without roles are read where others have roles", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url, REALM_ROLES: "off" } });
  equal(await serveWithLess(realm.database), true);
  const location = locationOf(realm.made.realm);
  equal(location.role, null);
  const name = await reading(realm.database.sharedPool(location), async (db) => {
    await db`select id from users`;
    return (await db<{ name: string }[]>`select session_user::text as name`)[0].name;
  });
  equal(name, new URL(own.url).username);
  equal((await realm.admin.send("GET", "/v1/auth/me")).status, 200);
});

Deno.test("a realm that is made by a process whose roles do not log in is read by processes whose roles do, at once", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  equal(await serveWithLess(realm.database), true);
  await using other = realm.another({ DATABASE_URL: own.url, REALM_LOGINS: "off" });
  const made = await other.send(PLATFORM_KEY)("POST", "/v1/realms", {
    name: "later",
    admin: { email: "a@b.example", password: PASSWORD },
  });
  equal(made.status, 201, made.text);
  const { platform } = realm.database;
  const row = await reading(platform, (db) => selectRealm(db, made.body.id));
  equal(typeof await selectDue(realm.database.sharedPool(locationOf(row!))), "boolean");
});

Deno.test("the platform's login whose key was lost is drawn anew where that is asked for, and not else", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  equal(await serveWithLess(realm.database), true);
  const logins = loginsUnder(openSecrets("the-next-key-of-the-platform"));
  const later = openDatabase({ url: own.url, prepare: true, parseJson: JSON.parse, logins });
  const nameOf = async () =>
    (await later.platform.sql<{ name: string }[]>`select session_user::text as name`)[0].name;
  try {
    equal(await serveWithLess(later), false);
    equal(await nameOf(), new URL(own.url).username);
    equal(await serveWithLess(later, true), true);
    ok((await nameOf()).startsWith("platform_"));
    equal(await serveWithLess(later), true);
  } finally {
    await later.close();
  }
});
