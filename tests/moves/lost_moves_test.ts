/** A platform's database that loses the commit of a move: by a failover to a standby that lags, or from an old backup. @module */
import { deepEqual, equal, match, notDeepEqual, rejects } from "node:assert/strict";
import { restateRights } from "../../db/migrate.ts";
import { selectRealm } from "../../db/realms/realms.ts";
import { locking, reading } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { reencryptAll } from "../../domain/realms/platform_key_rotation.ts";
import { locationOf } from "../../domain/realms/realm_locations.ts";
import { openSecrets } from "../../domain/security/serving_secrets.ts";
import { orderMove } from "../../workers/moves/move_orders.ts";
import { cancel, carryOn, dropOld } from "../../workers/moves/moving.ts";
import { repair } from "../../workers/moves/repairing.ts";
import { databaseLike, moveTo, movingOptions, schemaOf } from "../backup/servers.ts";
import { server } from "../backup/shared_server.ts";
import { commandHost } from "../support/command_host.ts";
import { realmDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { type Send, type TestRealm, testRealm } from "../support/realm.ts";

type Directory = Awaited<ReturnType<typeof directoryOf>>;

/** What the platform says of a realm. */
async function directoryOf({ database, id }: TestRealm) {
  const { sql } = database.builder;
  const [row] = await sql`
    select place, database_url_encrypted from platform.realms where id = ${id}`;
  const moves = await sql`select * from platform.realm_moves where realm = ${id}`;
  return { row, moves: [...moves] };
}

/** Puts back what the platform said: what it was told since is lost. */
async function lose({ database, id }: TestRealm, { row, moves }: Directory): Promise<void> {
  const { sql } = database.builder;
  await sql.begin(async (tx) => {
    await tx`update platform.realms set ${tx(row)} where id = ${id}`;
    await tx`delete from platform.realm_moves where realm = ${id}`;
    for (const move of moves) await tx`insert into platform.realm_moves ${tx(move)}`;
  });
}

/** Moves a realm; gives what the directory said at a step. */
async function movedFrom(realm: TestRealm, step: string, to: string | null): Promise<Directory> {
  const options = movingOptions(realm);
  const before = await directoryOf(realm);
  let then = before;
  await carryOn({
    ...options,
    async onStep(at) {
      if (at === step) then = await directoryOf(realm);
    },
  }, await orderMove(options, { realm: realm.id, to }, Date.now()));
  return then;
}

async function money(realm: TestRealm) {
  const { account } = await realm.currency("1000000", "GOLD");
  const other = await realm.account({ asset: "GOLD", from: account, total: "1" });
  const body = { source: { account }, destination: { account: other }, value: "1" };
  return {
    pay: async (send: Send) => (await send("POST", "/v1/transactions", body)).status,
    paid: async () => (await realm.balance(other)).total,
  };
}

/** A realm that has moved and paid 1 there, and whose directory then lost the move. */
async function withLostMove(realm: TestRealm, step: string | null) {
  const before = await directoryOf(realm);
  const { pay, paid } = await money(realm);
  const then = await movedFrom(realm, step ?? "", await server.database());
  equal(await pay(realm.admin.send), 201);
  await lose(realm, step === null ? before : then);
  return { pay, paid };
}

async function numberOfPlace({ database, id }: TestRealm) {
  return (await reading(database.platform, (db) => selectRealm(db, id)))!.place;
}

Deno.test("a realm whose move the directory has lost is refused by old and new processes until it is repaired", async () => {
  await using realm = await testRealm();
  const options = movingOptions(realm);
  const { pay, paid } = await withLostMove(realm, null);
  await using fresh = realm.another();
  const late = fresh.send(realm.admin.key);
  equal(await pay(late), 503);
  await until(async () => await pay(realm.admin.send) === 503); // it knows where the realm lives
  const order = (to?: string) => orderMove(options, { realm: realm.id, to }, Date.now());
  await rejects(order(), { message: /no move/ });
  const elsewhere = await order(await server.database());
  await rejects(carryOn(options, elsewhere), { message: /--repair/ });
  await rejects(cancel(options, elsewhere), { message: /--repair/ });
  equal(await pay(late), 503);
  const { place, changed } = await repair(options, { realm: realm.id }, Date.now());
  deepEqual([place, changed, await numberOfPlace(realm)], [1, true, 1]);
  await until(async () => await pay(late) === 201);
  await until(async () => await pay(realm.admin.send) === 201);
  await carryOn(options, await order());
  await dropOld(options, realm.id);
  const total = Number(await paid());
  equal(await pay(late), 201);
  equal(Number(await paid()), total + 1);
  equal((await repair(options, { realm: realm.id }, Date.now())).changed, false);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

for (const step of ["fencing", "fenced", "opened"]) {
  Deno.test(`a move whose directory has lost all since the step ${step} is not taken back, and is carried on`, async () => {
    await using realm = await testRealm();
    const options = movingOptions(realm);
    const { pay, paid } = await withLostMove(realm, step);
    const order = (cancels = false) => orderMove(options, { realm: realm.id, cancels }, Date.now());
    await rejects(cancel(options, await order(true)), { message: /carry the move on/ });
    await using fresh = realm.another();
    equal(await pay(fresh.send(realm.admin.key)), 503);
    await carryOn(options, await order());
    await until(async () => await pay(realm.admin.send) === 201);
    equal(await paid(), "3");
    equal(await numberOfPlace(realm), 1);
  });
}

Deno.test("a move that has left its place is carried on when its addresses were encrypted anew, and a record under another platform key is told", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { database, id } = realm;
  const options = movingOptions(realm);
  const { paid } = await money(realm);
  const to = await server.database();
  const order = (to?: string) => orderMove(options, { realm: id, to }, Date.now());
  const stopped = carryOn({
    ...options,
    onStep(step) {
      if (step === "left") throw new Error("killed");
    },
  }, await order(to));
  await rejects(stopped, { message: "killed" });
  const before = await directoryOf(realm);
  await reencryptAll(database, options.secrets, () => {}); // the realm fails: it takes no writes
  const { moves: [{ target_encrypted: text }] } = await directoryOf(realm);
  notDeepEqual(text, before.moves[0].target_encrypted);
  await carryOn(options, await order());
  equal(await numberOfPlace(realm), 1);

  await lose(realm, { ...before, moves: [] });
  const others = { ...options, secrets: openSecrets("another-key-of-the-platform") };
  await rejects(repair(others, { realm: id }, Date.now()), {
    message: /another platform key.+--to -/,
  });
  equal((await repair(options, { realm: id }, Date.now())).place, 1);
  equal(await paid(), "1");
});

Deno.test("a place that a realm has left says so for good, and takes no write whatever rights are given there", async () => {
  await using realm = await testRealm();
  await withLostMove(realm, null);
  const { sql } = realm.database.builder;
  const schema = schemaOf(realm);
  const changes = [
    `update ${schema}.move_fence set move = null, place = null`,
    `update ${schema}.move_fence set place = 7`,
    `delete from ${schema}.move_fence`,
  ];
  for (const text of changes) await rejects(sql.unsafe(text), { code: "PMV01" });
  const row = (await reading(realm.database.platform, (db) => selectRealm(db, realm.id)))!;
  const { migrations } = realm.services;
  const location = locationOf(row);
  equal(
    await locking(realm.database.builder, (tx) => restateRights(tx, migrations, location)),
    false,
  );
  await sql.unsafe(`grant all on all tables in schema ${schema} to ${row.role_name}_worker`);
  const post = sql.begin((tx) =>
    tx.unsafe(`set local role ${row.role_name}_worker; update ${schema}.jobs set attempts = 0`)
  );
  await rejects(post, { code: "PMV01" });
});

Deno.test("a realm whose directory and old place have both lost its move is not copied over, and is closed in the old place", async () => {
  await using realm = await testRealm();
  const options = movingOptions(realm);
  const { account } = await realm.currency("10", "GOLD");
  const to = await server.database();
  const then = await movedFrom(realm, "compared", to);
  const body = {
    source: { account },
    destination: { account: await realm.account({ asset: "GOLD" }) },
  };
  equal((await realm.admin.send("POST", "/v1/transactions", { ...body, value: "4" })).status, 201);
  await lose(realm, then);
  const { builder } = realm.database;
  const schema = schemaOf(realm);
  await builder.sql.unsafe(`drop function ${schema}.move_fence() cascade;
    drop table ${schema}.move_fence; drop function ${schema}.move_fence_kept()`);
  const location = locationOf((await reading(builder, (db) => selectRealm(db, realm.id)))!);
  await locking(
    builder,
    (tx) => restateRights(tx, options.migrations, location, realm.database.logins),
  );
  const order = () => orderMove(options, { realm: realm.id }, Date.now());
  await rejects(carryOn(options, await order()), {
    message: /--repair --to -/,
  });
  await rejects(cancel(options, await order()), { message: /--repair --to -/ });
  equal((await repair(options, { realm: realm.id }, Date.now())).changed, false); // it knows nothing here
  await rejects(repair(options, { realm: realm.id, to: server.url }, Date.now()), {
    message: /has no schema of the realm/,
  });
  const { changed } = await repair(options, { realm: realm.id, to }, Date.now());
  equal(changed, true);
  await rejects(builder.sql.unsafe(`update ${schema}.jobs set attempts = 0`), { code: "PMV01" });
  await carryOn(options, await order());
  await until(async () => (await realm.balance(account)).total === "6");
});

Deno.test("a realm that has come back to where the directory has it gets its number, and moves on", async () => {
  await using own = await databaseLike(server, realmDatabase);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const options = movingOptions(realm);
  const first = await directoryOf(realm);
  const { pay, paid } = await money(realm);
  await moveTo(realm, await server.database());
  await carryOn(options, await orderMove(options, { realm: realm.id, to: null }, Date.now()));
  await dropOld(options, realm.id);
  await lose(realm, first);
  const { place, changed } = await repair(options, { realm: realm.id }, Date.now());
  deepEqual([place, changed], [2, true]);
  await moveTo(realm, await server.database());
  await until(async () => await pay(realm.admin.send) === 201);
  deepEqual([await paid(), await numberOfPlace(realm)], ["2", 3]);
});

Deno.test("deno task realm move --repair finds a realm by the record of the place that it left", async () => {
  await using own = await realmDatabase();
  await using host = await commandHost();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { pay } = await withLostMove(realm, null);
  const run = (...args: string[]) =>
    host.run(own.url, "realm", ["move", realm.id, ...args], server.env);
  const repaired = await run("--repair");
  equal(repaired.code, 0, repaired.said);
  match(repaired.out, /lives at .+, its place 1. The directory was wrong, and says so now/);
  equal((await run()).code, 0); // ends the move
  await until(async () => await pay(realm.admin.send) === 201);
});
