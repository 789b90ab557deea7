import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { Contention } from "../../db/errors.ts";
import type { Outcome } from "../../db/ledger/posting_protocol.ts";
import {
  holdLedgerLock,
  openProxy,
  waiters,
  waitForRowWaiter,
  waitForWaiter,
} from "../support/held_queues.ts";
import { book, type OwnQueue, ownQueue } from "../support/posting_queues.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { rowsOf, testRealm } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

function kinds(outcomes: readonly Outcome[]): string[] {
  return outcomes.map((outcome) => Object.keys(outcome)[0]);
}

for (const prepare of [true, false]) {
  const mode = prepare ? "" : " behind a pooler";

  Deno.test(`a batch whose connection is cut in mid-flight is posted once${mode}`, async () => {
    await using realm = await testRealm();
    const { move, total, destination } = await book(realm);
    await using own = await ownQueue(realm, { prepare });
    await own.queue.post(move());
    const lock = await holdLedgerLock(realm);
    const posted = Promise.all([
      ...Array.from({ length: 20 }, () => own.queue.post(move())),
      ...Array.from({ length: 5 }, () => own.queue.post(move({ key: null, fingerprint: null }))),
    ]);
    const [pid] = await waitForWaiter(realm);
    await realm.database.platform.sql`select pg_terminate_backend(${pid})`;
    await lock.release();
    equal(kinds(await posted).filter((kind) => kind === "posted").length, 25);
    equal(await total(destination), "26");
    const [{ n }] = await rowsOf<{ n: number }>(
      realm,
      "select count(*)::int as n from transactions where type = 'transfer'",
    );
    equal(n, 26);
  });

  Deno.test(`queues of two processes never lose a race on a hot account${mode}`, async () => {
    await using realm = await testRealm();
    const { move, total, destination } = await book(realm);
    await using one = await ownQueue(realm, { prepare });
    await using two = await ownQueue(realm, { prepare });
    const rounds = async ({ queue }: OwnQueue) => {
      for (let i = 0; i < 10; i++) {
        await Promise.all(Array.from({ length: 20 }, () => queue.post(move())));
      }
    };
    await Promise.all([rounds(one), rounds(two)]);
    equal(await total(destination), "400");
    equal(one.queue.stats().retries + two.queue.stats().retries, 0);
  });
}

const test = sharing("queue in one realm");

test("each move of a batch has its own actor, address and key, also where one is the same for all", async (realm) => {
  const { move } = await book(realm);
  await using own = await ownQueue(realm);
  const other = crypto.randomUUID();
  const mine = { actor: realm.admin.id, clientIp: "10.0.0.1", apiKey: crypto.randomUUID() };
  const granted = { actor: other, mayMoveAny: true, clientIp: "10.0.0.2", apiKey: null };
  const refused = { actor: other, clientIp: "10.0.0.1" };
  const batches = [[mine, mine, mine], [mine, granted, mine], [granted, granted], [mine, refused]];
  for (const batch of batches) {
    const { batches: sent } = own.queue.stats();
    const outcomes = await Promise.all(batch.map((by) => own.queue.post(move(by))));
    equal(own.queue.stats().batches, sent + 1);
    for (const [i, outcome] of outcomes.entries()) {
      const by = batch[i];
      if (by === refused) {
        deepEqual(outcome, { refused: "source.forbidden" });
        continue;
      }
      const { id } = (outcome as Extract<Outcome, { posted: unknown }>).posted;
      const rows = await rowsOf(
        realm,
        "select owner, host(client_ip) as ip, api_key as key from transactions where id = $1",
        [id],
      );
      deepEqual(rows, [{ owner: by.actor, ip: by.clientIp, key: (by as typeof mine).apiKey }]);
    }
  }
  const strangers = await Promise.all([refused, refused].map((by) => own.queue.post(move(by))));
  deepEqual(strangers, [{ refused: "source.forbidden" }, { refused: "source.forbidden" }]);
});

test("a commit whose answer is lost is found again and not repeated", async (realm) => {
  const { move, total, destination, source } = await book(realm);
  const proxy = openProxy(new URL(testDatabaseUrl()));
  await using own = await ownQueue(realm, { url: proxy.url });
  const bulk = () =>
    own.queue.postBulk({
      moves: [move({ amount: "2" }), move({ amount: "100000" })],
      atomic: false,
      key: crypto.randomUUID(),
      fingerprint: crypto.randomUUID(),
      requestId: "r",
      unresolved: null,
      actor: realm.admin.id,
      mayMoveAny: false,
      clientIp: null,
      apiKey: null,
    });
  const lose = async <T>(start: () => Promise<T>, committed: string): Promise<T> => {
    proxy.mute();
    const answer = start();
    await until(async () => await total(destination) === committed, 5);
    proxy.cut();
    return await answer;
  };
  try {
    await own.queue.post(move());
    await Promise.all([own.queue.post(move()), own.queue.post(move())]); // all statements are prepared
    await bulk();
    const outcomes = await lose(() =>
      Promise.all([
        own.queue.post(move()),
        own.queue.post(move({ key: null, fingerprint: null })),
        own.queue.post(move({ amount: "100000" })),
      ]), "7");
    deepEqual(
      outcomes.map((outcome) => "replay" in outcome && outcome.replay.own),
      [true, true, true],
    );
    await own.queue.post(move());
    await bulk();
    const result = await lose(bulk, "12");
    ok("replay" in result && result.replay.same && result.replay.own);
    deepEqual(result.replay.refusals, [null, "insufficient"]);
    equal(await total(destination), "12");
    equal(await total(source), "988");
  } finally {
    await proxy.close();
  }
});

test("a repeat whose own connection is lost is known for a repeat", async (realm) => {
  const { move, total, destination } = await book(realm);
  await using own = await ownQueue(realm);
  const kept = { key: crypto.randomUUID(), fingerprint: crypto.randomUUID() };
  const refused = { key: crypto.randomUUID(), fingerprint: crypto.randomUUID(), amount: "100000" };
  const bulk = {
    moves: [move(), move({ amount: "100000" })],
    atomic: false,
    key: crypto.randomUUID(),
    fingerprint: crypto.randomUUID(),
    requestId: "r",
    unresolved: null,
    actor: realm.admin.id,
    mayMoveAny: false,
    clientIp: null,
    apiKey: null,
  };
  const atomic = { ...bulk, atomic: true, key: crypto.randomUUID() };
  const ways = [
    () => Promise.all([own.queue.post(move(kept)), own.queue.post(move(refused))]),
    async () => [await own.queue.post(move(kept))],
    async () => [await own.queue.postBulk(bulk)],
    async () => [await own.queue.postBulk(atomic)],
  ];
  for (const way of ways) await way();
  for (const way of ways) {
    const lock = await holdLedgerLock(realm);
    const repeated = way();
    const [pid] = await waitForWaiter(realm);
    await realm.database.platform.sql`select pg_terminate_backend(${pid})`;
    await lock.release();
    for (const outcome of await repeated) {
      ok("replay" in outcome && outcome.replay.same && !outcome.replay.own);
    }
  }
  ok(own.queue.stats().resends >= ways.length);
  equal(await total(destination), "2");
});

test("a move that a stalled backend runs after it was sent again is posted once", async (realm) => {
  const { move, total, destination } = await book(realm);
  const proxy = openProxy(new URL(testDatabaseUrl()));
  await using own = await ownQueue(realm, { url: proxy.url });
  const keyless = () => own.queue.post(move({ key: null, fingerprint: null }));
  try {
    await keyless();
    const lock = await holdLedgerLock(realm);
    const posted = Promise.all([keyless(), keyless(), own.queue.post(move())]);
    await waitForWaiter(realm);
    proxy.cut(); // the backend waits on, and has not heard
    await waitForWaiter(realm, 2);
    await lock.release();
    for (const outcome of await posted) {
      ok("posted" in outcome || ("replay" in outcome && outcome.replay.own));
    }
    await until(async () => (await rowsOf(realm, waiters)).length === 0, 5);
    equal(await total(destination), "4");
  } finally {
    await proxy.close();
  }
});

test("a row that PostgreSQL refuses fails alone", async (realm) => {
  const { move, total, destination } = await book(realm);
  await using own = await ownQueue(realm);
  await own.queue.post(move());
  const lock = await holdLedgerLock(realm);
  const first = own.queue.post(move());
  await waitForWaiter(realm);
  const batch = Array.from(
    { length: 30 },
    (_, i) => own.queue.post(move(i === 17 ? { seal: '{"a":"\\u0000"}' } : {})),
  );
  await lock.release();
  const settled = await Promise.allSettled([first, ...batch]);
  deepEqual(
    settled.flatMap(({ status }, i) => status === "rejected" ? [i] : []),
    [18],
  );
  equal(await total(destination), "31");
  ok(own.queue.stats().splits > 0);
});

test("one key in two requests at once is posted once", async (realm) => {
  const { move, total, destination } = await book(realm);
  await using own = await ownQueue(realm);
  const key = crypto.randomUUID();
  const fingerprint = crypto.randomUUID();
  const outcomes = await Promise.all(
    Array.from({ length: 6 }, () => own.queue.post(move({ key, fingerprint }))),
  );
  deepEqual(kinds(outcomes), ["posted", ...Array(5).fill("replay")]);
  const other = await own.queue.post(move({ key }));
  equal("replay" in other && other.replay.same, false);
  equal(await total(destination), "1");
});

test("a key in two queues at once is posted once", async (realm) => {
  const { move, total, destination } = await book(realm);
  await using one = await ownQueue(realm);
  await using two = await ownQueue(realm);
  const key = crypto.randomUUID();
  const fingerprint = crypto.randomUUID();
  const lock = await holdLedgerLock(realm);
  const both = Promise.all([one, two].map(({ queue }) => queue.post(move({ key, fingerprint }))));
  await waitForWaiter(realm, 2);
  await lock.release();
  deepEqual(kinds(await both).sort(), ["posted", "replay"]);
  equal(await total(destination), "1");
});

test("keys that were used before, or that a command claims meanwhile, change nothing for the other moves", async (realm) => {
  const { move, total, destination } = await book(realm);
  await using own = await ownQueue(realm);
  const used = { key: crypto.randomUUID(), fingerprint: crypto.randomUUID() };
  equal("posted" in await own.queue.post(move(used)), true);
  for (const isKept of [false, true]) {
    const before = Number(await total(destination));
    const claimed = { key: crypto.randomUUID(), fingerprint: crypto.randomUUID() };
    const { retries } = own.queue.stats();
    let posts: Promise<Outcome>[] = [];
    const command = realm.pool.sql.begin("isolation level serializable", async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`;
      await tx`select claim_key(${claimed.key}, ${claimed.fingerprint})`;
      await tx`update idempotency set status = 201, body = '{}' where key = ${claimed.key}`;
      posts = [{}, used, {}, claimed, {}].map((of) => own.queue.post(move(of)));
      await waitForRowWaiter(realm);
      if (!isKept) throw new Error("rolled back");
    });
    await (isKept ? command : rejects(command, /rolled back/));
    deepEqual(kinds(await Promise.all(posts)), [
      ...["posted", "replay", "posted"],
      ...[isKept ? "replay" : "posted", "posted"],
    ]);
    equal(Number(await total(destination)), before + (isKept ? 3 : 4));
    equal(own.queue.stats().retries > retries, isKept);
  }
});

test("a queue refuses moves that would wait too long, before memory grows", async (realm) => {
  const { move, total, destination } = await book(realm);
  await using own = await ownQueue(realm, { waitingMax: 14 }); // of which one user has ten
  const lock = await holdLedgerLock(realm);
  const accepted = Array.from({ length: 10 }, () => own.queue.post(move()));
  equal(own.queue.depth(), 10);
  await rejects(own.queue.post(move()), Contention);
  await lock.release();
  await Promise.all(accepted);
  equal(own.queue.depth(), 0);
  await own.queue.post(move());
  equal(await total(destination), "11");
});

test("a batch that waits longer than a statement may is refused as busy, whole", async (realm) => {
  const { move, total, destination } = await book(realm);
  await using own = await ownQueue(realm);
  await own.pool.sql.unsafe("set statement_timeout = 150");
  const lock = await holdLedgerLock(realm);
  const posts = Array.from({ length: 8 }, () => own.queue.post(move()));
  const settled = await Promise.allSettled(posts);
  ok(settled.every((one) => one.status === "rejected" && one.reason instanceof Contention));
  equal(own.queue.stats().splits, 0);
  await lock.release();
  await own.pool.sql.unsafe("set statement_timeout = 30000");
  await own.queue.post(move());
  equal(await total(destination), "1");
});

test("a race lost against a writer without the ledger lock is run again", async (realm) => {
  const { move, total, destination, source } = await book(realm);
  await using own = await ownQueue(realm);
  await own.queue.post(move());
  const rival = realm.pool.sql.begin("isolation level serializable", async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`update accounts set updated_at = now() where id = ${source}`;
    const posting = own.queue.post(move());
    await waitForRowWaiter(realm);
    return { posting };
  });
  const outcome = await (await rival).posting;
  equal("posted" in outcome, true);
  ok(own.queue.stats().retries > 0);
  equal(await total(destination), "2");
});
