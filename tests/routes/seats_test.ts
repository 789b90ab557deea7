import { equal, rejects } from "node:assert/strict";
import { seated } from "../../routes/seats.ts";

Deno.test("seated() lets a thousand wait at one pool, and tells the next to come back", async () => {
  const pool = {};
  const gate = Promise.withResolvers<void>();
  const waiting = Array.from({ length: 1000 }, () => seated(pool, () => gate.promise));
  await rejects(seated(pool, () => Promise.resolve()), {
    code: "service.overloaded",
    extra: { retryAfterS: 1 },
  });
  equal(await seated({}, () => Promise.resolve(1)), 1);
  gate.resolve();
  await Promise.all(waiting);
  equal(await seated(pool, () => Promise.resolve(2)), 2);
});

Deno.test("seated() frees the seat of work that fails", async () => {
  const pool = {};
  for (let i = 0; i < 1500; i++) {
    await rejects(seated(pool, () => Promise.reject(new TypeError("no"))), TypeError);
  }
  equal(await seated(pool, () => Promise.resolve(3)), 3);
});
