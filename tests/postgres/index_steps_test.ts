/** Index steps: indexes that are made while their tables are read and written, and what stops them. @module */
import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../../db/database.ts";
import { plainStatement, readIndexStep } from "../../db/index_steps.ts";
import { migratePlatform, readSequence } from "../../db/migrate.ts";
import { migrateAll, migrateRealms } from "../../domain/realms/migrations.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { migrationNumbered, oneMore } from "../support/one_more_migration.ts";
import { PASSWORD, type TestRealm, testRealm } from "../support/realm.ts";

const COLUMN = "alter table accounts add column added integer";
const INDEX =
  "create index concurrently if not exists by_added on accounts (added) where added > 0";
const UNIQUE = "create unique index concurrently if not exists one_added on accounts (added)";

async function asOwner(realm: TestRealm, text: string): Promise<Record<string, unknown>[]> {
  return await realm.database.builder.sql.unsafe(text) as unknown as Record<string, unknown>[];
}

const schemaOf = (realm: TestRealm) => locationOf(realm.made.realm).schema;

/** Whether an index of a schema is valid; null where there is none. */
async function validityOf(realm: TestRealm, name: string, schema = schemaOf(realm)) {
  const [row] = await asOwner(
    realm,
    `select indisvalid as valid from pg_index where indexrelid = to_regclass('${schema}.${name}')`,
  );
  return row?.valid ?? null;
}

/** How many of the last migrations a realm has recorded. */
async function recordedIn(realm: TestRealm): Promise<number> {
  const { length } = realm.services.migrations.realm;
  const text = `select number from "${schemaOf(realm)}".migrations where number > ${length}`;
  return (await asOwner(realm, text)).length;
}

/** Holds a snapshot, for whose end every build of an index waits. */
async function holdSnapshot(realm: TestRealm): Promise<() => Promise<void>> {
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const reader = realm.pool.sql.begin("isolation level repeatable read", async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select 1`;
    begun.resolve();
    await over.promise;
  });
  await begun.promise;
  return async () => {
    over.resolve();
    await reader;
  };
}

/** Waits until an index is being made, and waits for older snapshots. */
async function untilBuilding(realm: TestRealm): Promise<number> {
  const text = `select pid from pg_stat_progress_create_index
    where datname = current_database() and phase like 'waiting for old snapshots%'`;
  let pid: unknown;
  await until(async () => (pid = (await asOwner(realm, text))[0]?.pid) !== undefined);
  return pid as number;
}

/** A process that migrates the realms of a database, to be killed. */
function startMigrator(url: string, texts: readonly string[]): Deno.ChildProcess {
  const script = fileURLToPath(new URL("../support/migrator.ts", import.meta.url));
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--config", "tests/deno.json", script, ...texts],
    env: { TEST_DATABASE_URL: url, TEST_DATABASES: "0" },
    stdout: "null",
    stderr: "inherit",
  }).spawn();
}

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
  await using own = await testDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { account, name } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const end = await holdSnapshot(realm);
  const migrations = oneMore(
    realm.services.migrations,
    COLUMN,
    INDEX,
    "create table after_it (id integer)",
  );
  const migrating = migrateRealms(realm.database, migrations, () => {});
  await untilBuilding(realm);
  const move = { source: { account }, destination: { account: other }, value: "1" };
  equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [1, false]);
  await end();
  deepEqual(await migrating, []);
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [3, true]);
  realm.services.provisioning.migrations = migrations;
  const made = await realm.operator("POST", "/v1/realms", {
    name: "made later",
    admin: { email: "a@b.example", password: PASSWORD },
  });
  equal(made.status, 201, made.text);
  const schema = `realm_${made.body.id.replaceAll("-", "")}`;
  equal(await validityOf(realm, "by_added", schema), true);
});

Deno.test("a build whose process was killed is waited for, and one that was stopped is made anew", async () => {
  await using own = await testDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const migrations = oneMore(realm.services.migrations, COLUMN, INDEX, UNIQUE);
  const killed = async () => {
    const process = startMigrator(own.url, [COLUMN, INDEX, UNIQUE]);
    const pid = await untilBuilding(realm);
    process.kill("SIGKILL");
    await process.status;
    return pid;
  };
  // Its session goes on: the next process waits for its end and finds the index.
  let end = await holdSnapshot(realm);
  await killed();
  const second = migrateRealms(
    realm.database,
    oneMore(realm.services.migrations, COLUMN, INDEX),
    () => {},
  );
  const guards = `select 1 from pg_locks l join pg_class c on c.oid = l.relation
    where c.relname = 'migrations' and l.mode = 'ShareRowExclusiveLock' and l.granted`;
  await until(async () => (await asOwner(realm, guards)).length === 1);
  await end();
  deepEqual(await second, []);
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [2, true]);
  // A session that was ended leaves an index that is not valid.
  end = await holdSnapshot(realm);
  const pid = await killed();
  await asOwner(realm, `select pg_terminate_backend(${pid})`);
  await until(async () =>
    (await asOwner(realm, `select 1 from pg_stat_activity where pid = ${pid}`)).length === 0
  );
  equal(await validityOf(realm, "one_added"), false);
  await end();
  deepEqual(await migrateRealms(realm.database, migrations, () => {}), []);
  deepEqual([await recordedIn(realm), await validityOf(realm, "one_added")], [3, true]);
});

Deno.test("a unique index that the rows of a realm break names the realm, leaves nothing, and is made later", async () => {
  await using own = await testDatabase();
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
  await using own = await testDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await asOwner(realm, `create index by_added on "${schemaOf(realm)}".users (id)`);
  const longer = oneMore(realm.services.migrations, COLUMN, INDEX);
  deepEqual(await migrateRealms(realm.database, longer, () => {}), [realm.id]);
  equal(await validityOf(realm, "by_added"), true);
});

Deno.test("two processes make the same indexes of several realms of a database, without a deadlock", async () => {
  await using own = await testDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const realms = [realm, ...await Promise.all([1, 2, 3].map(() => realm.neighbour()))];
  await using second = realm.another({ DATABASE_URL: own.url });
  const migrations = oneMore(realm.services.migrations, COLUMN, INDEX, UNIQUE);
  const told: unknown[] = [];
  const left = await Promise.all(
    [realm, second].map(({ database }) =>
      migrateRealms(
        database,
        migrations,
        (level, _, { error }) => level === "error" && told.push(error),
      )
    ),
  );
  deepEqual([left, told], [[[], []], []]);
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
  await using own = await testDatabase();
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
