/**
 * Index steps behind PgBouncer in transaction mode, where each statement may run in another session and no setting of a
 * session stays. Runs where PgBouncer is installed.
 *
 * @module
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { realmDatabase, type TestDatabase } from "../support/database.ts";
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
  startMigrator,
  UNIQUE,
  untilBuilding,
  validityOf,
} from "../support/index_steps.ts";
import { POOLER, startPooler } from "../support/pooler.ts";
import { testRealm } from "../support/realm.ts";

const BEHIND = { DATABASE_PREPARE: "off" };
/** Sessions that make or drop an index. */
const AT_WORK = `select 1 from pg_stat_activity
  where datname = current_database() and query like '%index concurrently%' and state = 'active'
    and pid <> pg_backend_pid()`;

/** Adds a test with a database and its address behind a pooler. */
function test(name: string, work: (own: TestDatabase, url: string) => Promise<void>): void {
  Deno.test({
    name: `behind PgBouncer, ${name}`,
    ignore: POOLER === null, // the package `pgbouncer` is not installed
    async fn() {
      const folder = await Deno.makeTempDir({ prefix: "purser-pgbouncer-" });
      await Deno.chmod(folder, 0o755);
      try {
        await using own = await realmDatabase();
        await using pooler = await startPooler(own, folder);
        await work(own, pooler.url);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

test(
  "three processes make the indexes of several realms, and one of them is killed",
  async (own, url) => {
    await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
    const realms = [realm, await realm.neighbour(), await realm.neighbour()];
    for (const one of realms) await one.currency("1");
    const barrier = await closedBarrier(realm, own.url);
    const texts = [COLUMN, BARRED, UNIQUE];
    const killed = startMigrator(url, texts, BEHIND);
    await untilBuilding(realm);
    await using other = realm.another({ ...BEHIND, DATABASE_URL: url });
    const { left, errors } = migrating(other, realm.services.migrations, ...texts);
    const third = startMigrator(url, texts, BEHIND);
    killed.kill("SIGKILL");
    await killed.status;
    await barrier.end();
    deepEqual([await left, errors], [[], []]);
    equal((await third.status).code, 0);
    for (const one of realms) {
      const valid = [await validityOf(one, "by_added"), await validityOf(one, "one_added")];
      deepEqual([await recordedIn(one), ...valid], [3, true, true]);
    }
  },
);

test(
  "a build that waits for too long is canceled, its index is dropped, and no session stays at work",
  async (own, url) => {
    await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
    await realm.currency("1");
    await using other = realm.another({ ...BEHIND, DATABASE_URL: url, INDEX_WAIT_SECONDS: "2" });
    const { migrations } = realm.services;
    const barrier = await closedBarrier(realm, own.url);
    const { left, errors } = migrating(other, migrations, COLUMN, BARRED);
    await untilBuilding(realm);
    const reader = await openTransaction(own.url, "select 1 from pg_class limit 1");
    await barrier.end();
    deepEqual(await left, [realm.id]);
    match(errors[0].message, new RegExp(`^index by_added waits for .* process ${reader.pid} `));
    equal(await validityOf(realm, "by_added"), null);
    await until(async () => (await asOwner(realm, AT_WORK)).length === 0);
    await reader.end();
    deepEqual(await migrating(other, migrations, COLUMN, INDEX).left, []);
    deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [2, true]);
  },
);
