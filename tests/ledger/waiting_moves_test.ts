import { deepEqual, equal, ok } from "node:assert/strict";
import { openWaitingMoves } from "../../db/ledger/waiting_moves.ts";

/** Moves of which it is counted how often they are looked at. */
function openCounted() {
  const waiting = openWaitingMoves<ReturnType<typeof move>>();
  let seen = 0;
  function move(
    actor: string,
    name: string,
    of: { weight?: number; house?: boolean; at?: number },
  ) {
    const { weight = 1, house = false, at = 0 } = of;
    return {
      ...{ name, size: 1, at, of: { actor, mayMoveAny: house } },
      get weight() {
        seen++;
        return weight;
      },
    };
  }
  return {
    waiting,
    seen: () => seen,
    add(actor: string, count: number, of: Parameters<typeof move>[2] = {}) {
      for (let i = 0; i < count; i++) waiting.add(move(actor, `${actor}${i}`, of));
    },
    take: (weightMax: number) => waiting.take(weightMax).map(({ name }) => name),
  };
}

Deno.test("moves that make one batch are taken in the order of their arrival", () => {
  const { add, take, waiting } = openCounted();
  add("a", 2);
  add("b", 1);
  add("a", 1);
  deepEqual(take(4), ["a0", "a1", "b0", "a0"]);
  equal(waiting.size(), 0);
  deepEqual(take(4), []);
});

Deno.test("users take turns over batches, and each batch is in the order of arrival", () => {
  const { add, take } = openCounted();
  add("hog", 10);
  add("ada", 2);
  add("bob", 1);
  deepEqual(take(2), ["hog0", "ada0"]);
  deepEqual(take(3), ["hog1", "ada1", "bob0"]);
  add("eve", 1);
  deepEqual(take(2), ["hog2", "eve0"]);
});

Deno.test("those who work for the realm are first, and have half of a batch while customers wait", () => {
  const { add, take } = openCounted();
  add("ada", 3);
  for (let i = 0; i < 20; i++) add(`staff${i}/`, 2, { house: true });
  const first = take(6);
  equal(first.filter((name) => name.startsWith("staff")).length, 3);
  equal(first.filter((name) => name.startsWith("ada")).length, 3);
  equal(take(6).length, 6);
});

Deno.test("where one goes at a time, or one fills a batch, customers and those who work for the realm take turns", () => {
  for (const weight of [1, 50]) {
    const { add, take } = openCounted();
    add("ada", 3, { weight });
    add("staff", 3, { weight, house: true });
    const order = Array.from({ length: 6 }, () => take(weight)).flat();
    deepEqual(order, ["staff0", "ada0", "staff1", "ada1", "staff2", "ada2"]);
  }
});

Deno.test("many customers leave half of each batch to those who work for the realm", () => {
  const { add, take } = openCounted();
  for (let i = 0; i < 50; i++) add(`user${i}/`, 2);
  for (let i = 0; i < 20; i++) add(`staff${i}/`, 1, { house: true });
  for (let i = 0; i < 3; i++) {
    equal(take(10).filter((name) => name.startsWith("staff")).length, 5, `${i}`);
  }
});

Deno.test("a heavy move waits for the next batch at most, and what is lighter goes before it", () => {
  const { add, take } = openCounted();
  add("ada", 1);
  add("heavy", 1, { weight: 50 });
  add("bob", 3);
  deepEqual(take(3), ["ada0", "bob0", "bob1"]);
  deepEqual(take(3), ["heavy0"], "the first is taken whatever its weight");
  deepEqual(take(3), ["bob2"]);
});

Deno.test("what a batch reads is in proportion to what it takes, however many wait", () => {
  const { add, take, waiting, seen } = openCounted();
  add("hog", 50_000);
  for (let i = 0; i < 2000; i++) add(`user${i}/`, 1, { weight: i % 2 === 0 ? 1 : 200 });
  take(1);
  const before = seen();
  let taken = 0;
  for (let i = 0; i < 50; i++) taken += take(100).length;
  ok(seen() - before <= 50 * (100 + 20 + 1) * 2, `${seen() - before} reads for ${taken} moves`);
  equal(waiting.size(), 52_000 - 1 - taken);
});

Deno.test("what has waited for too long is taken out, of every user", () => {
  const { add, take, waiting } = openCounted();
  add("hog", 5, { at: 10 });
  add("ada", 1, { at: 15 });
  add("hog", 2, { at: 20 });
  deepEqual(waiting.takeBefore(10), []);
  deepEqual(take(2), ["hog0", "ada0"]);
  deepEqual(waiting.takeBefore(20).map(({ name }) => name), ["hog1", "hog2", "hog3", "hog4"]);
  equal(waiting.size(), 2);
  add("ada", 1, { at: 30 });
  deepEqual(take(3), ["hog0", "hog1", "ada0"]);
  add("bob", 2, { at: 40 });
  add("bob", 1, { at: 50 });
  equal(waiting.takeBefore(45).length, 2);
  equal(waiting.takeBefore(60).length, 1);
  equal(waiting.size(), 0);
});
