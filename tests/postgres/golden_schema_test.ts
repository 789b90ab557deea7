import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { testDatabase, testDatabaseUrl } from "../support/database.ts";
import { rowsOf, testRealm } from "../support/realm.ts";
import { dumpSchemas, dumpSpare, readDumps } from "../support/schema.ts";
import { addSpares, takeSpare } from "../support/spare_schemas.ts";

Deno.test("the migrations lead to the golden schemas (write them with `deno task schema`)", async () => {
  const made = await dumpSchemas(testDatabaseUrl());
  const golden = await readDumps();
  equal(made.platform, golden.platform);
  equal(made.realm, golden.realm);
});

Deno.test("a realm that takes a spare schema has the schema and the rights that migrations give to one, and nobody else takes it", async () => {
  await using own = await testDatabase();
  await addSpares(own.url, 0, 2);
  equal(await dumpSpare(own.url), (await readDumps()).realm);
  const database = openDatabase({ url: own.url, prepare: true, parseJson: JSON.parse });
  try {
    const takes = ["first", "second", "third"].map((name) => takeSpare(database.platform, name));
    deepEqual((await Promise.all(takes)).sort(), [false, false, true]);
  } finally {
    await database.close();
  }
});

Deno.test("the body of every function in the migrations can be parsed, and names existing objects", async () => {
  await using realm = await testRealm();
  const parsed = () =>
    rowsOf(
      realm,
      `select p.oid::regprocedure::text as name,
        case l.lanname when 'plpgsql' then plpgsql_validator(p.oid)::text
          when 'sql' then fmgr_sql_validator(p.oid)::text end
      from pg_proc p join pg_language l on l.oid = p.prolang
      where p.pronamespace in (current_schema()::regnamespace, 'platform'::regnamespace)`,
    );
  ok((await parsed()).length > 50, "there are many");
  await rowsOf(
    realm,
    `set local check_function_bodies = off;
    create function broken() returns bigint language sql as 'select id from nowhere'`,
  );
  await rejects(parsed, /nowhere/);
});
