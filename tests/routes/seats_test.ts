import { deepEqual, equal, rejects } from "node:assert/strict";
import { serializable } from "../../db/transaction.ts";
import { runSearch } from "../../domain/command.ts";
import { claimsOf } from "../../domain/sessions.ts";
import { searching, seated } from "../../routes/seats.ts";
import { testRealm } from "../support/realm.ts";

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

Deno.test("of many searches of a realm two run at once, and what has no filter waits for none", async () => {
  const pool = {};
  const gate = Promise.withResolvers<void>();
  let running = 0, most = 0;
  const search = () =>
    searching(pool, async () => {
      most = Math.max(most, ++running);
      await gate.promise;
      running--;
    });
  const all = Array.from({ length: 52 }, search);
  await rejects(search(), { code: "service.overloaded" });
  equal(await seated(pool, () => Promise.resolve(1)), 1);
  gate.resolve();
  await Promise.all(all);
  deepEqual([running, most], [0, 2]);
  await rejects(searching(pool, () => Promise.reject(new TypeError("no"))), TypeError);
  equal(await searching(pool, () => Promise.resolve(2)), 2);
});

Deno.test("a search ends when its statement has run for too long; revoked keys are seen all the while", async () => {
  await using realm = await testRealm();
  const { pool } = realm;
  await rejects(runSearch(pool, 100, (db) => db`select pg_sleep(60)`), { code: "57014" });
  const over = Promise.withResolvers<void>();
  const all = Promise.all(Array.from({ length: 4 }, () =>
    serializable(pool, async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`;
      await over.promise;
    })));
  // Every connection of the realm is taken; the look at revocations has another.
  const context = (await realm.services.realms.find(realm.id))!;
  context.refresh();
  const claims = claimsOf(realm.made.admin, realm.id, Date.now(), 3600);
  equal(await context.isRevoked(claims), false);
  over.resolve();
  await all;
});
