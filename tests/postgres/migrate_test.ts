import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { openDatabase, type Sql } from "../../db/database.ts";
import {
  migratePlatform,
  migrateRealm,
  type Migration,
  type Migrations,
  readMigrations,
} from "../../db/migrate.ts";
import { migrateAll, migrateRealms } from "../../domain/realms/migrations.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { LOCKS_HERE } from "../support/locks.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";

/** Runs the work in an empty database. */
async function withDatabase(work: (sql: Sql) => Promise<void>): Promise<void> {
  await using empty = await testDatabase();
  const database = openDatabase({ url: empty.url, prepare: true, parseJson: JSON.parse });
  await work(database.platform.sql).finally(() => database.close());
}

function step(number: number, text: string): Migration {
  return { number, name: `step_${number}`, text, checksum: String(text.length) };
}

Deno.test("migratePlatform() applies each file once, also when several processes begin at once", async () => {
  await withDatabase(async (sql) => {
    const migrations = [step(1, "create table a (x int)"), step(2, "insert into a values (1)")];
    const applied = await Promise.all([1, 2, 3].map(() => migratePlatform(sql, migrations)));
    deepEqual(applied.sort(), [0, 0, 2]);
    const rows = await sql`select x from platform.a`;
    equal(rows.length, 1);
  });
});

Deno.test("migratePlatform() refuses a changed file and a database that is ahead, changing nothing", async () => {
  await withDatabase(async (sql) => {
    const first = step(1, "create table a (x int)");
    await migratePlatform(sql, [first, step(2, "create table b (x int)")]);
    await rejects(migratePlatform(sql, [first]), /ahead of this version/);
    const changed = { ...first, checksum: "other" };
    await rejects(
      migratePlatform(sql, [changed, step(2, "create table b (x int)")]),
      /was changed/,
    );
    const broken = [
      first,
      step(2, "create table b (x int)"),
      step(3, "create table c (x int); oops"),
    ];
    await rejects(migratePlatform(sql, broken));
    const [{ c }] = await sql`select to_regclass('platform.c') as c`;
    equal(c, null);
  });
});

Deno.test("migrateRealm() is done at once when nothing is due", async () => {
  await using realm = await testRealm();
  const migrations = await readMigrations();
  const { sql } = realm.database.platform;
  const place = { schema: realm.made.realm.schema_name, role: realm.made.realm.role_name };
  const applied = await sql.begin((tx) => migrateRealm(tx, migrations, place));
  equal(applied, 0);
});

/** The migrations with one more migration of realms. */
async function longer(text: string): Promise<Migrations> {
  const migrations = await readMigrations();
  return { ...migrations, realm: [...migrations.realm, step(migrations.realm.length + 1, text)] };
}

async function schemaVersionOf(realm: TestRealm): Promise<number> {
  const { sql } = realm.database.platform;
  const [row] = await sql`select schema_version from realms where id = ${realm.id}`;
  return row.schema_version;
}

Deno.test("a realm that cannot be migrated keeps no other from it, answers 503, and is migrated later", async () => {
  await using own = await realmDatabase();
  await using first = await testRealm({ env: { DATABASE_URL: own.url } });
  await using second = await first.neighbour();
  const { sql } = first.database.platform;
  const { schema } = locationOf(first.made.realm);
  await sql.unsafe(`create table "${schema}".added ()`); // in the way
  const migrations = await longer("create table added (id integer)");
  const schemaVersion = migrations.realm.length;
  const told: string[] = [];
  const tell = (level: string, message: string) => told.push(`${level}: ${message}`);
  deepEqual(await migrateAll(first.database, migrations, tell), [first.id]);
  deepEqual([await schemaVersionOf(first), await schemaVersionOf(second)], [
    schemaVersion - 1,
    schemaVersion,
  ]);
  deepEqual(told.sort(), ["error: a realm could not be migrated", "info: migrated a realm"]);
  const url = own.url;
  const newer = openDatabase({ url, prepare: true, parseJson: JSON.parse, schemaVersion });
  try {
    const [behind, there] = await rowsOfBoth(sql, [first.id, second.id]);
    for (const kind of ["realm", "sharedPool", "postingPool"] as const) {
      await rejects(
        newer[kind]({ ...locationOf(first.made.realm), schemaVersion: behind }).enter(),
        {
          name: "Contention",
        },
      );
      (await newer[kind]({ ...locationOf(second.made.realm), schemaVersion: there }).enter())();
    }
    await sql.unsafe(`drop table "${schema}".added`);
    deepEqual(await migrateRealms(first.database, migrations, tell), []);
    equal(await schemaVersionOf(first), schemaVersion);
  } finally {
    await newer.close();
  }
});

async function rowsOfBoth(sql: Sql, ids: string[]): Promise<number[]> {
  const rows = await sql`select id, schema_version from realms`;
  return ids.map((id) => rows.find((row) => row.id === id)!.schema_version);
}

Deno.test("a migration that waits for a long reader lets transfers pass, and is tried again", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { account, name } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const migrations = await longer("alter table accounts add column added integer");
  const reading = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const reader = realm.pool.sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select id from accounts limit 1`;
    reading.resolve();
    await over.promise;
  });
  await reading.promise;
  let migrated = false;
  const migrating = migrateRealms(realm.database, migrations, () => {}).then((left) => {
    migrated = true;
    return left;
  });
  const waiting = `select 1 from ${LOCKS_HERE} l
    where l.relation = 'accounts'::regclass and not l.granted and l.mode = 'AccessExclusiveLock'`;
  await until(async () => (await rowsOf(realm, waiting)).length > 0);
  const move = { source: { account }, destination: { account: other }, value: "1" };
  equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  equal(migrated, false);
  over.resolve();
  await reader;
  deepEqual(await migrating, []);
});

Deno.test("a migration of realms that was changed after it was applied stops the start", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const migrations = await readMigrations();
  deepEqual(await migrateAll(realm.database, migrations, () => {}), []);
  const changed = migrations.realm.map((file, at) =>
    at === 2 ? { ...file, checksum: "other" } : file
  );
  await rejects(
    migrateAll(realm.database, { ...migrations, realm: changed }, () => {}),
    /migration 3 .* was changed/,
  );
});

Deno.test("a realm that was restored without its role, or without its rights, has both again after a start", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using second = await realm.neighbour();
  const { account } = await realm.currency("10");
  const migrations = await readMigrations();
  const { sql } = realm.database.platform;
  const [lost, bare] = [realm, second].map((one) => locationOf(one.made.realm));
  await sql.unsafe(`drop owned by "${lost.role}"; drop role "${lost.role}";
    revoke all on all tables in schema "${bare.schema}" from "${bare.role}"`);
  ok((await realm.admin.send("GET", `/v1/accounts/${account}`)).status >= 500);
  const told: string[] = [];
  const tell = (level: string, message: string) => told.push(`${level}: ${message}`);
  deepEqual(await migrateAll(realm.database, migrations, tell), []);
  deepEqual(told, Array(2).fill("info: a realm has its rights again"));
  await using started = realm.another({ DATABASE_URL: own.url });
  const send = started.send(realm.admin.key);
  equal((await send("GET", `/v1/accounts/${account}`)).status, 200);
  equal((await send("POST", `/v1/accounts/${account}/freeze`)).status, 200);
  ok((await second.currency("5")).account.length > 0);
  const [{ may }] = await sql`
    select has_table_privilege(${bare.role}, ${`${bare.schema}.entries`}, 'update') as may`;
  equal(may, false);
  deepEqual(await migrateAll(realm.database, migrations, tell), []);
  equal(told.length, 2);
});
