/** Prepared transactions (two-phase commit), which no session has, and the indexes that wait for them. @module */
import { deepEqual, equal, match } from "node:assert/strict";
import { diskDatabase } from "../support/database.ts";
import { openDatabase } from "../../db/database.ts";
import {
  asOwner,
  BARRED,
  closedBarrier,
  COLUMN,
  INDEX,
  migrating,
  recordedIn,
  schemaOf,
  untilBuilding,
  validityOf,
} from "../support/index_steps.ts";
import { testRealm } from "../support/realm.ts";

/** Prepares a transaction that has run a statement. */
async function prepare(url: string, name: string, text: string): Promise<void> {
  const database = openDatabase({
    ...{ url, prepare: true, parseJson: JSON.parse },
    platformMax: 1, // one session from the begin to the end
  });
  try {
    await database.platform.sql.unsafe(`begin; ${text}; prepare transaction '${name}'`).simple();
  } finally {
    await database.close();
  }
}

Deno.test("an index that waits for a prepared transaction names it, gives up, leaves nothing, and is made later", async () => {
  await using own = await diskDatabase({ max_prepared_transactions: "5" });
  await using realm = await testRealm({ env: { DATABASE_URL: own.url, INDEX_WAIT_SECONDS: "2" } });
  await realm.currency("10");
  const { migrations } = realm.services;
  const accounts = `"${schemaOf(realm)}".accounts`;
  const rollBack = (name: string) => asOwner(realm, `rollback prepared '${name}'`);
  const refused = async (name: string) => {
    const { left, errors } = migrating(realm, migrations, COLUMN, INDEX);
    deepEqual(await left, [realm.id]);
    match(errors[0].message, new RegExp(`prepared transaction "${name}"`));
  };
  deepEqual(await migrating(realm, migrations, COLUMN).left, []);
  // One that has written keeps a build from its end, one that has altered from its begin.
  const texts = {
    wrote: `update ${accounts} set added = null`,
    altered:
      `create trigger later after truncate on ${accounts} execute function suppress_redundant_updates_trigger()`,
  };
  for (const [name, text] of Object.entries(texts)) {
    await prepare(own.url, name, text);
    await refused(name);
    equal(await validityOf(realm, "by_added"), null);
    await rollBack(name);
  }
  // One that was prepared after the begin: the index can be neither ended nor dropped.
  const barrier = await closedBarrier(realm, own.url);
  const { left, errors } = migrating(realm, migrations, COLUMN, BARRED);
  await untilBuilding(realm);
  await prepare(own.url, "late", texts.wrote);
  await barrier.end();
  deepEqual(await left, [realm.id]);
  match(errors[0].message, /prepared transaction "late".*may be left, not valid/);
  await rollBack("late");
  deepEqual(await migrating(realm, migrations, COLUMN, INDEX).left, []);
  deepEqual([await recordedIn(realm), await validityOf(realm, "by_added")], [2, true]);
});
