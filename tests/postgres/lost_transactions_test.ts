/** Connections that are lost under a transaction: each part of it is told, and it alone. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { connect } from "../../db/connections.ts";
import { copyIn } from "../../db/backup/copies.ts";
import { type Db, openDatabase, type Pool, type Tx } from "../../db/database.ts";
import { codeOf } from "../../db/errors.ts";
import { buildingIn, reading, savepoint, writing } from "../../db/transaction.ts";
import { superuserUrl, testDatabase } from "../support/database.ts";
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
      while (told === undefined) await new Promise((resolve) => setTimeout(resolve));
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

const isLost = (error: unknown) => ["ECONNRESET", "CONNECTION_CLOSED"].includes(codeOf(error)!);

Deno.test("a transaction in which a connection to another server is lost ends with that error, and is rolled back", async () => {
  await using own = await testDatabase();
  await using way = await openWay(superuserUrl());
  const nobody = new URL(own.url);
  nobody.port = `${freePort()}`;
  await withPool(own.url, async (pool) => {
    await writing(pool, (db) => db`create table public.written (n integer)`);
    const beside = (url: string, work: (other: Pool) => Promise<unknown>) =>
      buildingIn(pool, async (tx) => {
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
  const session = { searchPath: "public", role: null, location: null, name: "posting" };
  const options = { prepare: true, parseJson: JSON.parse };
  const sql = connect(options, way.url, session, 1, null);
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
