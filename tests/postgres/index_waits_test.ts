/** What the making of an index waits for, how long, what it says, and who waits for it. @module */
import { deepEqual, equal, match } from "node:assert/strict";
import { realmDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import {
  asOwner,
  BARRED,
  closedBarrier,
  COLUMN,
  INDEX,
  migrating,
  openTransaction,
  recordedIn,
  schemaOf,
  UNIQUE,
  untilBuilding,
  untilOld,
  validityOf,
} from "../support/index_steps.ts";
import { LOCKS_HERE } from "../support/locks.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";

/** A short wait, for what stays until it is told to end. */
const SHORT = { INDEX_WAIT_SECONDS: "2" };
const SNAPSHOT = "select 1 from pg_class limit 1";

Deno.test("no transaction stays open while an index is made, of the realms that wait for their turn either", async () => {
  await using own = await realmDatabase(4);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const realms = [realm, ...await Promise.all([1, 2, 3].map(() => realm.neighbour()))];
  for (const one of realms) await one.currency("1");
  await using second = realm.another({ DATABASE_URL: own.url });
  const barrier = await closedBarrier(realm, own.url);
  const both = [realm, second].map((one) =>
    migrating(one, realm.services.migrations, COLUMN, BARRED)
  );
  await untilBuilding(realm);
  const open = `select 1 from pg_stat_activity
    where application_name = 'purser migration' and state like 'idle in transaction%'
      and datname = current_database()`;
  await until(async () => {
    const recorded = await Promise.all(realms.map(recordedIn));
    return recorded.every((count) => count === 1) && (await asOwner(realm, open)).length === 0;
  });
  await barrier.end();
  for (const { left, errors } of both) deepEqual([await left, errors], [[], []]);
  deepEqual(await Promise.all(realms.map(recordedIn)), [2, 2, 2, 2]);
});

Deno.test("an index that waits for a long transaction names it, gives up, leaves nothing, and is made later", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url, ...SHORT } });
  await using other = await realm.neighbour();
  const { account, name } = await realm.currency("10");
  const { migrations } = realm.services;
  const reader = await openTransaction(own.url, SNAPSHOT);
  await untilOld(realm, reader);
  const { left, errors } = migrating(realm, migrations, COLUMN, UNIQUE);
  deepEqual((await left).toSorted(), [realm.id, other.id].toSorted());
  equal(errors.length, 2);
  const named = new RegExp(
    `^index one_added waits for the transaction of process ${reader.pid} \\(a long export, role \\w+, open for \\d+ s\\)`,
  );
  for (const { message } of errors) match(message, named);
  for (const one of [realm, other]) {
    deepEqual([await recordedIn(one), await validityOf(one, "one_added")], [1, null]);
  }
  // The realms are served meanwhile by processes of the version before.
  const to = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: to }, value: "1" };
  equal((await realm.admin.send("POST", "/v1/transactions", move)).status, 201);
  await reader.end();
  await using patient = realm.another({ DATABASE_URL: own.url });
  deepEqual(await migrating(patient, migrations, COLUMN, UNIQUE).left, []);
  for (const one of [realm, other]) {
    deepEqual([await recordedIn(one), await validityOf(one, "one_added")], [2, true]);
  }
});

Deno.test("an index is made when the transaction that it waits for ends in time, and says for which it waits", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const reader = await openTransaction(own.url, SNAPSHOT);
  await untilOld(realm, reader);
  const { left, errors, warnings } = migrating(realm, realm.services.migrations, COLUMN, INDEX);
  await until(() => warnings.length > 0);
  const [{ realm: id, index, pid, application }] = warnings;
  deepEqual([id, index, pid, application], [realm.id, "by_added", reader.pid, "a long export"]);
  // Nothing is begun, so nothing is held, nor left by a kill.
  equal(await validityOf(realm, "by_added"), null);
  await reader.end();
  deepEqual([await left, errors], [[], []]);
  equal(warnings.filter((warning) => warning.pid === reader.pid).length, 1);
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [2, true]);
});

Deno.test("a build behind a transaction that began after it is canceled: its index is dropped, or said to be left", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url, ...SHORT } });
  await realm.currency("10");
  const { migrations } = realm.services;
  const canceled = async (text: string) => {
    const barrier = await closedBarrier(realm, own.url);
    const { left, errors } = migrating(realm, migrations, COLUMN, BARRED);
    await untilBuilding(realm);
    const reader = await openTransaction(own.url, text);
    await barrier.end();
    deepEqual(await left, [realm.id]);
    match(errors[0].message, new RegExp(`index by_added waits for .* process ${reader.pid} `));
    return { reader, message: errors[0].message };
  };
  const first = await canceled(SNAPSHOT);
  equal(await validityOf(realm, "by_added"), null);
  await first.reader.end();
  // Whoever has read the table keeps the index from being dropped.
  const second = await canceled(`select 1 from "${schemaOf(realm)}".accounts`);
  match(second.message, /; index by_added of realm_\w+ may be left, not valid: the next migration/);
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [1, false]);
  await second.reader.end();
  await using patient = realm.another({ DATABASE_URL: own.url });
  deepEqual(await migrating(patient, migrations, COLUMN, BARRED).left, []);
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [2, true]);
});

/** Writes to a table's rows again and again; a write that waits ten seconds for a lock ends it with an error. */
function keepWriting(realm: TestRealm): { writes: () => number; stop: () => Promise<void> } {
  let [going, writes] = [true, 0];
  const run = (async () => {
    while (going) {
      await realm.database.platform.sql.begin(async (tx) => {
        await tx.unsafe("set local lock_timeout = '10s'");
        await tx.unsafe(`update "${schemaOf(realm)}".accounts set added = 1 where added is null`);
        await tx.unsafe(`update "${schemaOf(realm)}".accounts set added = null`);
      });
      writes++;
    }
  })();
  run.catch(() => {}); // told by stop()
  return {
    writes: () => writes,
    async stop() {
      going = false;
      await run;
    },
  };
}

Deno.test("writers wait for no index: while it is made, while it waits, while one that was left is dropped", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await realm.currency("10");
  const { migrations } = realm.services;
  deepEqual(await migrating(realm, migrations, COLUMN).left, []);
  const { stop, writes } = keepWriting(realm);
  const strong = `select l.mode, a.application_name from ${LOCKS_HERE} l
    join pg_stat_activity a using (pid) where l.relation = '${schemaOf(realm)}.accounts'::regclass
    and a.application_name in ('purser index', 'purser migration')
    and l.mode not in ('AccessShareLock', 'RowExclusiveLock', 'ShareUpdateExclusiveLock')`;
  const moreWrites = async () => {
    const before = writes();
    await until(async () => {
      deepEqual(await asOwner(realm, strong), []);
      return writes() > before + 20;
    });
  };
  // A build that was ended leaves its index.
  let barrier = await closedBarrier(realm, own.url);
  const first = migrating(realm, migrations, COLUMN, BARRED);
  const pid = await untilBuilding(realm);
  await moreWrites();
  const reader = await openTransaction(own.url, `select 1 from "${schemaOf(realm)}".accounts`);
  await untilOld(realm, reader);
  await asOwner(realm, `select pg_terminate_backend(${pid})`);
  await barrier.end();
  // The next try drops it once the reader has ended, and makes it anew.
  await until(() => first.warnings.some((warning) => warning.pid === reader.pid));
  await moreWrites();
  barrier = await closedBarrier(realm, own.url);
  await reader.end();
  await untilBuilding(realm);
  await moreWrites();
  const later = await openTransaction(own.url, SNAPSHOT);
  await barrier.end();
  await untilBuilding(realm, "waiting for old snapshots%");
  await moreWrites();
  await later.end();
  deepEqual(await first.left, []);
  await moreWrites();
  await stop();
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [2, true]);
});
