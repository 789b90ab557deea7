import { deepEqual, equal, ok } from "node:assert/strict";
import type { Pool } from "../../db/database.ts";
import { openApiKeyCache } from "../../domain/realms/api_key_cache.ts";
import { type Send } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";

const test = sharing("keys of one realm");

test("a request with a key that was seen before costs no SQL of its own", async (realm) => {
  const statements: string[] = [];
  await using process = realm.another({}, (text) => statements.push(text));
  // Refused for its query after the key was checked, so whatever runs is the key's.
  const ask = async (send: Send) => {
    const { status } = await send("GET", "/v1/auth/me?x=1");
    equal(status, 400);
  };
  const send = process.send(realm.admin.key);
  await ask(send);
  ok(statements.length > 0, "the first one does ask the database");
  statements.length = 0;
  const start = performance.now();
  // By the clock, not by the request: each half second a read of the realm and its revocations, of five
  // statements, and now and then one that notes when the login was used.
  const most = () => 6 * (Math.ceil((performance.now() - start) / 500) + 1);
  let requests = 0;
  // At a statement for each of them it would be more, also on a slow machine.
  while (requests < 500 || requests <= most()) {
    await ask(send);
    requests++;
  }
  ok(statements.length <= most(), `${statements.length} for ${requests}: ${statements.join("; ")}`);
});

test("keys with made-up ids cost a query at a time, however many come at once", async (realm) => {
  const statements: string[] = [];
  await using process = realm.another({}, (text) => statements.push(text));
  const [, payload, signature] = realm.admin.key.split(".");
  const forged = Array.from({ length: 200 }, () => {
    const kid = crypto.randomUUID();
    return `${
      btoa(JSON.stringify({ alg: "EdDSA", kid })).replaceAll("=", "")
    }.${payload}.${signature}`;
  });
  const answers = await Promise.all(
    forged.map((key) => process.send(key)("GET", "/v1/auth/me")),
  );
  equal(answers.every((answer) => answer.status === 401), true);
  ok(statements.length < 20, `${statements.length}`);
});

test("a machine key that ends while it is read is neither admitted nor cached as one that holds", async (realm) => {
  const { pool, location } = (await realm.services.realms.find(realm.id))!;
  const shared = realm.database.sharedPool(location);
  const create = async () =>
    (await realm.admin.send("POST", "/v1/keys", { name: "importer" })).body;
  for (const others of [1, 0]) {
    let wait: Promise<void> | null = null;
    const [read, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const cache = openApiKeyCache({
      watch: () => wait === null ? shared : answering(shared, read.resolve, wait),
      pool: () => pool,
    });
    const [other, key] = [await create(), await create()];
    if (others > 0) equal((await cache.load(other.key))?.alive, true);
    wait = over.promise;
    const loading = cache.load(key.key);
    wait = null;
    await read.promise;
    equal((await realm.admin.send("DELETE", `/v1/keys/${key.id}`)).status, 200);
    await cache.refresh();
    over.resolve();
    equal((await loading)?.alive, false);
    equal(cache.known(key.key), undefined);
    equal(cache.known(other.key)?.alive, others > 0 ? true : undefined, "nothing happened to it");
    equal((await cache.load(key.key))?.alive, false);
  }
});

test("a machine key that gave way to another while the cache was refreshed is not cached again", async (realm) => {
  const { pool, location } = (await realm.services.realms.find(realm.id))!;
  const shared = realm.database.sharedPool(location);
  const make = async () => (await realm.admin.send("POST", "/v1/keys", { name: "importer" })).body;
  const [first, second, third] = [await make(), await make(), await make()];
  const [read, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isLate = false;
  const cache = openApiKeyCache({
    watch: () => isLate ? answering(shared, read.resolve, over.promise) : shared,
    pool: () => pool,
  }, 2);
  for (const { key } of [first, second]) equal((await cache.load(key))?.alive, true);
  isLate = true;
  const refreshing = cache.refresh();
  isLate = false;
  await read.promise;
  equal((await cache.load(third.key))?.alive, true);
  over.resolve();
  await refreshing;
  const known = [first, second, third].map(({ key }) => cache.known(key)?.alive);
  deepEqual(known, [undefined, true, true]);
});

/** A pool whose transactions are answered late. */
function answering(pool: Pool, onAnswer: () => void, wait: Promise<void>): Pool {
  return Object.create(pool, {
    sql: {
      get: () =>
        new Proxy(pool.sql, {
          get: (sql, name) =>
            name !== "begin" ? Reflect.get(sql, name) : async (...work: unknown[]) => {
              const answer = await Reflect.apply(sql.begin as never, sql, work);
              onAnswer();
              await wait;
              return answer;
            },
        }),
    },
  });
}
