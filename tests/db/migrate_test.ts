import { deepEqual, equal, rejects } from "node:assert/strict";
import { openDatabase, type Sql } from "../../db/database.ts";
import { migratePlatform, migrateRealm, type Migration, readLadders } from "../../db/migrate.ts";
import { testDatabase } from "../support/database.ts";
import { testRealm } from "../support/realm.ts";

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
    const ladder = [step(1, "create table a (x int)"), step(2, "insert into a values (1)")];
    const applied = await Promise.all([1, 2, 3].map(() => migratePlatform(sql, ladder)));
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
  const ladders = await readLadders();
  const { sql } = realm.database.platform;
  const place = { schema: realm.made.realm.schema_name, role: realm.made.realm.role_name };
  const applied = await sql.begin((tx) => migrateRealm(tx, ladders, place));
  equal(applied, 0);
});
