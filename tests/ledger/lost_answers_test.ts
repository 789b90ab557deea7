import { deepEqual, equal, ok } from "node:assert/strict";
import { Contention } from "../../db/errors.ts";
import type { KeyedMove } from "../../db/ledger/posting_protocol.ts";
import { openPostingQueue } from "../../db/ledger/posting_queue.ts";
import { realmDatabase, testDatabaseUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { holdLedgerLock, openProxy, waiters, waitForWaiter } from "../support/held_queues.ts";
import { book, bulkOf, ownQueue } from "../support/posting_queues.ts";
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

Deno.test("what was committed before its answer was lost is not said to be refused by a server that takes no writes", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { move, total, destination } = await book(realm);
  const proxy = openProxy(new URL(own.url));
  const readOnly = (value: string) =>
    realm.database.builder.sql.unsafe(
      `alter database ${
        new URL(own.url).pathname.slice(1)
      } set default_transaction_read_only = ${value}`,
    );
  try {
    let posted = 0;
    for (const size of [1, 2, 3]) {
      await using given = await ownQueue(realm, { url: proxy.url });
      const { queue } = given;
      const post = (moves: KeyedMove[]) =>
        size === 3 ? [queue.postBulk(bulkOf(realm, moves))] : moves.map((one) => queue.post(one));
      const moves = () => Array.from({ length: size }, () => move(keyless));
      await Promise.all(post(moves())); // what is not prepared waits for an answer before it is sent
      proxy.mute();
      const settled = Promise.allSettled(post(moves()));
      posted += 2 * size;
      await until(async () => await total(destination) === `${posted}`);
      await readOnly("on"); // as the standby of a server that failed is
      proxy.cut();
      deepEqual(
        (await settled).map((one) => one.status === "rejected" && one.reason.mayBeDone),
        size === 3 ? [true] : Array(size).fill(true),
      );
      await readOnly("off");
    }
  } finally {
    await proxy.close();
  }
});

Deno.test("nor as too much at once, where no connection is free after the lost one", async () => {
  await using realm = await testRealm();
  const { move, total, destination } = await book(realm);
  const proxy = openProxy(new URL(testDatabaseUrl()));
  await using own = await ownQueue(realm, { url: proxy.url });
  let isFull = false;
  const enter = () =>
    isFull ? Promise.reject(new Contention("no connection was free in time")) : own.pool.enter();
  const queue = openPostingQueue(Object.create(own.pool, { enter: { value: enter } }));
  try {
    const two = () => Promise.allSettled([1, 2].map(() => queue.post(move(keyless))));
    await two(); // what is not prepared waits for an answer before it is sent
    proxy.mute();
    const settled = two();
    await until(async () => await total(destination) === "4");
    isFull = true;
    proxy.cut();
    deepEqual(
      (await settled).map((one) => one.status === "rejected" && one.reason.mayBeDone),
      [true, true],
    );
    const [refused] = await Promise.allSettled([queue.post(move())]);
    ok(refused.status === "rejected" && refused.reason.mayBeDone === false); // it was never sent
  } finally {
    await proxy.close();
  }
});

Deno.test("nor of the parts of a batch that was divided after its answer was lost", async () => {
  await using realm = await testRealm();
  const { move, total, destination } = await book(realm);
  await using own = await ownQueue(realm);
  const failures = [
    { error: Object.assign(new Error("lost"), { code: "CONNECTION_CLOSED" }), isDone: true },
    { error: Object.assign(new Error("a row that it refuses"), { code: "22003" }), isDone: false },
  ];
  const sql = new Proxy(own.pool.sql, {
    get(target, name) {
      if (name !== "unsafe") return Reflect.get(target, name);
      return async (...of: Parameters<typeof target.unsafe>) => {
        const failure = failures.shift();
        if (failure === undefined || failure.isDone) await target.unsafe(...of);
        if (failure !== undefined) throw failure.error;
        return [];
      };
    },
  });
  const queue = openPostingQueue(Object.create(own.pool, { sql: { value: sql } }));
  const lost = new Error("the key has ended");
  let asked = 0; // at both attempts of the whole both may act, and then none
  const standing = () => ++asked > 4 ? Promise.resolve(lost) : null;
  const settled = await Promise.allSettled([1, 2].map(() => queue.post(move(), standing)));
  equal(await total(destination), "2");
  deepEqual(
    settled.map((one) => one.status === "rejected" && one.reason.mayBeDone),
    [true, true],
  );
});
