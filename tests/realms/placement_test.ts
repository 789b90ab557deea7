/** New realms are made where the settings say: in the database of their zone, on a second server. @module */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import postgres from "postgres";
import { type EmbeddedPostgres, startEmbedded } from "../../db/embedded/embedded.ts";
import { restateAll } from "../../domain/realms/migrations.ts";
import { commandHost } from "../support/command_host.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { freePort } from "../support/ports.ts";
import { PASSWORD, type Send, testRealm } from "../support/realm.ts";

let root = "";
let other: EmbeddedPostgres;

async function startServer(dataDir: string, port = freePort()): Promise<EmbeddedPostgres> {
  return await startEmbedded({ dataDir, port, settings: { fsync: "off" } });
}

Deno.test.beforeAll(async () => {
  root = await Deno.makeTempDir({ prefix: "purser-placement-" });
  await Deno.chmod(root, 0o755);
  other = await startServer(`${root}/data`);
});

Deno.test.afterAll(async () => {
  await other.stop();
  await Deno.remove(root, { recursive: true });
});

/** The settings of a process whose realms of the zone EU are made on the other server. */
function settings(database: string, target = other.url): Record<string, string> {
  return {
    DATABASE_URL: database,
    DATABASE_HOSTS: new URL(target).host,
    REALM_DATABASE_URL_EU: target,
  };
}

const admin = { email: "boss@made.example", password: PASSWORD };

async function make(send: Send, more: Record<string, unknown> = {}, key = crypto.randomUUID()) {
  return await send("POST", "/v1/realms", { name: "made", admin, ...more }, {
    "idempotency-key": key,
  });
}

async function onServer(url: string, text: string): Promise<string[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return (await sql.unsafe(text).values()).map(([name]) => `${name}`);
  } finally {
    await sql.end();
  }
}

/** The schemas of realms in a database. */
async function schemasIn(url: string): Promise<string[]> {
  return await onServer(url, "select nspname from pg_namespace where nspname like 'realm_%'");
}

const schemaOf = (id: string) => `realm_${id.replaceAll("-", "")}`;

Deno.test("a realm is made in the database of its zone, and is found there when the setting is gone", async () => {
  await using own = await realmDatabase();
  await using elsewhere = await testDatabase();
  await using realm = await testRealm({ env: settings(own.url) });
  const before = await schemasIn(own.url);
  const key = crypto.randomUUID();
  const made = await make(realm.operator, { zone: "EU" }, key);
  equal(made.status, 201, made.text);
  equal(made.text.includes("postgres"), false);
  deepEqual(await schemasIn(other.url), [schemaOf(made.body.id)]);
  deepEqual(await schemasIn(own.url), before);
  // A repeat builds nothing.
  equal((await make(realm.operator, { zone: "EU" }, key)).text, made.text);
  equal((await schemasIn(other.url)).length, 1);
  const usual = await make(realm.operator);
  equal(usual.status, 201, usual.text);
  ok((await schemasIn(own.url)).includes(schemaOf(usual.body.id)));
  const named = await make(realm.operator, { zone: "EU", database_url: elsewhere.url });
  equal(named.status, 201, named.text);
  deepEqual(await schemasIn(elsewhere.url), [schemaOf(named.body.id)]);
  equal((await schemasIn(other.url)).length, 1);
  deepEqual(await onServer(own.url, "select id from platform.realm_provisioning"), []);
  await using later = realm.another({ DATABASE_URL: own.url });
  for (const { body } of [made, usual, named]) {
    const login = await later.send(body["x-api-key"])("POST", "/v1/auth/admins/login", {
      realm_key: body.realm_key,
      ...admin,
    });
    equal(login.status, 200, login.text);
  }
});

Deno.test("where the server of a zone is down its realms are not made, nothing is left, and other zones go on", async () => {
  await using own = await realmDatabase();
  const first = await startServer(`${root}/down`);
  const { port, password } = new URL(first.url);
  await first.stop();
  await using realm = await testRealm({ env: settings(own.url, first.url) });
  const key = crypto.randomUUID();
  const down = await make(realm.operator, { zone: "EU" }, key);
  deepEqual([down.status, down.body.code], [503, "service.overloaded"], down.text);
  match(down.text, /no realm can be made by REALM_DATABASE_URL_EU: the database cannot be used/);
  equal(down.text.includes(password), false);
  ok(Number(down.headers.get("retry-after")) > 0);
  deepEqual(await onServer(own.url, "select id from platform.realm_provisioning"), []);
  deepEqual(await onServer(own.url, "select zone from platform.realms where zone = 'EU'"), []);
  equal((await make(realm.operator, { zone: "US" })).status, 201);
  await using _second = await startServer(`${root}/down`, Number(port));
  deepEqual(await schemasIn(first.url), []);
  const up = await make(realm.operator, { zone: "EU" }, key);
  equal(up.status, 201, up.text);
  deepEqual(await schemasIn(first.url), [schemaOf(up.body.id)]);
});

Deno.test("a login for new realms that may make no roles is told, and what was begun is dropped", async () => {
  await using own = await realmDatabase();
  const weak = new URL(other.url);
  weak.username = "weak";
  weak.password = "of a login that makes no roles";
  weak.pathname = "/weak";
  await onServer(
    other.superuserUrl,
    `create role weak login password '${decodeURIComponent(weak.password)}'`,
  );
  await onServer(other.superuserUrl, "create database weak owner weak");
  await using realm = await testRealm({ env: settings(own.url, weak.href) });
  const refused = await make(realm.operator, { zone: "EU" });
  deepEqual([refused.status, refused.body.code], [503, "service.overloaded"], refused.text);
  match(refused.body.detail, /REALM_DATABASE_URL_EU: the database cannot be used \(42501\)$/);
  deepEqual(await schemasIn(weak.href), []);
  deepEqual(await onServer(own.url, "select id from platform.realm_provisioning"), []);
});

Deno.test("the commands make a realm in the database of its zone, and list it there with its size", async () => {
  await using own = await testDatabase();
  await using host = await commandHost();
  const env = settings(own.url);
  const flags = ["--name", "made", "--email", admin.email, "--zone", "EU"];
  const made = await host.run(own.url, "realm", ["create", ...flags], env, `${PASSWORD}\n`);
  equal(made.code, 0, made.said);
  const { id } = JSON.parse(made.out);
  ok((await schemasIn(other.url)).includes(schemaOf(id)));
  const listed = await host.run(own.url, "realm", ["list"], env);
  equal(listed.code, 0, listed.said);
  const [line, ...more] = listed.out.trim().split("\n").map((text) => JSON.parse(text));
  deepEqual(more, []);
  const { host: server } = new URL(other.url);
  deepEqual([line.id, line.zone, line.server], [id, "EU", `${server}/purser`]);
  ok(line.bytes > 0);
  for (const { out, said } of [made, listed]) {
    equal(`${out}${said}`.includes(new URL(other.url).password), false);
  }
});

Deno.test("a new password of the login for new realms reaches the realms that were made before", async () => {
  await using own = await realmDatabase();
  const database = new URL(other.url);
  database.pathname = "/rotated";
  database.username = "rotated";
  database.password = "first";
  await onServer(other.superuserUrl, "create role rotated login createrole password 'first'");
  await onServer(other.superuserUrl, "create database rotated owner rotated");
  await using realm = await testRealm({ env: settings(own.url, database.href) });
  const made = await make(realm.operator, { zone: "EU" });
  equal(made.status, 201, made.text);
  await onServer(other.superuserUrl, "alter role rotated password 'second'");
  database.password = "second";
  const migrated = async (url: string) => {
    await using later = realm.another(settings(own.url, url));
    const { migrations } = realm.services;
    return await restateAll(later.database, migrations, () => {}, { every: true });
  };
  deepEqual(await migrated(other.url), [made.body.id], "the stored password holds no more");
  deepEqual(await migrated(database.href), []);
});

Deno.test("who makes a realm does not get at the login of a setting without its password, in whichever zone", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: settings(own.url) });
  const before = await schemasIn(other.url);
  const { password } = new URL(other.url);
  for (const given of ["", "wrong", `${password}x`]) {
    const url = new URL(other.url);
    url.password = given;
    for (const zone of ["EU", "US"]) {
      const refused = await make(realm.operator, { zone, database_url: url.href });
      deepEqual([refused.status, refused.body.code], [400, "request.invalid"], refused.text);
      match(refused.body.detail, /the database cannot be used \(28P01\)/);
    }
  }
  deepEqual(await schemasIn(other.url), before);
  deepEqual(await onServer(own.url, "select id from platform.realm_provisioning"), []);
  const made = await make(realm.operator, { zone: "US", database_url: other.url });
  equal(made.status, 201, made.text);
  equal((await schemasIn(other.url)).length, before.length + 1);
});
