/** Rights that are stated again: only what is not as it must be is changed. @module */
import { deepEqual, equal, notDeepEqual } from "node:assert/strict";
import { restateAll } from "../../domain/realms/migrations.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { realmDatabase } from "../support/database.ts";
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
  await using own = await realmDatabase();
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

Deno.test("a right to a table, a column or a sequence that roles should not have is taken from them, also where it is the only one", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { schema, role } = locationOf(realm.made.realm);
  const restate = () =>
    restateAll(realm.database, realm.services.migrations, () => {}, { every: true });
  const rights = async () =>
    (await rowsOf<{ line: string }>(
      realm,
      `select format('%s %s', c.relname, array(select a::text from unnest(c.relacl) a order by 1)) as line from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p', 'v', 'S')
      union all select format('%s.%s %s', attrelid::regclass, attname, array(select a::text from unnest(attacl) a order by 1))
        from pg_attribute where attrelid in (select oid from pg_class where relnamespace = current_schema()::regnamespace)
          and attacl <> '{}'
      order by 1`,
    )).map(({ line }) => line);
  deepEqual(await restate(), []);
  const before = await rights();
  const [{ sequence }] = await rowsOf<{ sequence: string }>(
    realm,
    `select relname as sequence from pg_class
      where relkind = 'S' and relnamespace = current_schema()::regnamespace limit 1`,
  );
  const bare = `revoke all on all tables in schema "${schema}" from "${role}", "${role}_worker";
    revoke all on all functions in schema "${schema}" from "${role}", "${role}_worker";
    revoke all on schema "${schema}" from "${role}", "${role}_worker";`;
  const more = [`insert on entries`, `update (id) on accounts`, `usage on sequence "${sequence}"`];
  for (const excess of more) {
    for (const first of ["", bare]) {
      await realm.database.builder.sql.begin(async (tx) => {
        await tx.unsafe(
          `set local search_path to "${schema}"; ${first} grant ${excess} to "${role}"`,
        ).simple();
      });
      notDeepEqual(await rights(), before, excess);
      deepEqual(await restate(), []);
      deepEqual(await rights(), before, excess);
    }
  }
});
