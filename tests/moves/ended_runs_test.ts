/** Moves whose runs slept, whose target was lost, or which a newer version takes back. @module */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { reading } from "../../db/transaction.ts";
import { selectRealm } from "../../db/realms/realms.ts";
import { migrateRealms } from "../../domain/realms/migrations.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { cancel, carryOn, dropOld } from "../../workers/moves/moving.ts";
import { rowsAt } from "../backup/fixture.ts";
import { databaseLike, moveTo, movingOptions, otherServer, schemaOf } from "../backup/servers.ts";
import { server } from "../backup/shared_server.ts";
import { holding, untilSomebodyWaits } from "../backup/holding.ts";
import { commandHost } from "../support/command_host.ts";
import { realmDatabase } from "../support/database.ts";
import { oneMore } from "../support/one_more_migration.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";

/** Begins a move, or carries one on, and stops at a step until it is let go. */
async function stopAt(realm: TestRealm, step: string, to?: string | null) {
  const reached = Promise.withResolvers<void>();
  const slept = Promise.withResolvers<void>();
  const options = movingOptions(realm);
  const run = carryOn({
    ...options,
    async onStep(at) {
      if (at !== step) return;
      reached.resolve();
      await slept.promise;
    },
  }, await orderMove(options, { realm: realm.id, to }, Date.now()));
  await Promise.race([reached.promise, run]);
  return { run, wake: slept.resolve };
}

async function readsHere({ database, made }: TestRealm): Promise<boolean> {
  const { role_name: role, schema_name: schema } = made.realm;
  const [{ may }] = await database.builder.sql<{ may: boolean }[]>`
    select has_table_privilege(${role}, ${`${schema}.accounts`}, 'select') as may`;
  return may;
}

Deno.test("a run that slept at its end takes no rights away where the realm has come back to", async () => {
  await using own = await databaseLike(server, realmDatabase);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const options = movingOptions(realm);
  const { account } = await realm.currency("10", "GOLD");
  const { run, wake } = await stopAt(realm, "leaving", await server.database());
  await carryOn(options, await orderMove(options, { realm: realm.id }, Date.now()));
  await dropOld(options, realm.id);
  const back = { realm: realm.id, to: null };
  await carryOn(options, await orderMove(options, back, Date.now()));
  ok(await readsHere(realm));
  wake();
  await rejects(run, { message: /another run carries/ });
  ok(await readsHere(realm));
  equal((await realm.balance(account)).total, "10");
});

Deno.test("the copy that a move has left is dropped only while the fence of that very move stands there", async () => {
  await using realm = await testRealm();
  const options = movingOptions(realm);
  const order = { realm: realm.id, to: await server.database() };
  await carryOn(options, await orderMove(options, order, Date.now()));
  const { sql } = realm.database.builder;
  const fence = sql(`${schemaOf(realm)}.move_fence`);
  const [{ runner }] = await sql<{ runner: string }[]>`select runner from ${fence}`;
  // As if the realm had come back meanwhile, and were being moved once more.
  await sql`update ${fence} set runner = gen_random_uuid()`;
  await rejects(dropOld(options, realm.id), { message: /has no fenced copy/ });
  await sql`update ${fence} set runner = ${runner}`;
  await dropOld(options, realm.id);
});

Deno.test("a move whose target was lost is canceled, and the realm moves elsewhere", async () => {
  await using lost = await otherServer();
  await using realm = await testRealm();
  const options = movingOptions(realm);
  const { account } = await realm.currency("10", "GOLD");
  const { run, wake } = await stopAt(realm, "fenced", await lost.database());
  await lost.stop();
  try {
    const move = await orderMove(options, { realm: realm.id, cancels: true }, Date.now());
    equal(await cancel(options, move), "ECONNREFUSED");
    wake();
    await rejects(run);
    await realm.account({ asset: "GOLD", from: account, total: "3" });
    await moveTo(realm, await server.database());
    equal((await realm.balance(account)).total, "7");
  } finally {
    await lost.start();
  }
});

Deno.test("a move that was switched ends where the server that it left is lost, and the realm may move again", async () => {
  await using lost = await otherServer();
  await using own = await databaseLike(server, realmDatabase);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const options = movingOptions(realm);
  const { account } = await realm.currency("10", "GOLD");
  await moveTo(realm, await lost.database());
  const { run, wake } = await stopAt(realm, "switched", null);
  await lost.stop();
  try {
    const ended = await carryOn(
      options,
      await orderMove(options, { realm: realm.id }, Date.now()),
    );
    equal(ended.isSourceLost, true);
    wake();
    await rejects(run);
    equal((await realm.balance(account)).total, "10");
    await moveTo(realm, await server.database());
    equal((await realm.balance(account)).total, "10");
  } finally {
    await lost.start();
  }
});

Deno.test("a run that waits to stop the writes stops none once another one has taken its move back", async () => {
  await using realm = await testRealm();
  const options = movingOptions(realm);
  const { account } = await realm.currency("10", "GOLD");
  const { run, wake } = await stopAt(realm, "fencing", await server.database());
  await cancel(
    options,
    await orderMove(options, { realm: realm.id, cancels: true }, Date.now()),
  );
  wake();
  await rejects(run, { message: /another run carries/ });
  await realm.account({ asset: "GOLD", from: account, total: "3" });
  equal((await realm.balance(account)).total, "7");
});

Deno.test("a run that slept through the cancellation of its move notes nothing in the realm, and makes no copy", async () => {
  await using realm = await testRealm();
  const options = movingOptions(realm);
  const to = await server.database();
  const { run, wake } = await stopAt(realm, "noting", to);
  await cancel(
    options,
    await orderMove(options, { realm: realm.id, cancels: true }, Date.now()),
  );
  wake();
  await rejects(run, { message: /another run carries/ });
  deepEqual(await rowsAt(to, "select from pg_namespace where nspname like 'realm%'"), []);
  const { sql } = realm.database.builder;
  const left = await sql`
    select relname from pg_class where relnamespace = ${schemaOf(realm)}::regnamespace
      and relname like 'move\\_%'`;
  deepEqual([...left], []);
});

Deno.test("a run that slept through the cancellation of its move takes from the next one nothing that was noted", async () => {
  await using lost = await otherServer();
  await using realm = await testRealm();
  const options = movingOptions(realm);
  const { account } = await realm.currency("10", "GOLD");
  const { run, wake } = await stopAt(realm, "prepared", await lost.database());
  await lost.stop();
  await cancel(
    options,
    await orderMove(options, { realm: realm.id, cancels: true }, Date.now()),
  ).finally(lost.start);
  await carryOn({
    ...options,
    async onStep(step) {
      if (step !== "compared") return;
      await realm.account({ asset: "GOLD", from: account, total: "3" });
      wake();
      await rejects(run);
    },
  }, await orderMove(options, { realm: realm.id, to: await server.database() }, Date.now()));
  equal((await realm.balance(account)).total, "7");
});

Deno.test("a newer version names the command that ends a move under the fence, takes it back and migrates the realm", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { database, id } = realm;
  const { account } = await realm.currency("10", "GOLD");
  const { run, wake } = await stopAt(realm, "fenced", await server.database());
  const migrations = oneMore(realm.services.migrations, "create table added (id integer)");
  migrations.rights += "\ngrant select on added to :role;";
  const said: string[] = [];
  const migrate = () =>
    migrateRealms(database, migrations, (level, _, { error }) => {
      if (level === "error") said.push((error as Error).message);
    });
  deepEqual(await migrate(), [id]);
  match(said[0], /take it back by `deno task realm move <id> --cancel`, and migrate again/);
  const options = { ...movingOptions(realm), migrations };
  await rejects(orderMove(options, { realm: id }, Date.now()), { message: /with `--cancel`/ });
  await cancel(options, await orderMove(options, { realm: id, cancels: true }, Date.now()));
  wake();
  await rejects(run);
  deepEqual(await migrate(), []);
  const row = await reading(database.platform, (db) => selectRealm(db, id));
  equal(row!.schema_version, migrations.realm.length);
  equal((await realm.balance(account)).total, "10");
  const left = await rowsAt(own.url, `select from pg_class where relname like 'move\\_%'`);
  deepEqual(left, []);
});

Deno.test("a move goes on after one Ctrl-C, which tells what a second one does", async () => {
  await using own = await realmDatabase();
  await using host = await commandHost();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const to = await server.database();
  const move = ["move", realm.id, "--to", "-"];
  const schema = schemaOf(realm);
  {
    await using _lock = await holding(own.url, `lock table ${schema}.withdrawals`);
    const { child } = host.start(own.url, "realm", move, server.env, to);
    await untilSomebodyWaits(own.url);
    child.kill("SIGINT");
    const lines = child.stderr.pipeThrough(new TextDecoderStream()).values({ preventCancel: true });
    match((await lines.next()).value!, /the move goes on. A second signal ends it at once/);
    child.kill("SIGINT");
    equal((await child.status).signal, "SIGINT");
    await Promise.all([lines.return!(), child.stdout.cancel()]);
  }
  const done = await host.run(own.url, "realm", ["move", realm.id], server.env);
  equal(done.code, 0, done.said);
  const row = await reading(realm.database.platform, (db) => selectRealm(db, realm.id));
  ok(row?.database_url_encrypted);
});
