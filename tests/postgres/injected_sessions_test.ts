import { deepEqual, equal, ok } from "node:assert/strict";
import { readMigrations } from "../../db/migrate.ts";
import { openDatabase } from "../../db/database.ts";
import { migrateAll, restateAll } from "../../domain/realms/migrations.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { realmDatabase } from "../support/database.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";

/** A new process's answers to a read and to a change of a realm. */
async function asNew(realm: TestRealm, url: string): Promise<[number, number]> {
  await using started = realm.another({ DATABASE_URL: url });
  const send = started.send(realm.admin.key);
  const read = await send("GET", `/v1/users/${realm.admin.id}`);
  if (read.status === 200) equal(read.body.created_at, (await known(realm)).created_at);
  return [read.status, (await send("POST", "/v1/identities", {})).status];
}

async function known(realm: TestRealm) {
  return (await realm.admin.send("GET", `/v1/users/${realm.admin.id}`)).body;
}

Deno.test("settings that an injected statement leaves on its role hold up its realm alone, and are reset", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using second = await realm.neighbour();
  const { url } = own;
  const location = locationOf(realm.made.realm);
  const [serving, working] = [realm.database.realm(location), realm.pool];
  const name = new URL(url).pathname.slice(1);
  const migrations = await readMigrations();
  const told: string[] = [];
  const tell = (_: string, message: string) => told.push(message);
  for (const pool of [serving, working]) {
    for (
      const setting of [
        "search_path = pg_catalog",
        "statement_timeout = 1",
        "idle_in_transaction_session_timeout = 1",
        "lock_timeout = 1",
        "default_transaction_isolation = serializable",
        "datestyle = german",
        "bytea_output = escape",
        "standard_conforming_strings = off",
        "timezone = 'Asia/Tokyo'",
        "synchronous_commit = off",
      ]
    ) {
      await pool.sql.unsafe(`alter role current_user set ${setting}`);
      await pool.sql.unsafe(`alter role current_user in database ${name} set ${setting}`);
    }
  }
  await working.sql.unsafe(`alter role current_user set role = '${location.role}'`);
  deepEqual(await asNew(realm, url), [200, 201], "each connection states its own settings");
  await serving.sql.unsafe("alter role current_user set default_transaction_read_only = on");
  deepEqual((await asNew(realm, url))[1], 503); // what only reads may be answered
  deepEqual(await asNew(second, url), [200, 201]);
  deepEqual(await migrateAll(realm.database, migrations, tell), []); // as each start does
  deepEqual(told, ["a realm has its rights again"]);
  deepEqual(await asNew(realm, url), [200, 201]);
  const { sql } = realm.database.platform;
  deepEqual(
    await sql`select setconfig from pg_db_role_setting where setrole in
    (select oid from pg_roles where rolname in (${location.role}, ${`${location.role}_worker`}))`,
    [],
  );

  await serving.sql.unsafe("alter role current_user password 'known to somebody'");
  deepEqual(await asNew(realm, url), [503, 503]);
  deepEqual(await asNew(second, url), [200, 201]);
  deepEqual(await restateAll(realm.database, migrations, tell, { every: true }), []); // as `migrate` does
  deepEqual(await asNew(realm, url), [200, 201]);
});

Deno.test("locks that anybody may take keep no migration waiting", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const location = locationOf(realm.made.realm);
  const migrations = await readMigrations();
  const held = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const holding = realm.database.realm(location).sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select pg_advisory_xact_lock(hashtext('purser migrations')),
      pg_advisory_xact_lock(hashtext(${location.schema}))`;
    for (const table of ["migrations", "accounts", "entries"]) {
      await tx`lock table ${tx(table)} in access share mode`; // the strongest that it may
    }
    held.resolve();
    await over.promise;
  });
  await held.promise;
  const database = openDatabase({
    url: own.url,
    prepare: true,
    parseJson: JSON.parse,
    logins: realm.database.logins,
  });
  try {
    const waited: string[] = [];
    const work = (async () => {
      waited.push(...await migrateAll(database, migrations, () => {}));
      waited.push(...await restateAll(database, migrations, () => {}, { every: true }));
      return "done";
    })();
    equal(await work, "done");
    deepEqual(waited, []);
    ok((await realm.currency("5")).account.length > 0);
  } finally {
    over.resolve();
    await holding;
    await database.close();
  }
});
