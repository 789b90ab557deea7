import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { openDatabase } from "../../db/database.ts";
import { openQuota, type Quota } from "../../db/connection_quota.ts";
import { reading, serializable } from "../../db/transaction.ts";
import { startRunner } from "../../workers/jobs/runner.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { startTimetable } from "../../workers/schedule/timetable.ts";
import { asSuperuser, realmDatabase, superuserUrl } from "../support/database.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";

/** A pool that records its calls. */
function managedPool(quota: Quota, max: number) {
  const told: string[] = [];
  const lease = quota.admit({
    max,
    open: (size) => told.push(`open ${size}`),
    close: () => Promise.resolve(void told.push("close")),
  });
  return { told, enter: lease.enter };
}

Deno.test("a pool gets its full size while most connections are free, at last a single one", async () => {
  const quota = openQuota(32);
  const pools = Array.from({ length: 21 }, () => managedPool(quota, 4));
  const leaves = [];
  for (const pool of pools) leaves.push(await pool.enter());
  const sizes = pools.map(({ told }) => told.join());
  deepEqual(sizes.slice(0, 8).map((size) => Number(size.slice(5))), [4, 3, 3, 2, 2, 2, 2, 1]);
  deepEqual(sizes.slice(8), Array(13).fill("open 1"));
  equal(quota.taken(), 32);
});

Deno.test("connections that are unused for long are released", async () => {
  const quota = openQuota(8, 0);
  const pools = Array.from({ length: 7 }, () => managedPool(quota, 4));
  for (const pool of pools) (await pool.enter())();
  await new Promise((resolve) => setTimeout(resolve, 5));
  const leave = await managedPool(quota, 1).enter();
  ok(pools.every(({ told }) => told.at(-1) === "close"), "all are closed");
  equal(quota.taken(), 1);
  leave();
});

Deno.test("a pool that finds no room gets the connections of the pool that was unused for longest", async () => {
  const quota = openQuota(2);
  const [first, second, third] = [1, 2, 3].map(() => managedPool(quota, 1));
  const [leaveFirst, leaveSecond] = [await first.enter(), await second.enter()];
  leaveSecond();
  leaveFirst();
  await third.enter();
  deepEqual([first.told, second.told, third.told], [["open 1"], ["open 1", "close"], ["open 1"]]);
  equal(quota.taken(), 2);
});

Deno.test("if all pools are in use, the one that was open for longest is drained", async () => {
  const quota = openQuota(1);
  const [busy, waiting] = [managedPool(quota, 1), managedPool(quota, 1)];
  const leaves = [await busy.enter()];
  let entered = 0;
  const turn = waiting.enter().then((leave) => {
    entered++;
    leave();
  });
  // It is never idle, and yet the other gets its turn, and it gets its own back.
  for (let i = 0; i < 200 && entered === 0; i++) {
    const next = busy.enter().then((leave) => leaves.push(leave));
    leaves.shift()!();
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (leaves.length === 0) await next;
  }
  await turn;
  equal(entered, 1);
  deepEqual(waiting.told[0], "open 1");
  (await busy.enter())();
  deepEqual(busy.told.slice(0, 3), ["open 1", "close", "open 1"]);
});

Deno.test("a pool that cannot be opened says why, and takes nothing", async () => {
  const quota = openQuota(1);
  const broken = quota.admit({
    max: 1,
    open: () => {
      throw new TypeError("encrypted under another key");
    },
    close: () => Promise.resolve(),
  });
  await rejects(broken.enter(), /another key/);
  equal(quota.taken(), 0);
  await managedPool(quota, 1).enter();
});

Deno.test("a closed quota rejects waiting callers", async () => {
  const quota = openQuota(1);
  await managedPool(quota, 1).enter();
  const waiting = managedPool(quota, 1).enter();
  quota.close();
  await rejects(waiting, { name: "Contention" });
});

/**
 * A pool of each kind in every realm, seven for each connection that is left to them. More realms make no other test
 * of it: all at once they want so much of the processor that single statements reach their time limit on a busy machine.
 */
const REALMS = 12;
const CONNECTIONS = 14;
/** A connection that was ended is seen until its backend has gone, on a busy machine beside the next. */
const ENDING = 8;

Deno.test("12 realms at once work over 14 connections: reads, changes, moves, jobs, hash chains", async () => {
  await using own = await realmDatabase(REALMS);
  const env = { DATABASE_URL: own.url, DATABASE_CONNECTIONS: `${CONNECTIONS}` };
  await using first = await testRealm({ env });
  const realms = [first];
  // One by one: each is built in one long transaction, and they would wait for each other's locks.
  while (realms.length < REALMS) realms.push(await first.neighbour());
  const name = new URL(own.url).pathname.slice(1);
  await asSuperuser(`alter database ${name} connection limit ${CONNECTIONS + ENDING}`);
  const most = watchConnections(name);
  const failures: unknown[] = [];
  const options = {
    database: first.database,
    log: (level: string, message: string, details?: unknown) => {
      if (level === "warn" || level === "error") failures.push([message, details]);
    },
    chains: openChains(first.services.config.chains),
    signer: openSigner(first.services.config.masterKey!, Date.now),
    now: Date.now,
  };
  const runner = startRunner({ ...options, pollMs: 500 });
  const timetable = startTimetable({ ...options, rates: null });
  try {
    const ends = await Promise.allSettled(realms.map((realm) => workIn(realm)));
    deepEqual(ends.filter(({ status }) => status === "rejected"), []);
  } finally {
    await Promise.all([runner.stop(), timetable.stop()]);
    options.chains.close();
    for (const realm of realms) realm.leave();
  }
  const seen = await most.end();
  deepEqual(failures, []);
  ok(seen <= CONNECTIONS + ENDING, `${seen} connections`);
});

/** The usual work of a realm; two requests at a time. */
async function workIn(realm: TestRealm): Promise<void> {
  const { send } = realm.admin;
  const { name, account } = await realm.currency("10");
  const made = await Promise.all(
    [1, 2].map(() => send("POST", "/v1/accounts", { type: "virtual", asset: name })),
  );
  const [to] = made.map(({ body }) => body.id);
  await until(async () => (await send("GET", `/v1/accounts/${to}`)).body.enabled, 500);
  const move = { source: { account }, destination: { account: to }, value: "1" };
  const moved = await Promise.all([1, 2, 3].map(() => send("POST", "/v1/transactions", move)));
  deepEqual(moved.map(({ status }) => status), [201, 201, 201]);
  equal((await realm.balance(to)).total, "3");
  await until(async () => (await send("GET", "/v1/transactions/head")).body.unsealed === 0, 500);
}

/** Notes how many connections a database has at most. */
function watchConnections(name: string) {
  let most = 0;
  const ending = new AbortController();
  const watching = (async () => {
    const database = openDatabase({ url: superuserUrl(), prepare: true, parseJson: JSON.parse });
    while (!ending.signal.aborted) {
      const [{ n }] = await database.platform.sql`
        select count(*)::integer as n from pg_stat_activity
        where datname = ${name} and backend_type = 'client backend'`;
      most = Math.max(most, n);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await database.close();
  })();
  return {
    async end() {
      ending.abort();
      await watching;
      return most;
    },
  };
}

Deno.test("a process over its quota waits instead of failing, and nothing in use is cut off", async () => {
  await using own = await realmDatabase(6);
  await using first = await testRealm({
    env: { DATABASE_URL: own.url, DATABASE_CONNECTIONS: "10" },
  });
  const realms = [first];
  while (realms.length < 6) realms.push(await first.neighbour());
  // Two connections for six realms, each with a transaction that takes its time.
  const slept = await Promise.all(realms.map((realm) =>
    serializable(realm.pool, async (tx) => {
      await tx`select pg_sleep(0.2)`;
      const [{ schema }] = await tx`select current_schema() as schema`;
      return schema;
    })
  ));
  deepEqual(slept, realms.map((realm) => realm.made.realm.schema_name));
  ok(first.database.taken() <= 2);
  await reading(first.pool, (db) => db`select 1`);
  for (const realm of realms) realm.leave();
});
