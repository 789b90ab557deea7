/** Connections that are lost under a transaction: each part of it is told, and it alone. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { connect } from "../../db/connections.ts";
import { copyIn } from "../../db/backup/copies.ts";
import { type Db, openDatabase, type Pool, type Tx } from "../../db/database.ts";
import { codeOf, mayBeDone } from "../../db/errors.ts";
import { buildingIn, locking, reading, savepoint, writing } from "../../db/transaction.ts";
import { superuserUrl, testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { openProxy } from "../support/held_queues.ts";
import { freePort } from "../support/ports.ts";
import { openWay, whenFailed } from "../support/reset_sockets.ts";

async function withPool(url: string, work: (pool: Pool) => Promise<void>): Promise<void> {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse, platformMax: 1 });
  try {
    await work(database.platform);
  } finally {
    await database.close();
  }
}

const one = (db: Db) => db`select 1 as one`;

const TABLE = { name: "pg_temp.rows", columns: ["n"], key: [], bytes: 0, isPart: false };

/** What a transaction asks when its socket has failed, and before that has ended. */
const LATE: Record<string, (tx: Tx) => Promise<unknown>> = {
  "a statement": one,
  "several statements": (tx) => Promise.all([one(tx), one(tx), tx`select ${"2"} as two`]),
  "a savepoint": (tx) => savepoint(tx, one),
  "a copy": (tx) => copyIn(tx, "", TABLE as never, (async function* () {})()),
  "a statement with more bytes than a packet": (tx) => tx`select ${"x".repeat(100_000)} as text`,
};

for (const [what, ask] of Object.entries(LATE)) {
  Deno.test(`what a transaction sends between the failure of its socket and its end fails: ${what}`, async () => {
    await using way = await openWay(superuserUrl());
    await withPool(way.url, async (pool) => {
      let told: unknown;
      const work = buildingIn(pool, async (tx) => {
        await one(tx);
        const asked = whenFailed(() => ask(tx));
        way.reset();
        told = await asked.catch((error) => error);
        await rejects(async () => await one(tx), { code: "CONNECTION_CLOSED" });
        await rejects(savepoint(tx, one), { code: "CONNECTION_CLOSED" });
        throw told;
      });
      await rejects(work, { code: "CONNECTION_CLOSED" });
      await until(() => told !== undefined, 0);
      equal(codeOf(told), "CONNECTION_CLOSED", `${told}`);
      equal((await reading(pool, one))[0].one, 1);
    });
  });
}

Deno.test("what of a transaction waits behind more statements than the driver sends at once fails with its connection", async () => {
  await using way = await openWay(superuserUrl());
  await withPool(way.url, async (pool) => {
    const told = Promise.withResolvers<unknown[]>();
    const work = buildingIn(pool, async (tx) => {
      const slow = tx`select pg_sleep(60)`.execute();
      const behind = Array.from({ length: 150 }, () => one(tx));
      const all = Promise.allSettled([slow, ...behind]);
      await new Promise((resolve) => setTimeout(resolve)); // they are in line
      way.reset();
      told.resolve((await all).map((end) => end.status === "rejected" && isLost(end.reason)));
    });
    await rejects(work);
    deepEqual(await told.promise, Array(151).fill(true));
    equal((await reading(pool, one))[0].one, 1);
  });
});

const isLost = (error: unknown) =>
  ["ECONNRESET", "CONNECTION_CLOSED", "CONNECTION_DESTROYED"].includes(codeOf(error)!);

Deno.test("a transaction in which a connection to another server is lost ends with that error, and is rolled back", async () => {
  await using own = await testDatabase();
  await using way = await openWay(superuserUrl());
  const nobody = new URL(own.url);
  nobody.port = `${freePort()}`;
  await withPool(own.url, async (pool) => {
    await writing(pool, (db) => db`create table public.written (n integer)`);
    const beside = (url: string, work: (other: Pool) => Promise<unknown>) =>
      buildingIn(pool, async (tx) => {
        await tx`set local idle_in_transaction_session_timeout = 0`;
        await tx`insert into public.written values (1)`;
        await withPool(url, async (other) => void await work(other));
      });
    await rejects(beside(nobody.href, (other) => reading(other, one)), { code: "ECONNREFUSED" });
    const losing = (tx: Tx) => {
      const asked = tx`select pg_sleep(60)`.execute();
      setTimeout(() => way.reset());
      return asked;
    };
    await rejects(beside(way.url, (other) => buildingIn(other, losing)), isLost);
    const inner = (other: Pool) => buildingIn(other, (tx) => savepoint(tx, losing));
    await rejects(beside(way.url, inner), isLost);
    deepEqual([...await reading(pool, (db) => db`select from public.written`)], []);
  });
});

Deno.test("what comes between the failure of a shared connection and its end is told at once", async () => {
  await using way = await openWay(superuserUrl());
  const sql = postingTo(way.url);
  try {
    await one(sql as unknown as Db);
    const asked = whenFailed(() => Promise.allSettled([one(sql as never), one(sql as never)]));
    way.reset();
    const told = (await asked).map((end) => end.status === "rejected" && codeOf(end.reason));
    deepEqual(told, ["CONNECTION_CLOSED", "CONNECTION_CLOSED"]);
  } finally {
    await sql.end({ timeout: 0 });
  }
});

Deno.test("what waits behind the beginning of a batch on a shared connection that is lost is not sent without it", async () => {
  await using own = await testDatabase();
  const proxy = openProxy(new URL(own.url));
  await using observer = observe(own.superuserUrl);
  await observer.sql`create table public.written (n integer)`;
  await observer.sql`grant all on public.written to public`;
  const sql = postingTo(proxy.url);
  try {
    const parts = Promise.allSettled([
      sql.unsafe("begin; select pg_sleep(60)").simple().execute(),
      sql.unsafe("insert into public.written values ($1)", [1]).execute(),
      sql.unsafe("commit").simple().execute(),
    ]);
    await until(async () => {
      const rows = await observer.sql`
        select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`;
      return rows.length === 1;
    });
    proxy.cut();
    const told = (await parts).map((end) =>
      end.status === "rejected" && [codeOf(end.reason), mayBeDone(end.reason)]
    );
    const closed = (isUnknown: boolean) => ["CONNECTION_CLOSED", isUnknown];
    deepEqual(told, [closed(true), closed(false), closed(false)]);
    await sql.unsafe("select 1"); // over the next connection, behind what would have been sent
    deepEqual([...await observer.sql`select n from public.written`], []);
  } finally {
    await sql.end({ timeout: 0 });
    await proxy.close();
  }
});

Deno.test("a caller who waits for a connection when its pool is ended was not served, and nothing was done", async () => {
  const database = openDatabase({
    ...{ url: superuserUrl(), prepare: true, parseJson: JSON.parse, platformMax: 1 },
  });
  const { sql } = database.platform;
  const begun = Promise.withResolvers<void>();
  const holding = sql.begin(async (tx) => {
    await tx`select 1`;
    begun.resolve();
    await tx`select pg_sleep(60)`;
  }).catch((error) => error);
  await begun.promise;
  const waiting = [sql`select 1`.catch((error) => error), sql.begin(one).catch((error) => error)];
  await new Promise((resolve) => setTimeout(resolve)); // they are in line
  await sql.end({ timeout: 0 });
  waiting.push(sql`select 1`.catch((error) => error), sql.begin(one).catch((error) => error));
  const told = (await Promise.all([holding, ...waiting])).map((error) => [
    codeOf(error),
    mayBeDone(error),
  ]);
  const [destroyed, ended] = ["CONNECTION_DESTROYED", "CONNECTION_ENDED"];
  deepEqual(told.slice(1), [destroyed, destroyed, ended, ended].map((code) => [code, false]));
  deepEqual(told[0][1], true);
  await database.close();
});

Deno.test("the work of a transaction is told when its connection is ended, though the server does not answer", async () => {
  await using way = await openWay(superuserUrl());
  const database = openDatabase({
    ...{ url: way.url, prepare: true, parseJson: JSON.parse, platformMax: 1 },
  });
  const { sql } = database.platform;
  const begun = Promise.withResolvers<void>();
  let told: unknown[] = [];
  const work = sql.begin(async (tx) => {
    await one(tx as Tx);
    way.freeze();
    const all = Promise.allSettled(Array.from({ length: 150 }, () => one(tx as Tx)));
    setTimeout(begun.resolve); // they are in line
    told = (await all).map((end) => end.status === "rejected" && isLost(end.reason));
    await one(tx as Tx);
  });
  const failed = rejects(work, isLost);
  await begun.promise;
  await sql.end({ timeout: 0 });
  await new Promise((resolve) => setTimeout(resolve));
  deepEqual(told, Array(150).fill(true));
  await failed;
  await database.close();
});

Deno.test("the failure of another server leaves the connections of a transaction, and work beside it, as they are", async () => {
  await using own = await testDatabase();
  const other = openDatabase({
    ...{ url: own.url, prepare: true, parseJson: JSON.parse, platformMax: 1 },
  });
  const nobody = new URL(own.url);
  nobody.port = `${freePort()}`;
  const away = openDatabase({ url: nobody.href, prepare: true, parseJson: JSON.parse });
  await withPool(superuserUrl(), async (pool) => {
    const { sql } = pool;
    const pid = async () =>
      (await reading(pool, (db) => db`select pg_backend_pid() as pid`))[0].pid;
    const before = await pid();
    const failing: [code: string, work: () => Promise<unknown>][] = [
      ["25006", () =>
        buildingIn(other.platform, async (tx) => {
          await tx`set transaction read only`;
          await tx`create table public.refused (n integer)`;
        })],
      ["ECONNREFUSED", () => reading(away.platform, one)],
    ];
    for (const [code, fail] of failing) {
      await rejects(locking(pool, async (tx) => void (await one(tx), await fail())), { code });
      equal(pool.sql, sql, code);
      equal(await pid(), before, code);
    }
  });
  await Promise.all([other.close(), away.close()]);
});

/** A session of a posting queue. */
function postingTo(url: string) {
  const session = { searchPath: "public", role: null, location: null, name: "posting" };
  return connect({ prepare: true, parseJson: JSON.parse }, url, session, 1, null);
}

/** One connection of another caller, which looks on. */
function observe(url: string): { sql: Db } & AsyncDisposable {
  const observer = openDatabase({ url, prepare: true, parseJson: JSON.parse, platformMax: 1 });
  return { sql: observer.platform.sql, [Symbol.asyncDispose]: () => observer.close() };
}
