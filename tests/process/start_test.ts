import { deepEqual, equal, match } from "node:assert/strict";
import { openSecrets } from "../../domain/security/serving_secrets.ts";
import { claimPlatformKey } from "../../domain/security/platform_key.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { freePort } from "../support/ports.ts";
import { PASSWORD, PLATFORM_KEY, testRealm } from "../support/realm.ts";

const MAIN = new URL("../../main.ts", import.meta.url);

/** Runs a command with a database; gives what it says where it is refused. */
async function refused(command: string, url: string, key = PLATFORM_KEY): Promise<string> {
  const flags = ["--cached-only", "--allow-net", "--allow-read", "--allow-write", "--allow-env"];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", ...flags, MAIN.href, command],
    env: {
      DATABASE_URL: url,
      PLATFORM_KEY: key,
      MASTER_KEY: btoa("0123456789abcdef0123456789abcdef"),
      LOG_LEVEL: "info",
    },
  }).output();
  const said = new TextDecoder().decode(stderr);
  equal(success, false, said);
  return said;
}

Deno.test("a process with another platform key changes nothing before it is refused", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { builder } = realm.database;
  await claimPlatformKey(builder, openSecrets(PLATFORM_KEY));
  const { role, schema } = locationOf(realm.made.realm);
  await builder.sql.unsafe(`revoke all on all tables in schema "${schema}" from "${role}"`);
  // Migrations that it would apply, if it came so far.
  await builder.sql`alter table platform.migrations rename to kept`;
  match(await refused("migrate", own.url, "another-key-of-the-platform"), /^PLATFORM_KEY is not/);
  const [{ made }] = await builder.sql<{ made: boolean }[]>`
    select to_regclass('platform.migrations') is not null as made`;
  equal(made, false);
  await builder.sql`alter table platform.kept rename to migrations`;
  match(await refused("migrate", own.url, "another-key-of-the-platform"), /^PLATFORM_KEY is not/);
  const [{ may }] = await builder.sql<{ may: boolean }[]>`
    select has_table_privilege(${role}, ${`${schema}.accounts`}, 'select') as may`;
  equal(may, false, "no realm was given its rights");
});

Deno.test("a database that cannot hold every text is refused at the start, and as that of a realm", async () => {
  await using latin = await testDatabase("LATIN1");
  match(
    await refused("migrate", latin.url),
    /^the database of DATABASE_URL cannot be used: its encoding is LATIN1, and UTF8 is needed/,
  );
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const made = await realm.operator("POST", "/v1/realms", {
    name: "elsewhere",
    admin: { email: "a@b.example", password: PASSWORD },
    database_url: latin.url,
  });
  deepEqual([made.status, made.body.code, made.body.errors[0].path], [
    400,
    "request.invalid",
    "/database_url",
  ]);
  match(made.body.errors[0].message, /its encoding is LATIN1/);
});

Deno.test("a database that does not answer, or does not exist, is named by its setting", async () => {
  const named = /^the database of DATABASE_URL cannot be used: /;
  const away = await refused("migrate", `postgres://a@127.0.0.1:${freePort()}/b`);
  match(away, named);
  match(away, /ECONNREFUSED/);
  await using own = await testDatabase();
  const missing = new URL(own.url);
  missing.pathname = "/nowhere";
  const said = await refused("migrate", missing.href);
  match(said, named);
  match(said, /"nowhere" does not exist/);
});
