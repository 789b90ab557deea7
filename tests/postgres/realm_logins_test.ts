import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import postgres from "postgres";
import { type Database, openDatabase } from "../../db/database.ts";
import { isSuperuser } from "../../db/health.ts";
import { readMigrations } from "../../db/migrate.ts";
import { type RealmRow, selectRealm } from "../../db/realms/realms.ts";
import { reading } from "../../db/transaction.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { restateAll } from "../../domain/realms/migrations.ts";
import { reencryptAll } from "../../domain/realms/platform_key_rotation.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { loginsUnder, openSecrets } from "../../domain/security/serving_secrets.ts";
import { realmDatabase, superuserUrl, testDatabase } from "../support/database.ts";
import { patientProbes } from "../support/held_timers.ts";
import { PASSWORD, PLATFORM_KEY, type TestRealm, testRealm } from "../support/realm.ts";

const NEW_KEY = "the-next-key-of-the-platform";

Deno.test("the API's own connections cannot put off their role", async () => {
  await using realm = await testRealm();
  const serving = realm.database.realm(locationOf(realm.made.realm));
  const role = realm.made.realm.role_name!;
  const owner = new URL(realm.services.config.databaseUrl!).username;
  const [me] = await serving.sql<{ session: string; now: string }[]>`
    select session_user::text as session, current_user::text as now`;
  deepEqual({ ...me }, { session: role, now: role });
  for (
    const text of [
      `set role ${owner}`,
      `set role ${role}_worker`,
      `set session authorization ${owner}`,
      `select set_config('role', '${owner}', false)`,
      `select set_config('role', '${role}_worker', false)`,
      `select set_config('session_authorization', '${owner}', false)`,
    ]
  ) await rejects(serving.sql.unsafe(text), /permission denied|must be able|must be member/, text);
  for (const text of ["reset role", "reset session authorization", "set role none"]) {
    const left = await serving.sql.begin(async (tx) => {
      await tx.unsafe(text);
      return (await tx<{ now: string }[]>`select current_user::text as now`)[0].now;
    });
    equal(left, role, text);
  }
  const [queue] = await realm.database.postingPool(locationOf(realm.made.realm)).sql<
    { session: string }[]
  >`
    select session_user::text as session`;
  equal(queue.session, role);
  const [worker] = await realm.pool.sql<
    { session: string }[]
  >`select session_user::text as session`;
  equal(worker.session, `${role}_worker`);
});

Deno.test("a realm's logins open with the platform key alone", async () => {
  await using realm = await testRealm();
  const url = new URL(realm.services.config.databaseUrl!);
  url.username = realm.made.realm.role_name!;
  for (const password of ["", "purser", url.username]) {
    url.password = password;
    const sql = postgres(url.href, { max: 1, fetch_types: false });
    await rejects(Promise.resolve(sql`select 1`), /password|28P01/);
    await sql.end();
  }
  const other = openDatabase({
    url: realm.services.config.databaseUrl!,
    prepare: true,
    parseJson: parseStoredJson,
    logins: loginsUnder(openSecrets("another key of a platform")),
  });
  const encrypted = locationOf(realm.made.realm);
  await rejects(
    async () => await other.realm(encrypted).sql`select 1`,
    /encrypted under another key/,
  );
  const login = other.logins!.draw(encrypted.id);
  await rejects(
    async () => await other.working({ ...encrypted, login }).sql`select 1`,
    /password authentication failed/,
  );
  await other.close();
});

Deno.test("without logins the role is taken on, and the rights are the same", async () => {
  await using realm = await testRealm({ env: { REALM_LOGINS: "off" } });
  const { account } = await realm.currency("60");
  const serving = realm.database.realm(locationOf(realm.made.realm));
  const [me] = await serving.sql<{ session: string; now: string }[]>`
    select session_user::text as session, current_user::text as now`;
  ok(me.session !== me.now);
  equal(me.now, realm.made.realm.role_name);
  await rejects(
    async () => await serving.sql`update accounts set total = total + 1`,
    /permission denied/,
  );
  equal((await realm.admin.send("GET", `/v1/accounts/${account}`)).body.balance.total, "60");
});

/** The pools of a process with a platform key, and perhaps the one before. */
function processWith(url: string, key: string, previous: string | null = null) {
  const secrets = openSecrets(key, previous);
  return openDatabase({
    url,
    prepare: true,
    parseJson: parseStoredJson,
    decryptUrl: (encryptedUrl, id) => secrets.decrypt("database_url", id, encryptedUrl),
    logins: loginsUnder(secrets),
  });
}

/** Reads a realm's entry in the directory as it is now. */
async function entryOf(realm: TestRealm, id: string): Promise<RealmRow> {
  return (await reading(realm.database.platform, (db) => selectRealm(db, id)))!;
}

/** Connects as both roles of a realm; tells as whom. */
async function connectAs(database: Database, row: RealmRow): Promise<string[]> {
  const names: string[] = [];
  for (const pool of [database.realm(locationOf(row)), database.working(locationOf(row))]) {
    const [{ name }] = await pool.sql<{ name: string }[]>`select session_user::text as name`;
    names.push(name);
  }
  return names;
}

/** Makes a realm in a database of its own. */
async function makeElsewhere(realm: TestRealm, url: string): Promise<string> {
  const made = await realm.operator("POST", "/v1/realms", {
    name: "elsewhere",
    database_url: url,
    admin: { email: "a@b.example", password: PASSWORD },
  });
  equal(made.status, 201, made.text);
  return made.body.id;
}

Deno.test("roles, passwords and rights that were lost come back by a command, also in a realm's own database", async () => {
  await using own = await realmDatabase();
  await using elsewhere = await testDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const ids = [realm.id, await makeElsewhere(realm, elsewhere.url)];
  const migrations = await readMigrations();
  for (const id of ids) {
    const row = await entryOf(realm, id);
    const role = row.role_name!;
    const owner = realm.database.owner(locationOf(row));
    for (
      const text of [
        `revoke all on all tables in schema "${role}" from "${role}", "${role}_worker"`,
        `grant update on accounts to "${role}"`,
        `alter role "${role}" nologin`,
        `alter role "${role}_worker" password null`,
      ]
    ) await owner.sql.unsafe(text);
    await owner.sql.end();
  }
  const database = processWith(own.url, PLATFORM_KEY);
  try {
    for (const id of ids) await rejects(connectAs(database, await entryOf(realm, id)));
    deepEqual(await restateAll(database, migrations, () => {}, { every: true }), []);
    for (const id of ids) {
      const row = await entryOf(realm, id);
      deepEqual(await connectAs(database, row), [row.role_name, `${row.role_name}_worker`]);
      const { sql } = database.realm(locationOf(row));
      await sql`select total from accounts`;
      await rejects(async () => await sql`update accounts set total = 9`, /permission denied/);
    }
    // Reads of a realm in a database of its own are its worker's, from the beginning of the connection.
    const apart = await entryOf(realm, ids[1]);
    const passes = database.sharedPool(locationOf(apart));
    const [{ name }] = await passes.sql<{ name: string }[]>`select session_user::text as name`;
    deepEqual([passes.settings, name], ["", `${apart.role_name}_worker`]);
  } finally {
    await database.close();
  }
});

Deno.test("while the platform key changes, processes with the old, with both and with the new one connect", async () => {
  await using own = await realmDatabase();
  await using elsewhere = await testDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const ids = [realm.id, await makeElsewhere(realm, elsewhere.url)];
  const migrations = await readMigrations();
  const [old, both, fresh] = [
    processWith(own.url, PLATFORM_KEY),
    processWith(own.url, NEW_KEY, PLATFORM_KEY),
    processWith(own.url, NEW_KEY),
  ];
  const before = await Promise.all(ids.map((id) => entryOf(realm, id)));
  try {
    for (const row of before) for (const one of [old, both]) await connectAs(one, row);
    await restateAll(both, migrations, () => {}, { every: true }); // a start, or `migrate`, in between
    for (const row of before) await connectAs(old, row);
    equal(await reencryptAll(both, openSecrets(NEW_KEY, PLATFORM_KEY)), 3);
    const after = await Promise.all(ids.map((id) => entryOf(realm, id)));
    for (const row of after) for (const one of [both, fresh]) await connectAs(one, row);
    // Logins that a process with the old key has read before still decrypt, on new connections too.
    const late = processWith(own.url, PLATFORM_KEY);
    for (const row of before) await connectAs(late, row);
    for (const row of after) {
      await rejects(connectAs(processWith(own.url, PLATFORM_KEY), row), /under another key/);
    }
    await late.close();
  } finally {
    for (const one of [old, both, fresh]) await one.close();
  }
});

Deno.test("logins whose platform key was lost are drawn anew where that is asked for, and not else", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const migrations = await readMigrations();
  const row = await entryOf(realm, realm.id);
  const database = processWith(own.url, NEW_KEY);
  try {
    deepEqual(await restateAll(database, migrations, () => {}, { every: true }), [realm.id]);
    deepEqual((await entryOf(realm, realm.id)).login, row.login);
    await connectAs(realm.database, row);
    const anew = { every: true, newLogins: true };
    deepEqual(await restateAll(database, migrations, () => {}, anew), []);
    await connectAs(database, await entryOf(realm, realm.id));
    const late = processWith(own.url, PLATFORM_KEY);
    await rejects(connectAs(late, row), /password authentication failed/);
    await late.close();
  } finally {
    await database.close();
  }
});

Deno.test("a superuser behind DATABASE_URL is reported", async () => {
  await using realm = await testRealm();
  using _held = patientProbes();
  const { body } = await realm.nobody("GET", "/health/ready");
  deepEqual([body.checks.database.superuser, body.checks.database.isolation], [
    false,
    "schema and login",
  ]);
  equal(await reading(realm.database.platform, isSuperuser), false);
  const root = openDatabase({ url: superuserUrl(), prepare: true, parseJson: parseStoredJson });
  equal(await reading(root.platform, isSuperuser), true);
  await root.close();
});
