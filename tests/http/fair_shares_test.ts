/** What one user, or the customers of a realm together, may take of what all of its users share. */
import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { createApp } from "../../routes/http/app.ts";
import { listing, searching, withConcurrencyLimit } from "../../routes/http/concurrency_limit.ts";
import { reserveLargeBody } from "../../routes/http/large_bodies.ts";
import { streamOf } from "../../routes/http/exports.ts";
import { openPlaces } from "../../routes/http/stream_places.ts";
import type { Scope } from "../../domain/actor.ts";
import type { RealmReplica } from "../../domain/realms/replica_reads.ts";
import { PLATFORM_KEY } from "../support/realm.ts";
import { sharing } from "../support/sharing.ts";
import { until } from "../support/eventually.ts";

const test = sharing("shares of one realm");

Deno.test("withConcurrencyLimit() leaves places to others, however many requests one user or several have", async () => {
  const pool = {};
  const held = Promise.withResolvers<void>();
  const request = (user: string, ...scopes: Scope[]) =>
    withConcurrencyLimit(pool, () => held.promise, { user, scopes });
  const all: Promise<void>[] = [];
  for (const [user, most] of [["one", 760], ["two", 152], ["three", 31], ["four", 6]] as const) {
    all.push(...Array.from({ length: most }, () => request(user)));
    await rejects(request(user), { code: "service.overloaded" }, user);
  }
  all.push(request("five"));
  for (const nobody of ["six", ""]) await rejects(request(nobody), { code: "service.overloaded" });
  all.push(...Array.from({ length: 50 }, (_, i) => request(`house ${i}`, "own", "realm")));
  await rejects(
    request("house", "realm"),
    { code: "service.overloaded" },
    "a thousand are the most",
  );
  held.resolve();
  await Promise.all(all);
  equal(await withConcurrencyLimit(pool, () => Promise.resolve(1), { user: "one", scopes: [] }), 1);
});

Deno.test("users take turns at a pool, and those who work for the realm do not wait for customers", async () => {
  const pool = {};
  const held = Promise.withResolvers<void>();
  const begun: string[] = [];
  const request = (user: string, ...scopes: Scope[]) =>
    withConcurrencyLimit(pool, async () => {
      begun.push(user);
      await held.promise;
    }, { user, scopes });
  const all = Array.from({ length: 100 }, () => request("many"));
  all.push(request("few"), request("staff", "own", "realm"));
  await until(() => begun.includes("staff"));
  const running = begun.filter((user) => user === "many").length;
  equal(running, 3);
  equal(begun.includes("few"), false);
  held.resolve();
  await Promise.all(all);
  ok(begun.indexOf("few") <= running + 2, "the second after those that ran");
  equal(begun.length, 102);
});

Deno.test("a request that waits too long for its turn is never begun, and one that is has all its time from then on", async () => {
  const real = globalThis.setTimeout;
  const timers: [ms: number, pass: () => void][] = [];
  const set = (work: () => void, ms: number) => timers.push([ms, work]) * -1;
  globalThis.setTimeout = set as unknown as typeof real;
  const pool = {};
  const held = Promise.withResolvers<void>();
  const begun: number[] = [];
  const request = (of: number) =>
    withConcurrencyLimit(pool, async () => {
      begun.push(of);
      await held.promise;
    }, { user: "one", scopes: ["own"] });
  try {
    const running = Array.from({ length: 3 }, (_, i) => request(i));
    const [late, next] = [request(3), request(4)];
    timers[0][1]();
    await rejects(late, { code: "service.overloaded" });
    const [hung, ...others] = running;
    timers[2][1]();
    await rejects(hung, { mayBeDone: true });
    held.resolve();
    await Promise.all([...others, next]);
    deepEqual(begun, [0, 1, 2, 4]);
    deepEqual(timers.map(([ms]) => ms), [60_000, 60_000, ...Array(4).fill(90_000)]);
  } finally {
    globalThis.setTimeout = real;
  }
});

test("requests that wait for a slow replica hold up none that the primary alone answers", async (realm) => {
  const context = (await realm.services.realms.find(realm.id))!;
  const over = Promise.withResolvers<null>();
  let reads = 0;
  const replica: RealmReplica = {
    read: () => (reads++, over.promise),
    catchUp: () => over.promise,
    noteWrite() {},
  };
  const slow = Object.create(context, { replica: { value: replica } });
  const realms = { ...realm.services.realms, find: () => slow };
  const app = createApp({ ...realm.services, realms }, PLATFORM_KEY);
  const [customer, other] = [await realm.user(), await realm.user()];
  const get = async ({ key }: { key: string }, path: string) => {
    const request = new Request(`http://purser.test${path}`, { headers: { "x-api-key": key } });
    const answer = await app(request, "127.0.0.1");
    await answer.body?.cancel();
    return answer.status;
  };
  const lists = Array.from({ length: 20 }, () => get(customer, "/v1/accounts"));
  await until(() => reads === 3);
  let beside = 0;
  const users = get(other, "/v1/users").then((status) => beside = status);
  await until(() => beside === 200).finally(() => over.resolve(null));
  await users;
  deepEqual(new Set(await Promise.all(lists)), new Set([200]));
});

test("a customer whose requests without number wait for each other keeps nobody out of its realm", async (realm) => {
  const customer = await realm.user();
  const { name } = await realm.currency("1000");
  const account = await realm.account({ asset: name, by: customer });
  const path = `/v1/accounts/${account}`;
  const [locked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = realm.command(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select from accounts where id = ${account} for update`;
    locked.resolve();
    await over.promise;
  });
  await locked.promise;
  let refused = 0;
  const flood = Array.from({ length: 1001 }, async (_, i) => {
    const { status } = await customer.send("PATCH", path, { data: { i } });
    if (status === 503) refused++;
  });
  await until(() => refused > 0);
  const others = realm.admin.send("GET", path);
  over.resolve();
  await holding;
  await Promise.all(flood);
  equal((await others).status, 200);
});

test("customers who fill their places together keep out neither those who work for the realm nor the operator", async (realm) => {
  const customer = await realm.user();
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const over = Promise.withResolvers<void>();
  const all = [pool, realm.services.platform].flatMap((one) =>
    Array.from({ length: 1000 }, async (_, i) => {
      const whose = { user: `${i}`, scopes: [] };
      await withConcurrencyLimit(one, () => over.promise, whose).catch(() => {});
    })
  );
  equal((await customer.send("GET", "/v1/accounts")).status, 503);
  equal((await realm.admin.send("GET", "/v1/accounts")).status, 200);
  equal((await realm.operator("GET", "/v1/realms")).status, 200);
  over.resolve();
  await Promise.all(all);
  equal((await customer.send("GET", "/v1/accounts")).status, 200);
});

test("streams of events and questions about profiles take places like all requests", async (realm) => {
  const statements: string[] = [];
  await using process = realm.another({}, (text) => statements.push(text));
  const { pool } = (await process.services.realms.find(realm.id))!;
  const { id, identity, key } = await realm.user();
  const own = `/v1/identities/${identity}`;
  equal((await process.send(key)("GET", "/v1/auth/me")).status, 200);
  const over = Promise.withResolvers<void>();
  const all = Array.from(
    { length: 950 },
    (_, i) => withConcurrencyLimit(pool, () => over.promise, { user: `${id} ${i}`, scopes: [] }),
  );
  statements.length = 0;
  const statuses: number[] = [];
  for (const [method, path] of [["GET", "/v1/events"], ["GET", `${own}/person`], ["PATCH", own]]) {
    const body = method === "PATCH" ? '{"company":1}' : undefined;
    const headers = { "x-api-key": key, "content-type": "application/json" };
    const request = new Request(`http://purser.test${path}`, { method, headers, body });
    const answer = await process.app(request, "127.0.0.1");
    statuses.push(answer.status);
    await answer.body?.cancel();
  }
  over.resolve();
  await Promise.all(all);
  const asked = statements.filter((text) => /identities|event_readers|events/.test(text));
  deepEqual([statuses, asked], [[503, 503, 503], []]);
});

Deno.test("customers leave slots of large bodies to those who work for the realm", () => {
  const pool = {};
  const theirs = Array.from({ length: 8 }, (_, i) => reserveLargeBody(pool, `${i % 4}`, false));
  throws(() => reserveLargeBody(pool, "another", false), { code: "service.overloaded" });
  const own = Array.from({ length: 4 }, () => reserveLargeBody(pool, "house", true));
  throws(() => reserveLargeBody(pool, "house", true), { code: "service.overloaded" });
  for (const slot of [...theirs, ...own]) slot.leave();
  reserveLargeBody(pool, "another", false).leave();
});

test("long lists of entries and of deliveries take their turn, and deliveries of one status among searches", async (realm) => {
  const { pool } = (await realm.services.realms.find(realm.id))!;
  const { account } = await realm.currency("1000");
  const webhook = await realm.admin.send("POST", "/v1/webhooks", {
    url: "https://example.com/hook",
    events: ["deposit.confirmed"],
  });
  equal(webhook.status, 201, webhook.text);
  const deliveries = `webhooks/${webhook.body.id}/deliveries`;
  const over = Promise.withResolvers<void>();
  const held = [1, 2].flatMap((i) => [
    listing(pool, () => over.promise, { user: `${i}` }),
    searching(pool, () => over.promise, { user: `${i}` }),
  ]);
  const get = (path: string) => realm.admin.send("GET", `/v1/${path}`);
  let ended = 0;
  const long = [
    `accounts/${account}/entries?pageSize=101`,
    `${deliveries}?limit=101`,
    `${deliveries}?status=DELIVERED`,
  ].map(async (path) => {
    const { status } = await get(path);
    ended++;
    return status;
  });
  for (const path of [`accounts/${account}/entries?pageSize=100`, deliveries]) {
    equal((await get(path)).status, 200, path);
  }
  const before = ended;
  over.resolve();
  await Promise.all(held);
  deepEqual(await Promise.all(long), [200, 200, 200]);
  equal(before, 0);
});

test("a statement that its caller does not read ends, and holds nothing", async (realm) => {
  const { account } = await realm.currency("1000");
  const path = `/v1/accounts/${account}/statement`;
  await using process = realm.another();
  const get = async () => {
    const headers = { "x-api-key": realm.admin.key };
    return await process.app(new Request(`http://purser.test${path}`, { headers }), "127.0.0.1");
  };
  const whole = await (await get()).json();
  equal(whole.entries.length, 1);
  const minute = heldMinutes();
  const unread = await get().finally(() => minute.release());
  deepEqual([unread.status, minute.waiting()], [200, 1]);
  minute.pass();
  await rejects(unread.text(), { message: "nobody reads" });
  equal((await (await get()).json()).closing.total, whole.closing.total);
});

test("of one user a hundred statements are open at once, and others have theirs beside them", async (realm) => {
  const customer = await realm.user();
  const { name, account } = await realm.currency("1000");
  const theirs = await realm.account({ asset: name, by: customer, from: account, total: "1" });
  const of = async (user: { key: string }, id: string) => {
    const headers = { "x-api-key": user.key };
    const url = `http://purser.test/v1/accounts/${id}/statement`;
    return await process.app(new Request(url, { headers }), "127.0.0.1");
  };
  await using process = realm.another();
  const refused = await of(customer, account);
  deepEqual([refused.status, (await refused.json()).code], [404, "account.not_found"]);
  const open = await Promise.all(Array.from({ length: 100 }, () => of(customer, theirs)));
  deepEqual(new Set(open.map(({ status }) => status)), new Set([200]));
  const next = await of(customer, theirs);
  deepEqual([next.status, next.headers.get("retry-after")], [429, "10"]);
  equal((await next.json()).code, "rate.limited");
  equal((await (await of(realm.admin, account)).json()).entries.length, 2);
  equal((await open[0].json()).entries.length, 1);
  await open[1].body!.cancel();
  for (let i = 0; i < 2; i++) equal((await (await of(customer, theirs)).json()).entries.length, 1);
  const again = await Promise.all([of(customer, theirs), of(customer, theirs)]);
  equal((await of(customer, theirs)).status, 429);
  for (const { body } of [...open.slice(2), ...again]) await body!.cancel();
});

Deno.test("openPlaces() leaves places of a realm to those who work for it", () => {
  const take = openPlaces({ kind: "streams", ofUser: 2, ofRealm: 4, ofHouse: 1 });
  const pool = {};
  const of = (user: string, isHouse = false) => take(pool, { user, isHouse });
  const all = [of("one"), of("one"), of("two")];
  throws(() => of("three"), { code: "service.overloaded" });
  all.push(of("staff", true));
  throws(() => of("another", true), { code: "service.overloaded" });
  throws(() => of("one", true), { code: "rate.limited" });
  for (const { leave } of all) leave();
  of("three").leave();
});

Deno.test("an answer whose reader is slow gives its place to whoever finds none; others keep theirs", async () => {
  const take = openPlaces({ kind: "exports", ofUser: 2, ofRealm: 4, ofHouse: 1 });
  const pool = {};
  let ms = 0;
  const open = (user: string) => {
    const place = take(pool, { user, isHouse: false });
    const pieces = async function* () {
      for (;;) yield await Promise.resolve("x".repeat(64 * 1024));
    };
    return streamOf(pieces(), { place, now: () => ms }).getReader();
  };
  const [slow, other, fast] = [open("one"), open("two"), open("two")];
  throws(() => open("three"), { code: "service.overloaded" });
  ms = 31_000; // each has waited for its reader so long
  for (let i = 0; i < 10; i++) await fast.read();
  await slow.read();
  const next = open("three");
  await rejects(slow.read(), /slow/);
  const last = open("two"); // its own
  await rejects(other.read(), /slow/);
  throws(() => open("two"), { code: "rate.limited" });
  throws(() => open("four"), { code: "service.overloaded" });
  for (const reader of [fast, next, last]) {
    ok(!(await reader.read()).done);
    await reader.cancel();
  }
});

Deno.test("streamOf() gives back what it reads from where its caller leaves", async () => {
  let returned = false;
  const stream = streamOf(async function* () {
    try {
      for (;;) yield await Promise.resolve("x".repeat(64 * 1024));
    } finally {
      returned = true;
    }
  }());
  const reader = stream.getReader();
  ok(!(await reader.read()).done);
  await reader.cancel();
  await until(() => returned);
});

/** Keeps timers of a minute that answers set, until it is released; they run when they are told to. */
function heldMinutes(): { pass(): void; waiting(): number; release(): void } {
  const real = globalThis.setTimeout;
  const held: (() => void)[] = [];
  const set = (...args: Parameters<typeof real>) => {
    const [work, ms] = args;
    const isOfAnswer = ms === 60_000 && `${new Error().stack}`.includes("exports.ts");
    return isOfAnswer ? held.push(work as () => void) : real.call(globalThis, ...args);
  };
  globalThis.setTimeout = set as typeof real;
  return {
    pass: () => held.forEach((work) => work()),
    waiting: () => held.length,
    release: () => void (globalThis.setTimeout = real),
  };
}
