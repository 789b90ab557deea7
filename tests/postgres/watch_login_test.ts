import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { openDatabase, workerRole } from "../../db/database.ts";
import { reapJobs, selectDue } from "../../db/jobs.ts";
import { type RealmRow, selectRealm } from "../../db/realms/realms.ts";
import { selectRevocations } from "../../db/security/sessions.ts";
import { admitToRealms, watchRole } from "../../db/platform_login.ts";
import { locking, reading, writing } from "../../db/transaction.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { serveWithLess } from "../../domain/security/platform_login.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { realmDatabase, superuserUrl } from "../support/database.ts";
import { PASSWORD, type TestRealm, testRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";

/** Statements with more rights than those of a realm's worker, for one that has put off that role. */
const hostile = (owner: string, schema: string, role: string) => [
  `set role ${owner}`,
  `set session authorization ${owner}`,
  `select * from "${schema}".accounts`,
  `insert into "${schema}".jobs (id) values (gen_random_uuid())`,
  "select * from platform.realms",
  "update platform.installation set login = null",
  `drop schema "${schema}" cascade`,
  `alter table "${schema}".accounts disable trigger all`,
  `alter role "${role}" password 'known'`,
  `alter role "${role}_worker" password 'known'`,
  `grant "${role}_worker" to "${role}"`,
  "create schema x",
  "create role x",
];

/** Makes a further realm, as an operator does. */
async function make(realm: TestRealm): Promise<RealmRow> {
  const made = await realm.operator("POST", "/v1/realms", {
    name: "later",
    admin: { email: "a@b.example", password: PASSWORD },
  });
  equal(made.status, 201, made.text);
  return (await reading(realm.database.platform, (db) => selectRealm(db, made.body.id)))!;
}

Deno.test("a statement injected into the reads of all realms is no owner, and reads nothing where it is nobody's worker", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  equal(await serveWithLess(realm.database), true);
  const later = await make(realm); // by a process that serves with less
  const owner = new URL(own.url).username;
  for (const row of [realm.made.realm, later]) {
    const location = locationOf(row);
    const { schema, role } = location;
    const pool = realm.database.sharedPool(location);
    const asWho = await reading(pool, async (db) => {
      const [row] = await db<{ login: string; now: string; schema: string }[]>`
        select session_user::text as login, current_user::text as now, current_schema as schema`;
      return row;
    });
    ok(/^watch_[0-9a-f]{32}$/.test(asWho.login), asWho.login);
    deepEqual([asWho.now, asWho.schema], [workerRole(role!), schema]);
    // Each read that runs in every realm.
    equal(typeof await selectDue(pool), "boolean");
    await reading(pool, (db) => selectRevocations(db, null));
    await writing(pool, reapJobs);
    for (const text of hostile(owner, schema, role!)) {
      const injected = pool.sql.begin(async (tx) => {
        await tx.unsafe(pool.settings);
        await tx.unsafe(`reset role; ${text}`);
      });
      await rejects(injected, /permission denied|must (be|have)/, text);
    }
    await rejects(
      writing(pool, (db) => db`update accounts set total = total + 1`),
      /permission denied/,
    );
  }
});

Deno.test("the role that reads all realms gets the grants of few of them in one transaction, and continues where it was ended", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const rows = [realm.made.realm, await make(realm)];
  equal(await serveWithLess(realm.database), true);
  const [{ id }] = await realm.database.builder.sql<{ id: string }[]>`select id from installation`;
  const role = watchRole(id);
  for (const { role_name } of rows) {
    await realm.database.builder.sql.unsafe(`revoke "${role_name}_worker" from ${role}`);
  }
  const seen = async () => {
    const passes = rows.map((row) => selectDue(realm.database.sharedPool(locationOf(row))));
    return (await Promise.allSettled(passes)).map(({ status }) => status);
  };
  deepEqual(await seen(), ["rejected", "rejected"]);
  const admit = (after: string | null) =>
    locking(realm.database.builder, (tx) => admitToRealms(tx, role, after, 1));
  equal(await admit(null), rows[0].id);
  deepEqual(await seen(), ["fulfilled", "rejected"]);
  equal(await serveWithLess(realm.database), true); // begun again
  deepEqual(await seen(), ["fulfilled", "fulfilled"]);
  equal(await admit(null), null);
});

Deno.test("a process that serves keeps no connection of the owner's but to build realms", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  equal(await serveWithLess(realm.database), true);
  await reading(realm.database.sharedPool(locationOf(realm.made.realm)), (db) => db`select 1`);
  await make(realm);
  const root = openDatabase({ url: superuserUrl(), prepare: true, parseJson: parseStoredJson });
  const { username, pathname } = new URL(own.url);
  try {
    await until(async () => {
      const rows = await root.platform.sql<{ name: string }[]>`
        select application_name as name from pg_stat_activity
        where datname = ${pathname.slice(1)} and usename = ${username}`;
      return rows.every(({ name }) => name === "purser owner");
    });
  } finally {
    await root.close();
  }
});
