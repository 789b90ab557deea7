import { deepEqual, equal, ok } from "node:assert/strict";
import type { KeyedMove, Outcome } from "../../db/ledger/posting_protocol.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import {
  holdLedgerLock,
  openProxy,
  waiters,
  waitForRowWaiter,
  waitForWaiter,
} from "../support/held_queues.ts";
import { type Book, book, bulkOf, type OwnQueue, ownQueue } from "../support/posting_queues.ts";
import { rowsOf, type TestRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("batches in flight in one realm");
const FORCED = { mayPipeline: () => true };
const keyless = { key: null, fingerprint: null };

function isPosted(outcome: Outcome): boolean {
  return "posted" in outcome || ("replay" in outcome && outcome.replay.own);
}

/** Prepares the statements of a connection: the driver sends nothing behind one that it prepares. */
async function prepare({ queue }: OwnQueue, { move }: Book): Promise<void> {
  await queue.post(move());
  await Promise.all([queue.post(move()), queue.post(move())]);
}

/** Posts moves of two batches, the second behind the first, which waits for the ledger lock. */
async function postTwo(
  realm: TestRealm,
  { queue }: OwnQueue,
  [first, second]: readonly (readonly KeyedMove[])[],
): Promise<Promise<PromiseSettledResult<Outcome>[]>[]> {
  const before = queue.stats().pipelined;
  const posted = [Promise.allSettled(first.map((move) => queue.post(move)))];
  await waitForWaiter(realm);
  posted.push(Promise.allSettled(second.map((move) => queue.post(move))));
  await new Promise((resolve) => setTimeout(resolve)); // after the microtask in which it is sent
  equal(queue.stats().pipelined, before + 1);
  return posted;
}

async function outcomes(
  posted: readonly Promise<PromiseSettledResult<Outcome>[]>[],
): Promise<Outcome[]> {
  return (await Promise.all(posted)).flat().map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

async function transfersOf(realm: TestRealm, { destination }: Book): Promise<number> {
  const [{ n }] = await rowsOf<{ n: number }>(
    realm,
    `select count(*)::int as n from transactions
      where type = 'transfer' and destination = '${destination}'`,
  );
  return n;
}

test("a batch behind one in flight is at the server before that ends, and is posted after it", async (realm) => {
  const own = await book(realm);
  const proxy = openProxy(new URL(testDatabaseUrl()));
  await using queue = await ownQueue(realm, { url: proxy.url });
  try {
    await prepare(queue, own);
    const lock = await holdLedgerLock(realm);
    const first = queue.queue.post(own.move());
    await waitForWaiter(realm);
    const sent = proxy.sent();
    const alone = queue.queue.post(own.move()); // fewer than follow
    await new Promise((resolve) => setTimeout(resolve));
    equal(queue.queue.stats().pipelined, 0);
    const second = Array.from({ length: 5 }, () => queue.queue.post(own.move()));
    await until(() => proxy.sent() >= sent + 500, 5);
    equal(queue.queue.stats().pipelined, 1);
    equal((await rowsOf(realm, waiters)).length, 1);
    await lock.release();
    const posted = (await Promise.all([first, alone, ...second])).map((outcome) => {
      ok("posted" in outcome);
      return outcome.posted.id;
    });
    ok(posted.slice(1).every((id) => id > posted[0]));
    equal(await own.total(own.destination), "10");
  } finally {
    await proxy.close();
  }
});

test("two batches whose connection is cut are posted once each, in their order", async (realm) => {
  const own = await book(realm);
  await using queue = await ownQueue(realm, FORCED);
  await prepare(queue, own);
  const lock = await holdLedgerLock(realm);
  const moves = [
    [own.move(), own.move(keyless), own.move({ amount: "100000" })],
    [own.move(), own.move(keyless), own.move({ amount: "100000" }), own.move()],
  ];
  const posted = await postTwo(realm, queue, moves);
  const [pid] = await waitForWaiter(realm);
  await realm.database.platform.sql`select pg_terminate_backend(${pid})`;
  await lock.release();
  const found = await outcomes(posted);
  deepEqual(found.map((one) => "posted" in one ? "posted" : "refused" in one && one.refused), [
    ...["posted", "posted", "insufficient"],
    ...["posted", "posted", "insufficient", "posted"],
  ]);
  const ids = found.flatMap((one) => "posted" in one ? [one.posted.id] : []);
  deepEqual(ids, ids.toSorted());
  equal(await own.total(own.destination), "8");
  equal(await transfersOf(realm, own), 8);
  ok(queue.queue.stats().resends >= 2);
  for (const [i, move] of moves.flat().entries()) {
    if (move.key === null) continue;
    const repeat = await queue.queue.post(move);
    ok("replay" in repeat && repeat.replay.same && !repeat.replay.own);
    const first = found[i];
    if ("posted" in first) equal(repeat.replay.transaction, first.posted.id);
    else equal(repeat.replay.body, "insufficient");
  }
});

test("two batches that were committed before the connection was lost are found again", async (realm) => {
  const own = await book(realm);
  const proxy = openProxy(new URL(testDatabaseUrl()));
  await using queue = await ownQueue(realm, { ...FORCED, url: proxy.url });
  try {
    await prepare(queue, own);
    const lock = await holdLedgerLock(realm);
    const posted = await postTwo(realm, queue, [
      [own.move(), own.move(keyless)],
      [own.move(), own.move(keyless), own.move()],
    ]);
    proxy.mute();
    await lock.release();
    await until(async () => await own.total(own.destination) === "8");
    proxy.cut();
    const found = await outcomes(posted);
    ok(found.every((one) => "replay" in one && one.replay.own), JSON.stringify(found));
    equal(await transfersOf(realm, own), 8);
  } finally {
    await proxy.close();
  }
});

test("two batches that a stalled backend runs after they were sent again are posted once", async (realm) => {
  const own = await book(realm);
  const proxy = openProxy(new URL(testDatabaseUrl()));
  await using queue = await ownQueue(realm, { ...FORCED, url: proxy.url });
  try {
    await prepare(queue, own);
    const lock = await holdLedgerLock(realm);
    const posted = await postTwo(realm, queue, [
      [own.move(), own.move(keyless)],
      [own.move(), own.move(keyless), own.move()],
    ]);
    proxy.cut(); // the backend waits on with both messages, and has not heard
    await waitForWaiter(realm, 2);
    await lock.release();
    ok((await outcomes(posted)).every(isPosted));
    await until(async () => (await rowsOf(realm, waiters)).length === 0, 5);
    equal(await own.total(own.destination), "8");
    equal(await transfersOf(realm, own), 8);
  } finally {
    await proxy.close();
  }
});

test("a row that PostgreSQL refuses fails alone while another batch is behind its own", async (realm) => {
  const own = await book(realm);
  await using queue = await ownQueue(realm, FORCED);
  await prepare(queue, own);
  const bad = { seal: '{"a":"\\u0000"}' };
  for (const at of [0, 1]) {
    const lock = await holdLedgerLock(realm);
    const ahead = queue.queue.post(own.move());
    await waitForWaiter(realm);
    const crowd = Array.from({ length: 9 }, (_, i) => own.move(i === 6 ? bad : {}));
    const other = Array.from({ length: 3 }, () => own.move());
    const posted = [crowd, other].toSorted(() => at === 0 ? 0 : -1)
      .map((moves) => Promise.allSettled(moves.map((move) => queue.queue.post(move))));
    await lock.release();
    ok("posted" in await ahead);
    const settled = (await Promise.all(posted)).flat();
    equal(settled.filter(({ status }) => status === "rejected").length, 1);
    equal(settled.filter((one) => one.status === "fulfilled" && "posted" in one.value).length, 11);
  }
  ok(queue.queue.stats().splits > 0);
  equal(await own.total(own.destination), "27");
});

test("a repeat of a key whose half of a divided batch is done ends while the other half runs", async (realm) => {
  const own = await book(realm);
  await using queue = await ownQueue(realm);
  await prepare(queue, own);
  const lock = await holdLedgerLock(realm);
  const ahead = queue.queue.post(own.move());
  await waitForWaiter(realm);
  const key = crypto.randomUUID();
  const same = own.move({ key, fingerprint: key });
  const bad = own.move({ seal: '{"a":"\\u0000"}' });
  const crowd = Promise.allSettled(
    [same, own.move(), own.move(), bad, same].map((move) => queue.queue.post(move)),
  );
  await lock.release();
  ok("posted" in await ahead);
  const [first, , , refused, repeat] = await crowd;
  equal(refused.status, "rejected");
  ok(first.status === "fulfilled" && "posted" in first.value);
  ok(
    repeat.status === "fulfilled" && "replay" in repeat.value &&
      repeat.value.replay.same,
  );
  equal(repeat.value.replay.transaction, first.value.posted.id);
  equal(await own.total(own.destination), "7");
  equal(queue.queue.depth(), 0);
});

test("one key is never in two batches in flight", async (realm) => {
  const own = await book(realm);
  await using queue = await ownQueue(realm, FORCED);
  await prepare(queue, own);
  const lock = await holdLedgerLock(realm);
  const key = crypto.randomUUID();
  const same = { key, fingerprint: key };
  const first = queue.queue.post(own.move(same));
  await waitForWaiter(realm);
  const others = [own.move(same), own.move(), own.move({ key })].map((move) =>
    queue.queue.post(move)
  );
  await lock.release();
  const [posted, repeat, other, reused] = await Promise.all([first, ...others]);
  ok("posted" in posted && "posted" in other);
  ok("replay" in repeat && repeat.replay.same && repeat.replay.transaction === posted.posted.id);
  ok("replay" in reused && !reused.replay.same);
  equal(await own.total(own.destination), "5");
});

test("a race lost against a writer without the ledger lock is run again, with a batch behind", async (realm) => {
  const own = await book(realm);
  await using queue = await ownQueue(realm, FORCED);
  await prepare(queue, own);
  const moves = [[own.move(), own.move()], [own.move(), own.move(), own.move()]];
  const posted = await realm.pool.sql.begin("isolation level serializable", async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`update accounts set updated_at = now() where id = ${own.source}`;
    const first = Promise.allSettled(moves[0].map((move) => queue.queue.post(move)));
    await waitForRowWaiter(realm);
    return { both: [first, Promise.allSettled(moves[1].map((move) => queue.queue.post(move)))] };
  });
  ok((await outcomes(posted.both)).every((one) => "posted" in one));
  ok(queue.queue.stats().retries > 0);
  equal(await own.total(own.destination), "8");
});

test("two batches whose prepared statements the server has lost are posted once each", async (realm) => {
  const own = await book(realm);
  await using queue = await ownQueue(realm, FORCED);
  for (const sizes of [[2, 3], [1, 3], [3, 1]]) {
    await prepare(queue, own);
    await queue.pool.sql.unsafe("deallocate all").simple();
    const batches = [];
    for (const size of sizes) {
      batches.push(Promise.all(Array.from({ length: size }, () => queue.queue.post(own.move()))));
      await new Promise((resolve) => setTimeout(resolve)); // after the microtask in which it is sent
    }
    ok((await Promise.all(batches)).flat().every(isPosted));
  }
  equal(await own.total(own.destination), "22");
});

const PARSE_COMPLETE = "1".charCodeAt(0);

test("no batch is sent while another's lost statement is prepared anew, whose answer it might take", async (realm) => {
  const own = await book(realm);
  const proxy = openProxy(new URL(testDatabaseUrl()));
  await using queue = await ownQueue(realm, { ...FORCED, url: proxy.url });
  const post = (count: number) =>
    Promise.all(Array.from({ length: count }, () => queue.queue.post(own.move())));
  try {
    for (const [first, second] of [[1, 3], [3, 1]]) {
      await prepare(queue, own);
      await queue.pool.sql.unsafe("deallocate all").simple();
      const prepares = Promise.withResolvers<void>();
      const behind = Promise.withResolvers<void>();
      proxy.beforeAnswers(async ([kind]) => {
        if (kind !== PARSE_COMPLETE) return;
        prepares.resolve();
        await behind.promise;
      });
      const posted = [post(first)];
      await prepares.promise;
      const sent = proxy.sent();
      posted.push(post(second));
      await new Promise((resolve) => setTimeout(resolve)); // after the microtask in which it would be sent
      equal(proxy.sent(), sent);
      behind.resolve();
      ok((await Promise.all(posted)).flat().every(isPosted));
    }
    equal(await transfersOf(realm, own), 14);
    equal(await own.total(own.destination), "14");
  } finally {
    await proxy.close();
  }
});

test("a batch of one request whose prepared statement the server has lost is posted once", async (realm) => {
  const own = await book(realm);
  await using queue = await ownQueue(realm);
  for (let i = 0; i < 2; i++) {
    const { outcomes } = await queue.queue.postBulk(bulkOf(realm, [own.move(), own.move()])) as {
      outcomes: Outcome[];
    };
    ok(outcomes.every(isPosted));
    await queue.pool.sql.unsafe("deallocate all").simple();
  }
  equal(await transfersOf(realm, own), 4);
  equal(await own.total(own.destination), "4");
});

test("a queue whose database is closed settles both batches in flight", async (realm) => {
  const own = await book(realm);
  const queue = await ownQueue(realm, FORCED);
  await prepare(queue, own);
  const lock = await holdLedgerLock(realm);
  const posted = await postTwo(realm, queue, [[own.move()], [own.move(), own.move(keyless)]]);
  const closed = queue[Symbol.asyncDispose]();
  await lock.release();
  ok((await outcomes(posted)).every(isPosted));
  await closed;
  equal(queue.queue.depth(), 0);
  equal(await own.total(own.destination), "6");
});

test("with every batch behind another, balances and keys are those of a model", async (realm) => {
  const own = await book(realm, "60");
  await using queue = await ownQueue(realm, { ...FORCED, batchMax: 3 });
  await prepare(queue, own);
  const back = { source: own.destination, destination: own.source };
  const bulk = () => bulkOf(realm, [own.move(), own.move(back)]);
  let state = 7;
  const draw = (below: number) =>
    ((state = (state * 1103515245 + 12345) % 2147483648) >> 12) % below;
  const lock = await holdLedgerLock(realm);
  const moves: KeyedMove[] = [];
  const posts: Promise<Outcome>[] = [];
  const bulks: Promise<unknown>[] = [];
  for (let i = 0; i < 300; i++) {
    if (i === 20) await lock.release();
    const way = draw(2) === 0 ? {} : back;
    const repeated = draw(8) === 0 && moves.length > 0 ? moves[draw(moves.length)] : null;
    const move = repeated ?? own.move({ ...way, amount: String(1 + draw(9)) });
    moves.push(move);
    posts.push(queue.queue.post(move));
    if (i > 20 && draw(40) === 0) bulks.push(queue.queue.postBulk(bulk()));
    if (draw(3) === 0) await new Promise((resolve) => setTimeout(resolve));
    if (i > 20 && draw(20) === 0) await posts[draw(posts.length)];
  }
  const found = await Promise.all(posts);
  await Promise.all(bulks);
  ok(queue.queue.stats().pipelined > 0);
  let total = 3n;
  const firsts = new Map<string, Outcome>();
  for (const [i, move] of moves.entries()) {
    const first = firsts.get(move.key!);
    const one = found[i];
    if (first === undefined) {
      firsts.set(move.key!, one);
      ok(!("replay" in one));
      if ("posted" in one) total += BigInt(move.amount) * (move.source === own.source ? 1n : -1n);
    } else {
      ok("replay" in one && one.replay.same);
      if ("posted" in first) equal(one.replay.transaction, first.posted.id);
      else equal(one.replay.body, "refused" in first && first.refused);
    }
  }
  equal(await own.total(own.destination), String(total));
  const [{ sound }] = await rowsOf<{ sound: boolean }>(
    realm,
    `select bool_and(x.balance = x.before + x.amount and x.transaction > x.earlier) as sound from (
      select balance, amount, transaction, lag(transaction) over (order by seq) as earlier,
        lag(balance) over (order by seq) as before from entries where account = '${own.source}') x
    where x.earlier is not null`,
  );
  ok(sound);
});
