import { deepEqual, equal, rejects } from "node:assert/strict";
import { serializable } from "../../db/transaction.ts";
import { runSearch } from "../../domain/command.ts";
import { DomainError } from "../../domain/errors.ts";
import { claimsOf } from "../../domain/security/sessions.ts";
import { openEnding, watchLeaving } from "../../routes/http/shutdown.ts";
import {
  listing,
  paging,
  recomputing,
  searching,
  withConcurrencyLimit,
} from "../../routes/http/concurrency_limit.ts";
import {} from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { until } from "../support/eventually.ts";

const test = sharing("turns in one realm");

Deno.test("withConcurrencyLimit() lets a thousand wait at one pool, and refuses the next with retry-after", async () => {
  const pool = {};
  const held = Promise.withResolvers<void>();
  const waiting = Array.from(
    { length: 1000 },
    () => withConcurrencyLimit(pool, () => held.promise),
  );
  await rejects(withConcurrencyLimit(pool, () => Promise.resolve()), {
    code: "service.overloaded",
    extra: { retryAfterS: 1 },
  });
  equal(await withConcurrencyLimit({}, () => Promise.resolve(1)), 1);
  held.resolve();
  await Promise.all(waiting);
  equal(await withConcurrencyLimit(pool, () => Promise.resolve(2)), 2);
});

Deno.test("withConcurrencyLimit() counts work that failed as ended", async () => {
  const pool = {};
  for (let i = 0; i < 1500; i++) {
    await rejects(withConcurrencyLimit(pool, () => Promise.reject(new TypeError("no"))), TypeError);
  }
  equal(await withConcurrencyLimit(pool, () => Promise.resolve(3)), 3);
});

Deno.test("of many searches of a realm two run at once, and a list without a filter waits for none", async () => {
  const pool = {};
  const held = Promise.withResolvers<void>();
  let running = 0, most = 0;
  const search = () =>
    searching(pool, async () => {
      most = Math.max(most, ++running);
      await held.promise;
      running--;
    });
  const all = Array.from({ length: 52 }, search);
  await rejects(search(), { code: "service.overloaded" });
  equal(await withConcurrencyLimit(pool, () => Promise.resolve(1)), 1);
  held.resolve();
  await Promise.all(all);
  deepEqual([running, most], [0, 2]);
  await rejects(searching(pool, () => Promise.reject(new TypeError("no"))), TypeError);
  equal(await searching(pool, () => Promise.resolve(2)), 2);
});

Deno.test("users take turns at searches, and one who fills their queue keeps nobody out of it", async () => {
  const pool = {};
  const held = Promise.withResolvers<void>();
  const begun: string[] = [];
  const search = (user: string) =>
    searching(pool, async () => {
      begun.push(user);
      await held.promise;
    }, { user });
  const many = Array.from({ length: 52 }, () => search("many"));
  const ends = Promise.allSettled(many);
  const few = [search("few"), search("few"), search("one")];
  await rejects(search("many"), { code: "service.overloaded" });
  const outcomes = many.map((one) => one.then(() => "done", ({ code }) => code));
  held.resolve();
  await Promise.all(few);
  deepEqual(begun.slice(0, 6), ["many", "many", "many", "few", "one", "many"]);
  const told = await Promise.all(outcomes);
  deepEqual(told.slice(0, 49), Array(49).fill("done"));
  deepEqual(told.slice(49), Array(3).fill("service.overloaded"), "the last of it give way");
  await ends;
  const full = Array.from(
    { length: 52 },
    (_, i) => searching(pool, () => held.promise, { user: `${i}` }),
  );
  await Promise.all(full);
});

Deno.test("a user who reads many statements at once delays those of others by a page each", async () => {
  const pool = {};
  const held = Promise.withResolvers<void>();
  const begun: string[] = [];
  const page = (user: string) =>
    paging(pool, async () => {
      begun.push(user);
      await held.promise;
    }, { user });
  const all = [...Array.from({ length: 300 }, () => page("many")), page("one")];
  held.resolve();
  await Promise.all(all);
  equal(begun.indexOf("one"), 3);
});

test("a search ends when its statement has run for too long; revoked keys are seen all the while", async (realm) => {
  const { pool } = realm;
  await rejects(runSearch(pool, 2000, (db) => db`select pg_sleep(60)`), { code: "57014" });
  const over = Promise.withResolvers<void>();
  const all = Promise.all(Array.from({ length: 4 }, () =>
    serializable(pool, async (tx) => {
      await tx`set local idle_in_transaction_session_timeout = 0`;
      await over.promise;
    })));
  // Every connection of the realm is taken; the read of revocations has another.
  const context = (await realm.services.realms.find(realm.id))!;
  context.refresh();
  const claims = claimsOf(realm.made.admin, realm.made.realm, Date.now(), 3600);
  equal(await context.isRevoked(claims), false);
  over.resolve();
  await all;
});

test("a search whose caller leaves is ended in the database, and one that waits for its turn gives it up", async (realm) => {
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const [gone, away, last] = Array.from({ length: 3 }, () => new AbortController());
  const mark = crypto.randomUUID();
  const running = async () => {
    const [row] = await pool.sql`select count(*)::int as count from pg_stat_activity
      where state = 'active' and pid <> pg_backend_pid() and query like ${`%${mark}%`}`;
    return row.count;
  };
  const find = ({ signal }: AbortController) =>
    searching(
      pool,
      () =>
        runSearch(
          pool,
          600_000,
          (db) => db.unsafe(`select '${mark}', pg_sleep(600)`),
          signal,
        ),
      { signal },
    );
  const left = new DomainError("request.malformed", "left");
  const all = [gone, away].map((one) => rejects(find(one)));
  const queued = rejects(find(last), left);
  last.abort(left);
  await queued;
  await until(async () => await running() === 2);
  gone.abort(left);
  away.abort(left);
  await Promise.all(all);
  await until(async () => await running() === 0); // nor do their statements go on
  equal(await searching(pool, () => Promise.resolve(1)), 1, "their turns are free again");
  const request = new Request("http://a/");
  const ending = openEnding();
  const leaving = watchLeaving(request, ending);
  ending.begin();
  equal(leaving.signal.aborted, true, "an end that has begun is told at once");
  equal(leaving.signal.reason.code, "service.overloaded");
});

test("lists that may read every row take their turn among searches, and others do not", async (realm) => {
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const over = Promise.withResolvers<void>();
  const all = Array.from(
    { length: 52 },
    (_, i) => searching(pool, () => over.promise, { user: `${i}`, scopes: ["realm"] }),
  );
  for (
    const path of [
      `accounts/all?query=${encodeURIComponent('{"data.a":1}')}`,
      "accounts/all?search=a",
      "accounts/all?sort=reference",
      "accounts/all?sort=created_at,balance.total",
      "accounts?scope=all&sort=-data.a",
      "accounts/count?scope=deleted",
      "transactions/all?scope=incoming",
      "audit?action=nothing",
      "identities/persons?lastName=Novak",
      "identities/persons?customAttributes.a=b&customAttributes.c=d",
      `identities/persons?filter=${encodeURIComponent('{"city":"Zagreb"}')}`,
      "identities/companies?industry=Banking",
    ]
  ) {
    const { status, body } = await realm.admin.send("GET", `/v1/${path}`);
    deepEqual([status, body.code], [503, "service.overloaded"], path);
  }
  for (
    const path of [
      "accounts/all",
      "accounts?scope=all",
      "accounts/count",
      "accounts/all?sort=-created_at&limit=1",
      "transactions/count?scope=all",
      "identities/persons",
      "identities/persons?email=a@b.example&lastName=Novak",
      "identities/companies",
      "withdrawals/count",
      "deposits",
      "withdrawals/all",
    ]
  ) equal((await realm.admin.send("GET", `/v1/${path}`)).status, 200, path);
  over.resolve();
  await Promise.all(all);
});

test("of long answers two pages are read at once, and other reads pass beside them", async (realm) => {
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const { account } = await realm.currency("1");
  const over = Promise.withResolvers<void>();
  const all = [1, 2].map(() => paging(pool, () => over.promise));
  let ended = 0;
  const statements = Array.from({ length: 10 }, async () => {
    const answer = await realm.admin.send("GET", `/v1/accounts/${account}/statement`);
    ended++;
    return answer.status;
  });
  for (let i = 0; i < 3; i++) {
    equal((await realm.admin.send("GET", `/v1/accounts/${account}/entries`)).status, 200);
  }
  equal(ended, 0);
  over.resolve();
  await Promise.all(all);
  deepEqual(await Promise.all(statements), Array(10).fill(200));
});

test("of long lists two are read at once, short ones pass beside them, and a caller that leaves is not read for", async (realm) => {
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const over = Promise.withResolvers<void>();
  const never = new AbortController();
  const all = [1, 2].map(() => listing(pool, () => over.promise, never));
  let ended = 0;
  const lists = Array.from({ length: 10 }, async (_, i) => {
    const path = i % 2 === 0 ? "accounts/all" : "transactions?scope=all&pageSize=500";
    const answer = await realm.admin.send("GET", `/v1/${path}`);
    ended++;
    return answer.status;
  });
  const away = new AbortController();
  const left = listing(pool, () => Promise.reject(new TypeError("read")), away);
  away.abort(new DomainError("request.malformed", "the caller has left"));
  await rejects(left, { code: "request.malformed" });
  for (const path of ["accounts/all?limit=100", "transactions", "accounts/count"]) {
    equal((await realm.admin.send("GET", `/v1/${path}`)).status, 200, path);
  }
  equal(ended, 0);
  over.resolve();
  await Promise.all(all);
  deepEqual(await Promise.all(lists), Array(10).fill(200));
});

test("of parts of the chain one of a realm is recomputed at once, two of all, and other reads pass beside them", async (realm) => {
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const held = Promise.withResolvers<void>();
  const { signal } = new AbortController();
  const running: number[] = [];
  const recompute = (name: number, of: object) =>
    recomputing(of, async () => {
      running.push(name);
      await held.promise;
    }, { user: `${name}`, signal });
  const others = [{}, {}];
  const begun = [recompute(1, pool), recompute(2, pool), recompute(3, others[0])];
  begun.push(recompute(4, others[1]));
  equal((await realm.admin.send("GET", "/v1/transactions/head")).status, 200);
  deepEqual(running, [1, 3], "one of the realm, two of all");
  const more = Array.from({ length: 19 }, (_, i) => recompute(5 + i, pool));
  const full = await realm.admin.send("GET", "/v1/transactions/verify");
  deepEqual([full.status, full.body.code], [503, "service.overloaded"]);
  held.resolve();
  await Promise.all([...begun, ...more]);
  equal((await realm.admin.send("GET", "/v1/transactions/verify")).status, 200);
});
