import { equal, ok, rejects } from "node:assert/strict";
import type { Pool } from "../../db/database.ts";
import { reading, readingBriefly, using } from "../../db/transaction.ts";
import { Contention, isDisconnect } from "../../db/errors.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { asSuperuser, realmDatabase } from "../support/database.ts";
import { testRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";

/** Has a statement run, and its connection cut. */
async function loseOne(pool: Pool, role: string): Promise<void> {
  const sleeping = `usename = '${role}' and query like '%pg_sleep(60)%'`;
  let lost: unknown = null;
  reading(pool, (db) => db`select pg_sleep(60)`).catch((error) => lost = error);
  await until(async () => {
    const cut = `select pg_terminate_backend(pid) from pg_stat_activity where ${sleeping}`;
    if (lost === null) await asSuperuser(cut);
    return lost !== null;
  });
  ok(isDisconnect(lost), `${lost}`);
}

Deno.test("a statement after one whose connection was cut is refused at once where the login has ended, and served where it has not", async () => {
  await using realm = await testRealm();
  const { role } = locationOf(realm.made.realm);
  await using process = realm.another({ DATABASE_CONNECTIONS: "12" });
  const pool = process.database.realm(locationOf(realm.made.realm));
  await loseOne(pool, role!);
  const [{ one }] = await reading(pool, (db) => db<{ one: number }[]>`select 1 as one`);
  equal(one, 1);
  await loseOne(pool, role!);
  try {
    await asSuperuser(`alter role "${role}" nologin`);
    // Lost, it would be refused by the deadline of all statements.
    await rejects(reading(pool, (db) => db`select 1`), { code: "28000" });
    await rejects(readingBriefly(pool, 5_000, (db) => db`select 1`), { code: "28000" });
  } finally {
    await asSuperuser(`alter role "${role}" login`);
  }
  const [{ two }] = await reading(pool, (db) => db<{ two: number }[]>`select 2 as two`);
  equal(two, 2);
});

Deno.test("a database that takes no connections answers 503, and serves again when it takes them", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { name, account } = await realm.currency("10");
  const other = await realm.account({ asset: name });
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const post = () => realm.admin.send("POST", "/v1/transactions", move);
  const database = new URL(own.url).pathname.slice(1);
  await asSuperuser(`alter database "${database}" allow_connections false`);
  try {
    const cut =
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`;
    await until(async () => {
      await asSuperuser(cut);
      return (await realm.admin.send("GET", `/v1/accounts/${account}`)).status === 503;
    });
    equal((await post()).status, 503);
  } finally {
    await asSuperuser(`alter database "${database}" allow_connections true`);
  }
  await until(async () => (await post()).status === 201);
});

Deno.test("a lost list is answered when its time is over, and its connections stay until the running statement has ended", async () => {
  const ended = Promise.withResolvers<void>();
  let [inUse, renewed] = [0, 0];
  const pool = {
    sql: {},
    settings: "",
    enter() {
      inUse++;
      return Promise.resolve(() => void inUse--);
    },
    renew: () => void renewed++,
  } as unknown as Pool;
  await rejects(using(pool, () => ended.promise, 3_600_000, 1), Contention);
  equal(inUse, 1);
  ended.resolve();
  await until(() => inUse === 0);
  equal(renewed, 0);
});
