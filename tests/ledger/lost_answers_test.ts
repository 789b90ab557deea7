import { equal, ok } from "node:assert/strict";
import { testDatabaseUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { holdLedgerLock, openProxy, waiters, waitForWaiter } from "../support/held_queues.ts";
import { book, ownQueue } from "../support/posting_queues.ts";
import { rowsOf, testRealm } from "../support/realm.ts";

const keyless = { key: null, fingerprint: null };

Deno.test("a move is not refused as too slow while an attempt before, whose answer was lost, may commit", async () => {
  await using realm = await testRealm();
  const own = await book(realm);
  const proxy = openProxy(new URL(testDatabaseUrl()));
  await using queue = await ownQueue(realm, { url: proxy.url });
  try {
    await queue.queue.post(own.move());
    const lock = await holdLedgerLock(realm);
    const posted = Promise.all([1, 2].map(() => queue.queue.post(own.move(keyless))));
    const [stalled] = await waitForWaiter(realm);
    proxy.cut(); // the backend waits on, and has not heard
    const again = (await waitForWaiter(realm, 2)).find((pid) => pid !== stalled);
    // What its statement timeout would do in half a minute.
    await realm.database.platform.sql`select pg_cancel_backend(${again!})`;
    await until(() => Promise.resolve(queue.queue.stats().resends >= 2));
    await lock.release();
    for (const outcome of await posted) {
      ok("posted" in outcome || ("replay" in outcome && outcome.replay.own));
    }
    await until(async () => (await rowsOf(realm, waiters)).length === 0);
    equal(await own.total(own.destination), "3");
  } finally {
    await proxy.close();
  }
});
