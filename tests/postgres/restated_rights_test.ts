/** Rights that are stated again: only what is not as it must be is changed. @module */
import { deepEqual, equal, notDeepEqual } from "node:assert/strict";
import { restateAll } from "../../domain/realms/migrations.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { testDatabase } from "../support/database.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

interface Stated {
  name: string;
  version: string;
  /** Rights, whose they are when the function runs, and its search path. */
  rights: string;
}

/** The functions of a realm, with the versions of their rows. */
const functionsOf = (realm: TestRealm) =>
  rowsOf<Stated>(
    realm,
    `select p.oid::regprocedure::text as name, p.xmin::text as version,
      concat_ws(' ', p.proacl, p.prosecdef, p.proconfig) as rights
    from pg_proc p where p.pronamespace = current_schema()::regnamespace order by 1`,
  );

Deno.test("rights that are stated again leave functions alone that have theirs, and mend all others", async () => {
  await using own = await testDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { schema, role } = locationOf(realm.made.realm);
  const restate = () =>
    restateAll(realm.database, realm.services.migrations, () => {}, { every: true });
  deepEqual(await restate(), []);
  const before = await functionsOf(realm);
  deepEqual(await restate(), []);
  deepEqual(await functionsOf(realm), before);
  const rights = (rows: Stated[]) => rows.map(({ name, rights }) => `${name} ${rights}`);
  const wrong = [
    "grant execute on function archived_bound() to public",
    `grant execute on function lock_parts() to "${role}"`,
    `revoke execute on function entry_before(uuid, uuid) from "${role}"`,
    `grant execute on function analyze_parts() to "${role}"`,
    "alter function retry_job(uuid) security invoker",
    "alter function retry_job(uuid) reset search_path",
    "alter function refuse_change() set search_path to public",
    "alter function refuse_change() security definer",
  ];
  for (const statement of wrong) {
    await realm.database.builder.sql.begin(async (tx) => {
      await tx.unsafe(`set local search_path to "${schema}"; ${statement}`).simple();
    });
    notDeepEqual(rights(await functionsOf(realm)), rights(before), statement);
    deepEqual(await restate(), []);
    deepEqual(rights(await functionsOf(realm)), rights(before), statement);
  }
  equal(before.some(({ rights }) => rights === ""), false);
});
