/** Index steps: indexes that are made while their tables are read and written, and what stops them. @module */
import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { plainStatement, readIndexStep } from "../../db/index_steps.ts";
import { migratePlatform, readSequence } from "../../db/migrate.ts";
import { migrateAll, migrateRealms } from "../../domain/realms/migrations.ts";
import { realmDatabase, testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import {
  asOwner,
  BARRED,
  closedBarrier,
  COLUMN,
  INDEX,
  migrating,
  recordedIn,
  schemaOf,
  startMigrator,
  UNIQUE,
  untilBuilding,
  validityOf,
} from "../support/index_steps.ts";
import { migrationNumbered, oneMore } from "../support/one_more_migration.ts";
import { PASSWORD, testRealm } from "../support/realm.ts";

Deno.test("an index step is one statement of one form, and its file is numbered as others", async () => {
  const step = readIndexStep(`-- What: …\n\n-- Why: …\n${UNIQUE};\n`);
  equal(plainStatement(step), "create unique index if not exists one_added on accounts (added)");
  for (
    const text of [
      "",
      COLUMN,
      `${INDEX}; ${INDEX}`,
      INDEX.replace("on ", "on platform."),
      "create index x on y (z)",
    ]
  ) {
    throws(() => readIndexStep(text), /an index step is one statement/, text);
  }
  const folder = await Deno.makeTempDir({ prefix: "purser-migrations-" });
  try {
    await Deno.writeTextFile(`${folder}/0001_things.sql`, "create table things (id integer)");
    await Deno.writeTextFile(`${folder}/0002_by_id.index.sql`, INDEX);
    const url = new URL(`file://${folder}/`);
    const [first, second] = await readSequence(url);
    deepEqual([first.index, second.index?.name, second.name], [undefined, "by_added", "by_id"]);
    await Deno.writeTextFile(`${folder}/0002_by_id.index.sql`, COLUMN);
    await rejects(readSequence(url), /0002_by_id\.index\.sql: an index step is one statement/);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("an index of a realm is made while it is written, after the column of the same version; in new realms at once", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { account, name } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const barrier = await closedBarrier(realm, own.url);
  const texts = [COLUMN, BARRED, "create table after_it (id integer)"];
  const { left } = migrating(realm, realm.services.migrations, ...texts);
  await untilBuilding(realm);
  const move = { source: { account }, destination: { account: other }, value: "1" };
  equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [1, false]);
  await barrier.end();
  deepEqual(await left, []);
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [3, true]);
  realm.services.provisioning.migrations = oneMore(realm.services.migrations, ...texts);
  const made = await realm.operator("POST", "/v1/realms", {
    name: "made later",
    admin: { email: "a@b.example", password: PASSWORD },
  });
  equal(made.status, 201, made.text);
  const schema = `realm_${made.body.id.replaceAll("-", "")}`;
  equal(await validityOf(realm, "by_added", schema), true);
});

Deno.test("a build whose process was killed is waited for, and one that was stopped is made anew", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await realm.currency("10");
  const { migrations } = realm.services;
  const barredUnique = BARRED.replace("create index", "create unique index")
    .replace("by_added on accounts (added)", "one_added on accounts (id)");
  const killed = async (...texts: string[]) => {
    const process = startMigrator(own.url, texts);
    const pid = await untilBuilding(realm);
    process.kill("SIGKILL");
    await process.status;
    return pid;
  };
  // Its session goes on: the next process waits for its end and finds the index.
  let barrier = await closedBarrier(realm, own.url);
  await killed(COLUMN, BARRED);
  let polls = 0;
  await using second = realm.another({ DATABASE_URL: own.url }, (text) => {
    if (text.includes("pg_stat_progress_create_index")) polls++;
  });
  const next = migrating(second, migrations, COLUMN, BARRED);
  await until(() => polls > 2);
  await barrier.end();
  deepEqual([await next.left, next.errors], [[], []]);
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [2, true]);
  // A session that was ended leaves an index that is not valid.
  barrier = await closedBarrier(realm, own.url);
  const pid = await killed(COLUMN, BARRED, barredUnique);
  await asOwner(realm, `select pg_terminate_backend(${pid})`);
  await until(async () =>
    (await asOwner(realm, `select 1 from pg_stat_activity where pid = ${pid}`)).length === 0
  );
  equal(await validityOf(realm, "one_added"), false);
  await barrier.end();
  deepEqual(await migrating(realm, migrations, COLUMN, BARRED, barredUnique).left, []);
  deepEqual([await recordedIn(realm), await validityOf(realm, "one_added")], [3, true]);
});

Deno.test("a unique index that the rows of a realm break names the realm, leaves nothing, and is made later", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using second = await realm.neighbour();
  const { migrations } = realm.services;
  deepEqual(await migrateRealms(realm.database, oneMore(migrations, COLUMN), () => {}), []);
  await realm.currency("1");
  await asOwner(realm, `update "${schemaOf(realm)}".accounts set added = 1`);
  const told: Record<string, unknown>[] = [];
  const longer = oneMore(migrations, COLUMN, UNIQUE);
  const tell = (level: string, _: string, fields: Record<string, unknown>) =>
    level === "error" && told.push(fields);
  deepEqual(await migrateRealms(realm.database, longer, tell), [realm.id]);
  deepEqual(told.map((fields) => [fields.realm, (fields.error as { code: string }).code]), [
    [realm.id, "23505"],
  ]);
  deepEqual([await validityOf(realm, "one_added"), await validityOf(second, "one_added")], [
    null,
    true,
  ]);
  await asOwner(realm, `update "${schemaOf(realm)}".accounts set added = null`);
  deepEqual(await migrateRealms(realm.database, longer, () => {}), []);
  equal(await validityOf(realm, "one_added"), true);
});

Deno.test("an index of the same name on another table is left alone, and the step fails", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await asOwner(realm, `create index by_added on "${schemaOf(realm)}".users (id)`);
  const longer = oneMore(realm.services.migrations, COLUMN, INDEX);
  deepEqual(await migrateRealms(realm.database, longer, () => {}), [realm.id]);
  equal(await validityOf(realm, "by_added"), true);
});

Deno.test("two processes make the same indexes of several realms of a database, without a deadlock", async () => {
  await using own = await realmDatabase(4);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const realms = [realm, ...await Promise.all([1, 2, 3].map(() => realm.neighbour()))];
  await using second = realm.another({ DATABASE_URL: own.url });
  const { migrations } = realm.services;
  const both = [realm, second].map((one) => migrating(one, migrations, COLUMN, INDEX, UNIQUE));
  for (const { left, errors } of both) deepEqual([await left, errors], [[], []]);
  for (const one of realms) {
    deepEqual(
      [
        await recordedIn(one),
        await validityOf(one, "by_added"),
        await validityOf(one, "one_added"),
      ],
      [3, true, true],
    );
  }
});

Deno.test("an index of the platform's is made outside, and in an empty database in the transaction", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { migrations } = realm.services;
  const text = "create index concurrently if not exists realms_by_name on realms (name)";
  const platform = [
    ...migrations.platform,
    migrationNumbered(migrations.platform.length + 1, text),
  ];
  deepEqual(await migrateAll(realm.database, { ...migrations, platform }, () => {}), []);
  equal(await validityOf(realm, "realms_by_name", "platform"), true);
  await using empty = await testDatabase();
  const database = openDatabase({ url: empty.url, prepare: true, parseJson: JSON.parse });
  try {
    equal(await migratePlatform(database.builder.sql, platform), platform.length);
    equal(await migratePlatform(database.builder.sql, platform), 0);
  } finally {
    await database.close();
  }
});
