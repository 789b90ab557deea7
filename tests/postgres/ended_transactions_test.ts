/** Statements that come when their transaction or savepoint is over: none is sent. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { openDatabase, type Pool, type Tx } from "../../db/database.ts";
import { locking, reading, savepoint, serializable, writing } from "../../db/transaction.ts";
import { testDatabase } from "../support/database.ts";

const ENDED = /after the end of its transaction/;

/** Gives work a pool of one connection, and a table. */
async function withTable(work: (pool: Pool) => Promise<void>): Promise<void> {
  await using own = await testDatabase();
  const database = openDatabase({
    ...{ url: own.url, prepare: true, parseJson: JSON.parse, platformMax: 1 },
  });
  try {
    await writing(database.platform, (db) => db`create table public.written (n integer)`);
    await work(database.platform);
  } finally {
    await database.close();
  }
}

const write = async (db: Tx, n: number) => void await db`insert into public.written values (${n})`;
const written = (pool: Pool) =>
  reading(
    pool,
    async (db) => (await db`select n from public.written order by n`).map(({ n }) => n),
  );

Deno.test("what a transaction still does when another part of it has failed is not done outside of it", async () => {
  await withTable(async (pool) => {
    const failed = Promise.withResolvers<void>();
    let late: Promise<void> | undefined;
    const work = serializable(pool, async (tx) => {
      await write(tx, 1);
      late = failed.promise.then(() => write(tx, 2));
      await Promise.all([late, Promise.reject(new RangeError("no"))]);
    });
    await rejects(work, RangeError);
    failed.resolve();
    await rejects(late!, ENDED);
    deepEqual(await written(pool), []);
  });
});

Deno.test("a statement that was made in a transaction and is sent after it is in no other transaction", async () => {
  await withTable(async (pool) => {
    let [late, before]: unknown[] = [];
    await locking(pool, async (tx) => {
      await write(tx, 1);
      late = tx`insert into public.written values (2)`;
      before = tx`insert into public.written values (3)`.execute();
    });
    await before;
    await locking(pool, async (tx) => {
      await write(tx, 4);
      await rejects(async () => await late, ENDED);
    });
    deepEqual(await written(pool), [1, 3, 4]);
  });
});

Deno.test("a statement of a savepoint that was taken back is not done in the transaction around it", async () => {
  await withTable(async (pool) => {
    await serializable(pool, async (tx) => {
      let inner: Tx | undefined;
      await rejects(
        savepoint(tx, async (sp) => {
          inner = sp;
          await write(sp, 1);
          throw new RangeError("no");
        }),
        RangeError,
      );
      await rejects(write(inner!, 2), ENDED);
      await write(tx, 3);
    });
    deepEqual(await written(pool), [3]);
    equal(await reading(pool, async (db) => (await db`select 1 as one`)[0].one), 1);
  });
});
