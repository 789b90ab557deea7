/** Archived parts that come back into a ledger which was migrated meanwhile. @module */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { migrateRealms } from "../../domain/realms/migrations.ts";
import { writing } from "../../db/transaction.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { idFrom } from "../../domain/ids.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { attachNewest, dropArchived } from "../../workers/archive/archiving.ts";
import { archivedTransactions } from "../../workers/archive/proofs.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import {
  agedRealm,
  archiveInto,
  archiveOne,
  asOwner,
  BOUNDS,
  namesIn,
  stateOf,
} from "../support/archives.ts";
import { realmDatabase } from "../support/database.ts";
import { oneMore } from "../support/one_more_migration.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";

/** What a later version may do to the tables with parts, by the rules of CONTRIBUTING.md. */
const MIGRATION = `
  alter table transactions add column channel text,
    add column weight integer not null default 7,
    add column at_once boolean default true;
  alter table transactions alter column weight set default 8, alter column at_once drop default;
  alter table transactions add constraint transactions_weight check (weight > 0) not valid;
  alter table transactions validate constraint transactions_weight;
  alter table entries add column remark varchar(40) collate "C",
    add column told timestamptz not null default '2026-01-01T00:00:00Z';
  alter table entries add constraint entries_remark check (remark <> '') not valid;
  create index entries_told on entries (told) where remark is not null;
  create trigger entries_noted before truncate on entries_newest
    for each statement execute function refuse_change()`;

async function migrate(realm: TestRealm, ...texts: string[]): Promise<void> {
  const { database, services } = realm;
  deepEqual(await migrateRealms(database, oneMore(services.migrations, ...texts), () => {}), []);
}

const attach = (realm: TestRealm) => asOwner(realm, (owner) => attachNewest({ owner }));

/** The columns, checks, indexes and triggers of each part of a table. */
async function formsOf(realm: TestRealm, table: string): Promise<string[]> {
  const rows = await rowsOf<{ form: string }>(
    realm,
    `select concat_ws(E'\\n',
      (select string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attcollation,
          (select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = attrelid and adnum = attnum)), ',' order by attnum)
        from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped),
      (select string_agg(conname || pg_get_constraintdef(oid), ',' order by conname) from pg_constraint
        where conrelid = c.oid and contype = 'c'),
      (select string_agg(substring(pg_get_indexdef(indexrelid) from ' USING .*'), ',' order by 1) from (
        select indexrelid from pg_index where indrelid = c.oid order by pg_get_indexdef(indexrelid)) q),
      (select string_agg(tgname, ',' order by tgname) from pg_trigger where tgrelid = c.oid and not tgisinternal)) as form
    from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = '${table}'::regclass`,
  );
  return rows.map(({ form }) => form);
}

Deno.test("parts that come back into a ledger that was migrated meanwhile have its new columns, with what the rows of other parts have there", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await agedRealm(realm);
  const folder = await Deno.makeTempDir();
  const before = await stateOf(realm);
  await archiveOne(realm, folder);
  await archiveOne(realm, folder);
  await migrate(realm, MIGRATION);
  match(await attach(realm), /Z$/);
  match(await attach(realm), /Z$/);
  deepEqual(
    await rowsOf(
      realm,
      "select distinct channel, weight, at_once, remark, told::text from transactions, entries",
    ),
    [{
      ...{ channel: null, weight: 7, at_once: true, remark: null },
      told: "2026-01-01 00:00:00+00",
    }],
  );
  for (const table of ["transactions", "entries"]) {
    const forms = await formsOf(realm, table);
    deepEqual(forms, Array(3).fill(forms[0]), table);
  }
  await asOwner(
    realm,
    (owner) =>
      writing(owner, (db) =>
        db.unsafe(
          `alter table transactions drop column channel, drop column weight, drop column at_once;
        alter table entries drop column remark, drop column told`,
        ).simple()),
  );
  equal(await stateOf(realm), before);
  await extendHashChain(realm.pool, Date.now);
  deepEqual((await checkLedger(realm.pool)).mismatches, []);
});

for (
  const [title, earlier, later, repair, told] of [
    [
      "a column whose value there nobody knows",
      "create table added (id integer)",
      "alter table transactions add column channel text; alter table transactions alter column channel set default 'api'",
      (part: string) => `alter table ${part} add column channel text`,
      /which channel its rows have is not known. Add it to detached_transactions_\d{8}t\d{9} with what/,
    ],
    [
      "a column that the ledger has no more",
      "alter table transactions add column channel text",
      "alter table transactions drop column channel",
      (part: string) => `alter table ${part} drop column channel`,
      /it has no channel any more. Where what the part has there may go, drop it from detached_transactions_/,
    ],
  ] as const
) {
  Deno.test(`a part with ${title} does not come back by itself, and does once it was altered as the message says`, async () => {
    await using own = await realmDatabase();
    await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
    await agedRealm(realm);
    await migrate(realm, earlier);
    const folder = await Deno.makeTempDir();
    await archiveOne(realm, folder);
    await migrate(realm, earlier, later);
    const names = () =>
      rowsOf<{ name: string; columns: number }>(
        realm,
        `select c.relname as name, count(*)::integer as columns from pg_class c join pg_attribute a on a.attrelid = c.oid
          where c.relname like 'detached\\_%' and c.relkind = 'r' group by 1 order by 1`,
      );
    const kept = await names();
    await rejects(attach(realm), told);
    deepEqual(await names(), kept);
    await asOwner(realm, (owner) => writing(owner, (db) => db.unsafe(repair(kept[1].name))));
    match(await attach(realm), /Z$/);
    deepEqual(await names(), []);
  });
}

Deno.test("a part that came back into a ledger that was migrated meanwhile is archived with what its rows have now, and files of before are never taken for it", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await agedRealm(realm);
  const [first, second, third] = [
    await Deno.makeTempDir(),
    await Deno.makeTempDir(),
    await Deno.makeTempDir(),
  ];
  const textsIn = async (folder: string) =>
    await Promise.all((await namesIn(folder)).map((name) => Deno.readFile(`${folder}/${name}`)));
  const columnsIn = async (folder: string) => {
    const name = (await namesIn(folder)).find((one) => one.endsWith("manifest.json"))!;
    const { files } = JSON.parse(await Deno.readTextFile(`${folder}/${name}`));
    return files.map(({ columns }: { columns: string[] }) => columns.includes("channel"));
  };
  const proven = async (folder: string) => {
    const files = archivedTransactions(realm.pool, realm.id, { folder, identities: null });
    deepEqual((await checkLedger(realm.pool, undefined, undefined, files)).mismatches, []);
  };
  await archiveOne(realm, first);
  await migrate(realm, "alter table transactions add column channel text");
  await attach(realm);
  const before = await textsIn(first);
  await rejects(archiveInto(realm, first), /from before the ledger was migrated: give another/);
  deepEqual(await textsIn(first), before);
  await archiveOne(realm, second);
  deepEqual(await columnsIn(second), [true, false]);
  await proven(second);
  await attach(realm);
  await archiveOne(realm, second); // whole files of the same rows are taken
  await proven(second);
  await attach(realm);
  // A job of the migration fills the column.
  await asOwner(realm, (owner) =>
    writing(owner, (db) =>
      db.unsafe(`
        do $$ declare part regclass; begin
          for part in select inhrelid from pg_inherits where inhparent = 'transactions'::regclass loop
            execute format('alter table %s disable trigger user', part);
            execute format('update %s set channel = ''api'' where id < %L', part, '${
        idFrom(BOUNDS[0])
      }');
            execute format('alter table %s enable trigger user', part);
          end loop; end $$`).simple()));
  await rejects(archiveInto(realm, second), /from before the ledger was migrated: give another/);
  await archiveOne(realm, third);
  await proven(third);
  const { schema } = locationOf(realm.made.realm);
  const dropped = await asOwner(realm, (owner) =>
    dropArchived({
      ...{ owner, folder: third, realm: { id: realm.id, schema } },
      ...{ recipients: [], identities: null },
    }));
  equal(dropped.length, 1);
  await proven(third);
});
