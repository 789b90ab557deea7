/** Migrations and rights of a realm that moves meanwhile, and moves that are taken back after a crash. @module */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { locking, reading } from "../../db/transaction.ts";
import { updatePlace } from "../../db/realms/moves.ts";
import { markMigrated, selectRealm } from "../../db/realms/realms.ts";
import { restateAll } from "../../domain/realms/migrations.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { cancel, carryOn } from "../../workers/moves/moving.ts";
import { movingOptions } from "../backup/servers.ts";
import { server } from "../backup/shared_server.ts";
import { realmDatabase } from "../support/database.ts";
import { oneMore } from "../support/one_more_migration.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";

async function entryOf({ database, id }: TestRealm) {
  return (await reading(database.platform, (db) => selectRealm(db, id)))!;
}

/** Whether the realm's role may read in the platform's database. */
async function readsHere({ database, made }: TestRealm): Promise<boolean> {
  const { role_name: role, schema_name: schema } = made.realm;
  const [{ may }] = await database.builder.sql<{ may: boolean }[]>`
    select has_table_privilege(${role}, ${`${schema}.accounts`}, 'select') as may`;
  return may;
}

Deno.test("an older version does not lower the version of a realm that a newer one has migrated", async () => {
  await using realm = await testRealm();
  const { builder } = realm.database;
  const row = await entryOf(realm);
  const mark = (schema_version: number, migrations_checksum: string) =>
    locking(
      builder,
      (tx) => markMigrated(tx, row, { schema_version, migrations_checksum }),
    );
  const version = row.schema_version;
  equal(await mark(version + 1, "newer"), true);
  equal(await mark(version, row.migrations_checksum), true);
  const now = await entryOf(realm);
  deepEqual([now.schema_version, now.migrations_checksum], [
    version + 1,
    "newer",
  ]);
});

Deno.test("a realm that was marked as migrated after its last comparison is not switched", async () => {
  await using realm = await testRealm();
  const options = movingOptions(realm);
  const { builder } = realm.database;
  const order = { realm: realm.id, to: await server.database() };
  const version = realm.services.migrations.realm.length;
  const mark = async (schema_version: number) => {
    await builder
      .sql`update platform.realms set schema_version = ${schema_version} where id = ${realm.id}`;
  };
  const moving = async () =>
    await carryOn({
      ...options,
      onStep: (step) => step === "complete" ? mark(version + 1) : undefined,
    }, await orderMove(options, order, Date.now()));
  await rejects(moving, { message: /was migrated meanwhile/ });
  await mark(version);
  equal((await entryOf(realm)).place, 0);
  const { account } = await realm.currency("10", "GOLD"); // it works where it was
  equal((await realm.balance(account)).total, "10");
  // A newer version cannot migrate it behind the fence, nor before it without being noticed.
  const newer = oneMore(
    realm.services.migrations,
    "create table added (id integer)",
  );
  const { schema_name } = realm.made.realm;
  const apply = async (step: string) => {
    if (step !== "fencing") return;
    const [{ number, name, checksum }] = newer.realm.slice(-1);
    await builder.sql`
      insert into ${builder.sql(schema_name)}.migrations (number, name, checksum)
      values (${number}, ${name}, ${checksum})`;
  };
  const again = async () =>
    await carryOn(
      { ...options, onStep: apply },
      await orderMove(options, order, Date.now()),
    );
  await rejects(again, { message: /was migrated meanwhile/ });
  await builder.sql`delete from ${builder.sql(schema_name)}.migrations where number > ${version}`;
  await locking(builder, async (tx) => {
    const to = { place: 2, database_url_encrypted: null };
    equal(await updatePlace(tx, { id: realm.id, from: 1 }, to), false);
  });
  await carryOn(options, await orderMove(options, order, Date.now()));
  equal((await realm.balance(account)).total, "10");
});

Deno.test("rights are not stated in the old place of a realm that moves, however late they are", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const options = movingOptions(realm);
  const { migrations } = realm.services;
  const order = { realm: realm.id, to: await server.database() };
  const told: string[] = [];
  const restate = () =>
    restateAll(realm.database, migrations, (_, message) => told.push(message), {
      every: true,
    });
  equal(await readsHere(realm), true);
  await carryOn({
    ...options,
    async onStep(step) {
      if (step !== "fenced" && step !== "complete") return;
      deepEqual(await restate(), []);
      equal(await readsHere(realm), false, step);
    },
  }, await orderMove(options, order, Date.now()));
  deepEqual(told, []);
  deepEqual(await restate(), []);
  equal(await readsHere(realm), false);
  equal(told.length, 1); // in the new place
});

Deno.test("a move whose run has ended under the fence is taken back, and the realm works again", async () => {
  await using realm = await testRealm();
  const options = movingOptions(realm);
  const order = { realm: realm.id, to: await server.database() };
  const { account } = await realm.currency("10", "GOLD");
  const { promise: fenced, resolve } = Promise.withResolvers<void>();
  const lost = Promise.withResolvers<void>();
  const first = carryOn({
    ...options,
    async onStep(step) {
      if (step !== "fenced") return;
      resolve();
      await lost.promise; // as a run that sleeps
    },
  }, await orderMove(options, order, Date.now()));
  await fenced;
  await cancel(
    options,
    await orderMove(options, { realm: realm.id }, Date.now()),
  );
  await realm.account({ asset: "GOLD", from: account, total: "3" });
  lost.resolve();
  await rejects(first);
  equal((await entryOf(realm)).place, 0);
  equal((await realm.balance(account)).total, "7");
  ok(await readsHere(realm));
});
