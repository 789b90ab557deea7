/** Many realms are migrated at once: bounded, side by side with other processes, and carried on after a kill. @module */
import { deepEqual, equal, ok } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { passOver } from "../../db/realms/realm_passes.ts";
import type { RealmRow } from "../../db/realms/realms.ts";
import { migrateRealms, restateAll } from "../../domain/realms/migrations.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { openProgress } from "../../progress.ts";
import { realmDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { LOCKS_HERE } from "../support/locks.ts";
import { oneMore } from "../support/one_more_migration.ts";
import { type TestProcess, type TestRealm, testRealm } from "../support/realm.ts";

/** Rows of realms, each named by its server and a number: `a1`. */
async function* rowsNamed(...names: string[]): AsyncGenerator<RealmRow> {
  for (const id of names) yield { id } as RealmRow;
}

const serverOf = ({ id }: RealmRow) => id[0];
const coded = (code: string) => Object.assign(new Error(code), { code });

Deno.test("four realms of a server are in work at once, and another server waits for none of them", async () => {
  const names = Array.from({ length: 9 }, (_, n) => `a${n}`);
  const release = Promise.withResolvers<void>();
  const others = Promise.withResolvers<void>();
  let [running, most, settled] = [0, 0, 0];
  const pass = passOver(rowsNamed(...names, "b1", "b2"), {
    serverOf,
    async work({ id }) {
      if (id === "b2") others.resolve();
      if (id.startsWith("b")) return;
      most = Math.max(most, ++running);
      await release.promise;
      running--;
    },
    fail: (row, error) => ok(false, `${row.id}: ${error}`),
    settle: () => settled++,
  });
  await others.promise;
  equal(running, 4);
  release.resolve();
  await pass;
  deepEqual([most, settled], [4, 11]);
});

Deno.test("a realm whose tables are in use comes again behind the others, and is given up in the end", async () => {
  const order: string[] = [];
  const failed: string[] = [];
  let busy = 2;
  await passOver(rowsNamed("a1", "a2", "a3", "a4", "a5", "a6"), {
    serverOf,
    work({ id }) {
      order.push(id);
      if (id === "a1" && busy-- > 0) return Promise.reject(coded("55P03"));
      return id === "a2" ? Promise.reject(coded("55P03")) : Promise.resolve();
    },
    fail: ({ id }) => failed.push(id),
    settle: () => {},
  });
  deepEqual(order.slice(0, 6).sort(), ["a1", "a2", "a3", "a4", "a5", "a6"]);
  deepEqual([order.filter((id) => id === "a1").length, failed], [3, ["a2"]]);
  equal(order.filter((id) => id === "a2").length, 5);
});

Deno.test("a server that is not reached costs its own realms a few tries, and no others anything", async () => {
  const names = Array.from({ length: 300 }, (_, n) => `a${n}`);
  const failed: string[] = [];
  let [tries, done] = [0, 0];
  await passOver(rowsNamed(...names, "b1", "b2"), {
    serverOf,
    work({ id }) {
      if (id.startsWith("b")) return Promise.resolve(void done++);
      tries++;
      return Promise.reject(coded("ECONNREFUSED"));
    },
    fail: ({ id }) => failed.push(id),
    settle: () => {},
  });
  deepEqual([failed.length, done], [300, 2]);
  ok(tries <= 20, `${tries}`);
});

/** Some realms in a database of their own. */
async function realmsIn(
  url: string,
  count: number,
): Promise<{ first: TestRealm; all: TestRealm[] }> {
  const first = await testRealm({ env: { DATABASE_URL: url } });
  const all = [first];
  while (all.length < count) all.push(await first.neighbour());
  return { first, all };
}

/** How often each realm has applied a migration by its own table, by the number of times. */
async function appliedIn({ first, all }: { first: TestRealm; all: TestRealm[] }, number: number) {
  const counts: number[] = [];
  for (const realm of all) {
    const { schema } = locationOf(realm.made.realm);
    const [{ n }] = await first.database.builder.sql.unsafe(
      `select count(*)::int as n from "${schema}".migrations where number = ${number}`,
    );
    counts.push(n);
  }
  return counts;
}

async function versionsOf(
  { first, all }: { first: TestRealm; all: TestRealm[] },
): Promise<number[]> {
  const rows = await first.database.platform.sql`select id, schema_version from realms`;
  return all.map(({ id }) => rows.find((row) => row.id === id)!.schema_version);
}

Deno.test("two processes migrate the realms of a database at once, each realm once, with progress", async () => {
  await using own = await realmDatabase(6);
  const realms = await realmsIn(own.url, 6);
  await using first = realms.first;
  await using second: TestProcess = first.another({ DATABASE_URL: own.url });
  const migrations = oneMore(first.services.migrations, "create table added (id integer)");
  const lines: string[] = [];
  let at = 0;
  const progress = openProgress(
    { form: "lines", write: (text) => lines.push(text) },
    () => at += 6_000,
  );
  const told: unknown[] = [];
  const left = await Promise.all(
    [first, second].map(({ database }, n) =>
      migrateRealms(
        database,
        migrations,
        (level, _, { applied }) => told.push(level, applied),
        n === 0 ? progress : undefined,
      )
    ),
  );
  deepEqual(left, [[], []]);
  deepEqual(await appliedIn(realms, migrations.realm.length), Array(6).fill(1));
  deepEqual(await versionsOf(realms), Array(6).fill(migrations.realm.length));
  equal(told.filter((one) => one === 1).length, 6);
  equal(told.includes("error"), false);
  equal(lines.at(-1)!.startsWith("Migrating: 6 of 6 realms"), true, lines.at(-1));
  // The rights of all realms, stated by both processes at once: roles are rows that all share.
  const restated = [first, second].map(({ database }) =>
    restateAll(database, migrations, () => {}, { every: true })
  );
  deepEqual(await Promise.all(restated), [[], []]);
});

Deno.test("a realm in use keeps no other from its migration, and a process that is killed meanwhile is carried on", async () => {
  await using own = await realmDatabase(6);
  const realms = await realmsIn(own.url, 6);
  await using first = realms.first;
  const text = "alter table accounts add column added integer";
  const { migrations } = first.services;
  const version = migrations.realm.length;
  const over = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const reader = realms.all[2].pool.sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select id from accounts limit 1`;
    begun.resolve();
    await over.promise;
  });
  await begun.promise;
  const script = fileURLToPath(new URL("../support/migrator.ts", import.meta.url));
  const process = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--config", "tests/deno.json", script, text],
    env: { TEST_DATABASE_URL: own.url, TEST_DATABASES: "0" },
    stdout: "null",
    stderr: "inherit",
  }).spawn();
  const waits = `select 1 from ${LOCKS_HERE} l join pg_class c on c.oid = l.relation
    where c.relname = 'accounts' and not l.granted and l.mode = 'AccessExclusiveLock'`;
  const others = Array(6).fill(version + 1).with(2, version);
  await until(async () => {
    const stuck = (await first.database.builder.sql.unsafe(waits)).length > 0;
    return stuck && `${await versionsOf(realms)}` === `${others}`;
  });
  process.kill("SIGKILL");
  equal((await process.status).signal, "SIGKILL");
  over.resolve();
  await reader;
  deepEqual(await migrateRealms(first.database, oneMore(migrations, text), () => {}), []);
  deepEqual(await versionsOf(realms), Array(6).fill(version + 1));
  deepEqual(await appliedIn(realms, version + 1), Array(6).fill(1));
});

Deno.test("a realm that moves while it is migrated is not marked as migrated", async () => {
  await using own = await realmDatabase();
  const realms = await realmsIn(own.url, 1);
  await using first = realms.first;
  const { migrations } = first.services;
  const moved = `create table added (id integer);
    update platform.realms set place = 1 where id = '${first.id}' and place = 0`;
  // Its row is changed by the migration itself, so the transaction that marks it sees another place.
  deepEqual(await migrateRealms(first.database, oneMore(migrations, moved), () => {}), [first.id]);
  deepEqual(await versionsOf(realms), [migrations.realm.length]);
  deepEqual(await appliedIn(realms, migrations.realm.length + 1), [0]);
});
