/** Whose logins wait, and for how long, while others flood their realm with them. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { paging, withConcurrencyLimit } from "../../routes/http/concurrency_limit.ts";
import { openLoginQueues } from "../../routes/http/login_queues.ts";
import { until } from "../support/eventually.ts";

const REALM = "realm";

/** Three logins that are being checked until they are told to end; others wait. */
function busyQueues() {
  const queues = openLoginQueues();
  const over = Promise.withResolvers<void>();
  const order: string[] = [];
  const login = (network: string, signal?: AbortSignal) =>
    queues.inTurn({ realm: REALM, network, signal }, async () => {
      await over.promise;
      order.push(network);
    });
  return { queues, over, order, login, first: Promise.all([1, 2, 3].map((i) => login(`${i}`))) };
}

const outcomeOf = (login: Promise<unknown>) =>
  login.then(() => "done", ({ code, message }) => code ?? message);

Deno.test("ten networks that fill the queue of logins keep no other network out, nor behind all of theirs", async () => {
  const { over, order, login, first } = busyQueues();
  const flood = Array.from({ length: 500 }, (_, i) => outcomeOf(login(`192.0.2.${i % 10}`)));
  await rejects(login("192.0.2.1"), { code: "service.overloaded" });
  const others = ["198.51.100.1", "198.51.100.2"].map((network) => outcomeOf(login(network)));
  over.resolve();
  await first;
  deepEqual(await Promise.all(others), ["done", "done"]);
  const outcomes = await Promise.all(flood);
  equal(outcomes.filter((one) => one === "service.overloaded").length, 2);
  ok(order.indexOf("198.51.100.2") < 3 + 12 + 3, `after ${order.indexOf("198.51.100.2")}`);
});

Deno.test("a network whose logins were right comes second at most, while five hundred others wait", async () => {
  const { queues, over, order, login, first } = busyQueues();
  queues.welcome({ realm: REALM, network: "198.51.100.1" });
  queues.welcome({ realm: "another", network: "198.51.100.2" });
  const flood = Array.from(
    { length: 500 },
    (_, i) => outcomeOf(login(`192.0.${i >> 8}.${i & 255}`)),
  );
  await rejects(login("198.51.100.2"), { code: "service.overloaded" });
  const known = Array.from({ length: 3 }, () => outcomeOf(login("198.51.100.1")));
  over.resolve();
  await first;
  deepEqual(await Promise.all(known), Array(3).fill("done"));
  deepEqual(new Set(await Promise.all(flood)), new Set(["done"]));
  const at = order.flatMap((network, i) => network === "198.51.100.1" ? [i] : []);
  ok(at[2] < 3 + 6, `${at}`);
  equal(order.length, 3 + 500 + 3);
});

Deno.test("where the places of known networks are full, a known network waits among the others", async () => {
  const { queues, over, login, first } = busyQueues();
  const networks = Array.from({ length: 101 }, (_, i) => `198.51.100.${i}`);
  for (const network of networks) queues.welcome({ realm: REALM, network });
  const all = networks.map((network) => outcomeOf(login(network)));
  over.resolve();
  await first;
  deepEqual(new Set(await Promise.all(all)), new Set(["done"]));
});

Deno.test("networks of one subscriber take turns as one", async () => {
  const { over, order, login, first } = busyQueues();
  const subscriber = Array.from({ length: 50 }, (_, i) => outcomeOf(login(`2001:db8:0:${i}::/64`)));
  await rejects(login("2001:db8:0:ffff::/64"), { code: "service.overloaded" });
  const other = outcomeOf(login("2001:db8:1::/64"));
  over.resolve();
  await first;
  deepEqual(new Set(await Promise.all([other, ...subscriber])), new Set(["done"]));
  ok(order.indexOf("2001:db8:1::/64") < 3 + 2, `${order.indexOf("2001:db8:1::/64")}`);
});

Deno.test("a login whose caller leaves waits no more, and its place is free", async () => {
  const { over, login, first } = busyQueues();
  const away = new AbortController();
  const left = Array.from({ length: 50 }, () => outcomeOf(login("192.0.2.1", away.signal)));
  await rejects(login("192.0.2.1"), { code: "service.overloaded" });
  away.abort(new Error("left"));
  deepEqual(new Set(await Promise.all(left)), new Set(["left"]));
  const next = outcomeOf(login("192.0.2.1"));
  over.resolve();
  await first;
  equal(await next, "done");
});

Deno.test("of very many networks whose logins were right those of a realm with few of them are remembered", async () => {
  const { queues, over, order, login, first } = busyQueues();
  queues.welcome({ realm: REALM, network: "198.51.100.1" });
  for (let i = 0; i < 20_000; i++) queues.welcome({ realm: "another", network: `net ${i}` });
  const flood = Array.from({ length: 20 }, (_, i) => outcomeOf(login(`192.0.2.${i}`)));
  const known = outcomeOf(login("198.51.100.1"));
  over.resolve();
  await first;
  await Promise.all([known, ...flood]);
  ok(order.indexOf("198.51.100.1") < 3 + 2, `${order.indexOf("198.51.100.1")}`);
});

Deno.test("logins, pages and requests whose database never answers give their turns back after a minute and a half", async () => {
  const real = globalThis.setTimeout;
  const limits: (() => void)[] = [];
  const set = (work: () => void, ms: number) =>
    ms === 90_000 ? (limits.push(work), -1) : real(work, ms);
  globalThis.setTimeout = set as typeof real;
  try {
    const queues = openLoginQueues();
    const pool = {};
    const never = () => new Promise<never>(() => {});
    const customer = { user: "one", scopes: ["own" as const] };
    const hung = [
      ...Array.from({ length: 3 }, () => queues.inTurn({ realm: REALM, network: "one" }, never)),
      ...Array.from({ length: 2 }, () => paging(pool, never)),
      withConcurrencyLimit(pool, never, customer),
    ].map(outcomeOf);
    await until(() => limits.length === 6);
    const next = [
      queues.inTurn({ realm: REALM, network: "other" }, () => Promise.resolve("logged in")),
      paging(pool, () => Promise.resolve("read")),
      withConcurrencyLimit(pool, () => Promise.resolve("done"), customer),
    ];
    for (const pass of limits.slice()) pass();
    deepEqual(new Set(await Promise.all(hung)), new Set(["the database did not answer in time"]));
    deepEqual(await Promise.all(next), ["logged in", "read", "done"]);
  } finally {
    globalThis.setTimeout = real;
  }
});
