import { deepEqual, equal, ok } from "node:assert/strict";
import type { Outcome } from "../../db/ledger/posting_protocol.ts";
import { openPostingQueue } from "../../db/ledger/posting_queue.ts";
import { holdLedgerLock, waitForWaiter } from "../support/held_queues.ts";
import { type Book, book, bulkOf, type OwnQueue, ownQueue } from "../support/posting_queues.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("departures of batches in one realm");
const isPosted = (outcome: Outcome) => "posted" in outcome;

/** Prepares the statements of a connection: the driver sends nothing behind one that it prepares. */
async function prepare({ queue }: OwnQueue, { move }: Book): Promise<void> {
  await queue.post(move());
  await Promise.all([queue.post(move()), queue.post(move())]);
}

test("of a crowd, a part is sent behind the batch in flight, and no smaller one", async (realm) => {
  const own = await book(realm);
  await using queue = await ownQueue(realm);
  await prepare(queue, own);
  const before = queue.queue.stats();
  const lock = await holdLedgerLock(realm);
  const post = (count: number) =>
    Array.from(
      { length: count },
      () => queue.queue.post(own.move()),
    );
  const posted = post(200);
  await waitForWaiter(realm);
  posted.push(...post(100));
  await new Promise((resolve) => setTimeout(resolve));
  equal(queue.queue.stats().pipelined, before.pipelined); // of 300 together two fifths are 120
  posted.push(...post(60));
  await new Promise((resolve) => setTimeout(resolve));
  equal(queue.queue.stats().pipelined, before.pipelined + 1);
  await lock.release();
  ok((await Promise.all(posted)).every(isPosted));
  equal(queue.queue.stats().batches, before.batches + 2);
});

test("the moves that wait are sent before anybody is told of the batch ahead", async (realm) => {
  const own = await book(realm);
  await using given = await ownQueue(realm);
  await prepare(given, own);
  const events: string[] = [];
  const sql = new Proxy(given.pool.sql, {
    get(target, name) {
      if (name !== "unsafe") return Reflect.get(target, name);
      return (...of: Parameters<typeof target.unsafe>) => {
        events.push("sent");
        return target.unsafe(...of);
      };
    },
  });
  const queue = openPostingQueue(
    Object.create(given.pool, { sql: { value: sql } }),
  );
  const lock = await holdLedgerLock(realm);
  const told = [own.move(), own.move()].map((move) =>
    queue.post(move).then((outcome) => {
      events.push("told");
      return outcome;
    })
  );
  await waitForWaiter(realm);
  const last = queue.post(own.move());
  await lock.release();
  ok((await Promise.all([...told, last])).every(isPosted));
  deepEqual(events, ["sent", "sent", "told", "told"]);
});

test("moves with long texts go in batches by their weight, short ones all together", async (realm) => {
  const own = await book(realm);
  await using given = await ownQueue(realm);
  await prepare(given, own);
  const sizes: number[] = [];
  const sql = new Proxy(given.pool.sql, {
    get(target, name) {
      if (name !== "unsafe") return Reflect.get(target, name);
      return (text: string, parameters: string[], ...rest: never[]) => {
        sizes.push(parameters.join().length);
        return target.unsafe(text, parameters, ...rest);
      };
    },
  });
  const queue = openPostingQueue(Object.create(given.pool, { sql: { value: sql } }));
  const data = JSON.stringify({ x: "x".repeat(65_000) });
  const posted = Array.from({ length: 200 }, () => queue.post(own.move({ data, seal: data })));
  ok((await Promise.all(posted)).every(isPosted));
  ok(Math.max(...sizes) < 5_000_000, `${sizes}`); // 26 million together
  sizes.length = 0;
  const short = Array.from({ length: 600 }, () => queue.post(own.move()));
  ok((await Promise.all(short)).every(isPosted));
  equal(sizes.length, 1);
});

test("batches of requests and single moves that wait are posted in turns", async (realm) => {
  const own = await book(realm);
  await using queue = await ownQueue(realm, { batchMax: 1 });
  await prepare(queue, own);
  const lock = await holdLedgerLock(realm);
  const first = queue.queue.post(own.move());
  await waitForWaiter(realm);
  const ends: string[] = [];
  const kinds = { bulk: () => queue.queue.postBulk(bulkOf(realm, [own.move({ key: null })])) };
  const posts = { ...kinds, single: () => queue.queue.post(own.move()) };
  const posted = (["bulk", "single"] as const).flatMap((kind) =>
    Array.from({ length: 3 }, () => posts[kind]().then(() => ends.push(kind)))
  );
  await new Promise((resolve) => setTimeout(resolve)); // a batch of a request is written first
  await lock.release();
  await Promise.all([first, ...posted]);
  deepEqual(ends, ["bulk", "single", "bulk", "single", "bulk", "single"]);
});
