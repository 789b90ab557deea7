/** Prepared statements that the server has lost: what is asked is done once, in its transaction, and answered by its own rows. */
import { deepEqual, equal } from "node:assert/strict";
import { type Db, openDatabase, type Pool, type Tx } from "../../db/database.ts";
import { reading, savepoint, serializable, writing } from "../../db/transaction.ts";
import { superuserUrl, testDatabase } from "../support/database.ts";

async function withPool(work: (pool: Pool) => Promise<void>, url = superuserUrl()): Promise<void> {
  const database = openDatabase({ url, prepare: true, parseJson: JSON.parse, platformMax: 1 });
  try {
    await work(database.platform);
  } finally {
    await database.close();
  }
}

/** Has the server forget the plans of the pool's connection. */
const forget = (pool: Pool) => reading(pool, (db) => db.unsafe("deallocate all"));
const first = async (db: Db, v: string) => (await db`select ${v}::text as v`)[0].v;
const second = async (db: Db, v: string) => (await db`select ${v}::text || '' as v`)[0].v;
const third = async (db: Db, v: string) => (await db`select ${v}::text || 'c' as v`)[0].v;

/** Ways in which a transaction asks. */
const ASKED: Record<string, (tx: Tx) => Promise<unknown[]>> = {
  "one after another": async (tx) => [
    ...[await first(tx, "a"), await second(tx, "b"), await third(tx, "c")],
  ],
  "together": (tx) => Promise.all([first(tx, "a"), second(tx, "b"), third(tx, "c")]),
  "one, and then others together": async (tx) => [
    ...[await first(tx, "a"), ...await Promise.all([second(tx, "b"), third(tx, "c")])],
  ],
  "in a savepoint": (tx) =>
    savepoint(
      tx,
      async (sp) => [await first(sp, "a"), ...await Promise.all([second(sp, "b"), third(sp, "c")])],
    ),
};

for (const [how, ask] of Object.entries(ASKED)) {
  Deno.test(`a transaction whose statements the server has lost runs again and ends well: ${how}`, async () => {
    await withPool(async (pool) => {
      await serializable(pool, ask);
      await forget(pool);
      let runs = 0;
      const answer = await serializable(pool, (tx) => {
        runs++;
        return ask(tx);
      });
      deepEqual(answer, ["a", "b", "cc"]);
      equal(runs, 2);
    });
  });
}

Deno.test("a statement whose plan the server has lost is done once", async () => {
  await using own = await testDatabase();
  await withPool(async (pool) => {
    await writing(pool, (db) => db`create table public.written (n integer)`);
    const write = (n: number) =>
      writing(pool, (db) => db`insert into public.written values (${n}) returning n`);
    await write(1);
    await forget(pool);
    equal((await write(2))[0].n, 2);
    const rows = await reading(pool, (db) => db`select n from public.written order by n`);
    deepEqual(rows.map(({ n }) => n), [1, 2]);
  }, own.url);
});

Deno.test("a commit whose plan the server has lost is none, and its transaction runs again", async () => {
  await using own = await testDatabase();
  await withPool(async (pool) => {
    await writing(pool, (db) => db`create table public.written (n integer)`);
    const run = (lose: boolean) =>
      serializable(pool, async (tx) => {
        await tx.unsafe("insert into public.written values (1)");
        if (lose && runs++ === 0) await tx.unsafe("deallocate all");
      });
    let runs = 0;
    await run(false);
    await run(true);
    const [{ n }] = await reading(
      pool,
      (db) => db`select count(*)::integer as n from public.written`,
    );
    deepEqual([n, runs], [2, 2]);
  }, own.url);
});
