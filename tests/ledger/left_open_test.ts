/**
 * A commit that is canceled before it begins leaves its failed transaction open on the connection, and every later
 * statement there fails with 25P02.
 *
 * @module
 */
import { equal, rejects } from "node:assert/strict";
import { openDatabase, type Pool } from "../../db/database.ts";
import { serializable } from "../../db/transaction.ts";
import { failureOf } from "../../domain/failures.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { book, bulkOf, ownQueue } from "../support/posting_queues.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

/** Leaves a failed transaction on the connection of a pool. */
async function leaveOpen({ sql }: Pool): Promise<void> {
  await sql.unsafe("begin").simple();
  await rejects(sql.unsafe("select 1 / 0").simple());
}

for (const prepare of [true, false]) {
  const mode = prepare ? "" : " behind a pooler";

  Deno.test(`what is posted over a connection with a failed transaction is posted once, over another${mode}`, async () => {
    await using realm = await testRealm();
    const { move, total, destination } = await book(realm);
    await using own = await ownQueue(realm, { prepare });
    const posts = [
      () => own.queue.post(move()),
      () => Promise.all(Array.from({ length: 20 }, () => own.queue.post(move()))),
      () => own.queue.postBulk(bulkOf(realm, [move(), move()])),
    ];
    let posted = 0;
    for (const [i, post] of posts.entries()) {
      await leaveOpen(own.pool);
      await post();
      posted += [1, 20, 2][i];
      equal(await total(destination), `${posted}`);
      equal(own.queue.stats().resends, i + 1);
    }
    const [{ n }] = await rowsOf<{ n: number }>(
      realm,
      "select count(*)::int as n from transactions where type = 'transfer'",
    );
    equal(n, posted);
  });
}

Deno.test("a transaction over a connection with a failed one is refused as busy, and the next one works", async () => {
  await using realm = await testRealm();
  const database = openDatabase({ url: testDatabaseUrl(), prepare: true, parseJson: JSON.parse });
  try {
    const { location } = (await realm.services.realms.find(realm.id))!;
    const pool = database.postingPool(location);
    const read = () => serializable(pool, async (tx) => (await tx`select 1 as one`)[0].one);
    await leaveOpen(pool);
    const error = await read().then(() => null, (error: unknown) => error);
    equal(failureOf(error)?.code, "service.overloaded");
    equal(await read(), 1);
  } finally {
    await database.close();
  }
});
