/** How long moves wait, and how many: a database that does not answer keeps no request for ever. @module */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { Contention } from "../../db/errors.ts";
import { testDatabaseUrl } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { holdLedgerLock, openProxy, waitForWaiter } from "../support/held_queues.ts";
import { freePort } from "../support/ports.ts";
import { book, bulkOf, ownQueue } from "../support/posting_queues.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("waits of moves in one realm");
const WAIT_MS = 1000;

/** What became of requests: whether each was done, or refused and whether it may have been done. */
async function settled(requests: Promise<unknown>[]): Promise<string[]> {
  return (await Promise.allSettled(requests)).map((one) => {
    if (one.status === "fulfilled") return Object.keys(one.value as object)[0];
    ok(one.reason instanceof Contention);
    return one.reason.mayBeDone ? "may be done" : "not done";
  });
}

test("what has waited for too long behind a batch is refused, and what comes later is posted", async (realm) => {
  const { move, total, destination } = await book(realm);
  await using own = await ownQueue(realm, { waitMaxMs: WAIT_MS });
  const { queue } = own;
  const lock = await holdLedgerLock(realm);
  const keyed = move();
  const first = queue.post(keyed);
  await waitForWaiter(realm);
  const waiting = settled([
    queue.post(move()),
    queue.postBulk(bulkOf(realm, [move(), move()])),
    queue.post(keyed),
  ]);
  await until(() => Promise.resolve(queue.depth() === 5)); // a batch is written first
  await new Promise((resolve) => setTimeout(resolve, WAIT_MS + 1));
  await lock.release();
  ok("posted" in await first);
  // A repeat of a key cannot know what became of the first.
  deepEqual(await waiting, ["not done", "not done", "may be done"]);
  equal(queue.depth(), 0);
  ok("posted" in await queue.post(move()));
  ok("replay" in await queue.post(keyed));
  equal(await total(destination), "2");
});

test("a batch whose connections are lost one after another is not sent again for ever", async (realm) => {
  const { move } = await book(realm);
  const nobody = new URL(testDatabaseUrl());
  nobody.port = `${freePort()}`;
  await using own = await ownQueue(realm, { url: nobody.href, waitMaxMs: WAIT_MS });
  deepEqual(await settled([own.queue.post(move())]), ["not done"]);
  ok(own.queue.stats().resends < 39, `${own.queue.stats().resends}`);
  equal(own.queue.depth(), 0);
});

test("moves of which nobody can tell whether their caller may act were not done, whatever became of the question", async (realm) => {
  const { move } = await book(realm);
  await using own = await ownQueue(realm, { waitMaxMs: WAIT_MS });
  const { queue } = own;
  const causes = [
    new Contention("no answer in time", { mayBeDone: true }),
    Object.assign(new Error("the connection was lost"), { code: "CONNECTION_CLOSED" }),
  ];
  for (const cause of causes) {
    const untold = () => Promise.reject(cause);
    const asked = [
      queue.post(move(), untold),
      queue.postBulk(bulkOf(realm, [move(), move()]), untold),
    ];
    deepEqual(await settled(asked), ["not done", "not done"], cause.message);
  }
});

test("repeats of one key count among the moves that wait, and are answered in their order", async (realm) => {
  const { move, total, destination } = await book(realm);
  await using own = await ownQueue(realm, { waitingMax: 13 });
  const lock = await holdLedgerLock(realm);
  const key = crypto.randomUUID();
  const same = () => own.queue.post(move({ key, fingerprint: key, mayMoveAny: true }));
  const order: number[] = [];
  const posted = Array.from({ length: 10 }, (_, i) =>
    same().then((outcome) => {
      order.push(i);
      return outcome;
    }));
  await rejects(same(), Contention);
  await lock.release();
  deepEqual(await settled(posted), ["posted", ...Array(9).fill("replay")]);
  deepEqual(order, [...Array(10).keys()]);
  equal(own.queue.depth(), 0);
  equal(await total(destination), "1");
});

test("moves with long texts count as several among those that wait", async (realm) => {
  const { move, total, destination } = await book(realm);
  await using own = await ownQueue(realm, { waitingMax: 60 });
  const { queue } = own;
  const seal = JSON.stringify({ a: "x".repeat(9 * 4096) });
  const post = (of = {}) =>
    queue.post(move({ ...of, actor: crypto.randomUUID(), mayMoveAny: true }));
  const lock = await holdLedgerLock(realm);
  const first = post();
  await waitForWaiter(realm);
  const long = Array.from({ length: 5 }, () => post({ seal }));
  await rejects(post({ seal }), Contention);
  const short = Array.from({ length: 9 }, () => post());
  await rejects(post(), Contention);
  equal(queue.depth(), 15);
  await lock.release();
  deepEqual(await settled([first, ...long, ...short]), Array(15).fill("posted"));
  equal(queue.depth(), 0);
  // Where nobody waits, one of any length finds room.
  ok("posted" in await queue.post(move({ seal: JSON.stringify({ a: "x".repeat(90 * 4096) }) })));
  equal(await total(destination), "16");
});

test("one user's moves leave room for those of others, and customers' for those of who works for the realm", async (realm) => {
  const { move } = await book(realm);
  await using own = await ownQueue(realm, { waitingMax: 100 });
  const lock = await holdLedgerLock(realm);
  const post = (actor: string, mayMoveAny = false) => own.queue.post(move({ actor, mayMoveAny }));
  const posted: Promise<unknown>[] = [];
  const fill = async (actor: string, mayMoveAny = false) => {
    for (let count = 0;; count++) {
      const before = own.queue.depth();
      const sent = post(actor, mayMoveAny);
      if (own.queue.depth() === before) {
        await rejects(sent, Contention);
        return count;
      }
      posted.push(sent);
    }
  };
  const counts: number[] = [];
  for (let i = 0; i < 4; i++) counts.push(await fill(crypto.randomUUID()));
  deepEqual(counts, [68, 17, 4, 1], "three times as much as is left");
  equal(own.queue.depth(), 90);
  equal(await fill(realm.admin.id, true), 8);
  await lock.release();
  const { refused = [], posted: done = [] } = Object.groupBy(await settled(posted), (how) => how);
  deepEqual([refused.length + done.length, own.queue.depth()], [98, 0]);
});

test("where more wait than one batch takes users take turns, those who work for the realm first", async (realm) => {
  const { move } = await book(realm);
  await using own = await ownQueue(realm, { batchMax: 6 });
  const lock = await holdLedgerLock(realm);
  const ended: string[] = [];
  const post = (actor: string, mayMoveAny = false) =>
    own.queue.post(move({ actor, mayMoveAny })).then(() => void ended.push(actor));
  const [many, few, staff] = [crypto.randomUUID(), crypto.randomUUID(), realm.admin.id];
  const all = [post(many)];
  await waitForWaiter(realm);
  all.push(
    ...Array.from({ length: 20 }, () => post(many)),
    post(few),
    post(few),
    post(staff, true),
  );
  await lock.release();
  await Promise.all(all);
  const first = Object.groupBy(
    ended.slice(0, 7), // the first alone, and a batch of six
    (actor) => actor === many ? "many" : actor === few ? "few" : "staff",
  );
  deepEqual([first.many?.length, first.few?.length, first.staff?.length], [4, 2, 1]);
});

/** The standing of a caller that may act at the first attempt, and no more. */
function standsOnce(lost: Error): () => Promise<Error | null> | null {
  let asked = 0;
  return () => asked++ === 0 ? null : Promise.resolve(lost);
}

test("moves that could not be sent are refused where their caller may act no more by the time they can", async (realm) => {
  const { move } = await book(realm);
  const nobody = new URL(testDatabaseUrl());
  nobody.port = `${freePort()}`;
  await using own = await ownQueue(realm, { url: nobody.href });
  const lost = new Error("the key has ended");
  const { queue } = own;
  const refused = await Promise.allSettled([
    queue.post(move(), standsOnce(lost)),
    queue.post(move(), standsOnce(lost)),
    queue.postBulk(bulkOf(realm, [move()]), standsOnce(lost)),
  ]);
  deepEqual(refused.map((one) => one.status === "rejected" && one.reason), [lost, lost, lost]);
  equal(queue.depth(), 0);
});

test("a move whose answer was lost is not sent again for a caller that may act no more, who hears that it may be done", async (realm) => {
  const { move, total, destination } = await book(realm);
  for (const bulk of [false, true]) {
    const proxy = openProxy(new URL(testDatabaseUrl()));
    await using own = await ownQueue(realm, { url: proxy.url });
    try {
      ok("posted" in await own.queue.post(move()));
      const before = Number(await total(destination));
      const lock = await holdLedgerLock(realm);
      const lost = standsOnce(new Error("the key has ended"));
      const posted = bulk
        ? own.queue.postBulk(bulkOf(realm, [move()]), lost)
        : own.queue.post(move(), lost);
      await waitForWaiter(realm);
      proxy.cut(); // the backend waits on, and has not heard
      deepEqual(await settled([posted]), ["may be done"]);
      await lock.release();
      const sent = own.queue.post(move());
      ok("posted" in await sent); // behind what the backend did
      ok([before + 1, before + 2].includes(Number(await total(destination))));
    } finally {
      await proxy.close();
    }
  }
});
