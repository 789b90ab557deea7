/** Copies of tables that are left before their end, or lost. @module */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { copyOut } from "../../db/backup/copies.ts";
import { openDatabase, type Pool, type Tx } from "../../db/database.ts";
import { codeOf, isDisconnect } from "../../db/errors.ts";
import { buildingIn, writing } from "../../db/transaction.ts";
import { parseStoredJson } from "../../domain/json.ts";
import { testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { openWay, type Way } from "../support/reset_sockets.ts";

Deno.test("a copy of a table that is left at any row lets its transaction end, and the connection go on", async () => {
  await using own = await testDatabase();
  const database = openDatabase({
    ...{ url: own.url, prepare: true, parseJson: parseStoredJson, platformMax: 1 },
  });
  const { sql } = database.platform;
  try {
    await sql.unsafe(`create table public.wide as
      select i, repeat(md5(i::text), 20) as text from generate_series(1, 5000) i`);
    const wide = { name: "wide", columns: ["i", "text"] };
    for (const [chunks, turns] of [[1, 0], [1, 5], [3, 0], [3, 1], [20, 1], [50, 0], [50, 5]]) {
      const left = sql.begin(async (tx) => {
        let taken = 0;
        for await (const _ of copyOut(tx as Tx, "public", wide)) {
          for (let turn = 0; turn < turns; turn++) await new Promise((next) => setTimeout(next, 0));
          if (++taken === chunks) throw new Error("left");
        }
        throw new Error(`${taken} chunks`);
      });
      await rejects(left, { message: "left" }, `${chunks} ${turns}`);
      deepEqual((await sql`select 1 as one`)[0], { one: 1 });
    }
  } finally {
    await database.close();
  }
});

const WIDE = { name: "wide", columns: ["i", "text"] };

/** Gives work a pool of one connection over a way that may be lost, another pool, and a table of so many rows. */
async function withRows(
  rows: number,
  work: (pool: Pool, way: Way, observer: Pool) => Promise<void>,
): Promise<void> {
  await using own = await testDatabase();
  await using way = await openWay(own.superuserUrl);
  const options = { prepare: true, parseJson: parseStoredJson, platformMax: 1 };
  const [there, observer] = [way.url, own.superuserUrl].map((url) =>
    openDatabase({ ...options, url })
  );
  try {
    await writing(observer.platform, (db) =>
      db.unsafe(`create table public.wide as
        select i, repeat(md5(i::text), 20) as text from generate_series(1, ${rows}) i`));
    await work(there.platform, way, observer.platform);
  } finally {
    await Promise.all([there.close(), observer.close()]);
  }
}

Deno.test("a copy that is left at its last row, after all had arrived, lets its transaction end", async () => {
  for (const rows of [1, 50, 200]) {
    await withRows(rows, async (pool) => {
      await buildingIn(pool, async (tx) => {
        for await (const _ of copyOut(tx, "public", WIDE)) break;
        equal((await tx`select 1 as one`)[0].one, 1);
      });
    });
  }
});

for (const isLeft of [false, true]) {
  Deno.test(`a copy whose connection is lost tells that, and nothing of its own${isLeft ? ", when it is left" : ""}`, async () => {
    await withRows(5000, async (pool, way) => {
      const told = Promise.withResolvers<unknown>();
      const work = buildingIn(pool, async (tx) => {
        // No more arrives than it takes: its connection is read.
        const chunks = copyOut(tx, "public", WIDE, "i <= 115 or pg_sleep(60) is null");
        await chunks.next();
        way.reset();
        const closed = async () => codeOf(await asked(tx)) === "CONNECTION_CLOSED";
        while (!await closed()) await new Promise((resolve) => setTimeout(resolve));
        const rest = async () => void await Array.fromAsync(chunks);
        const ending = isLeft ? chunks.return(null) : rest();
        told.resolve(await ending.then(() => null, (error: unknown) => error));
      });
      await rejects(work, isDisconnect);
      const error = await told.promise;
      equal(isLeft ? error === null : isDisconnect(error), true, `${error}`);
    });
  });
}

const asked = (tx: Tx) => tx`select 1`.then(() => null, (error: unknown) => error);

Deno.test("a copy whose session has ended, which its connection is not told, ends", async () => {
  await withRows(5000, async (pool, way, observer) => {
    const work = buildingIn(pool, async (tx) => {
      const [{ pid }] = await tx`select pg_backend_pid() as pid`;
      let isCut = false;
      for await (const _ of copyOut(tx, "public", WIDE)) {
        if (isCut) continue;
        isCut = true;
        way.freeze();
        await observer.sql`select pg_terminate_backend(${pid})`;
        await until(async () =>
          (await observer.sql`select from pg_stat_activity where pid = ${pid}`).length === 0
        );
      }
    });
    await rejects(work, isDisconnect);
  });
});
