import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { actingAs } from "../../db/database.ts";
import { locking, serializable } from "../../db/transaction.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { readMany } from "../../routes/http/execution.ts";
import type { Call } from "../../routes/http/route.ts";
import { openChargedWork } from "../../routes/http/charged_work.ts";
import { extendHashChain } from "../../workers/audit/hash_chain.ts";
import { type TestRealm, testRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";

/** The credits that a realm has left, in a process. */
const leftOf = ({ services }: Pick<TestRealm, "services">, { id }: TestRealm) =>
  services.limits.credits(services.realms.peek(id)!);

/** Does what reads a table, and keeps the table locked until a read of it has waited for more than half a second. */
async function whileLocked<T>(
  realm: TestRealm,
  table: string,
  work: () => Promise<T>,
  meanwhile: () => Promise<void> = () => Promise.resolve(),
): Promise<T> {
  const [locked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { database, made } = realm;
  const owner = actingAs(database.platform, { ...locationOf(made.realm), role: null });
  const held = serializable(owner, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`lock table ${tx(table)} in access exclusive mode`;
    locked.resolve();
    await over.promise;
  });
  await Promise.race([held, locked.promise]);
  let ended = false;
  const doing = work().finally(() => ended = true);
  await until(async () => {
    const [{ waits }] = await realm.database.platform.sql<{ waits: number }[]>`
      select count(*)::integer as waits from pg_locks l join pg_stat_activity a using (pid)
      where not l.granted and a.datname = current_database() and l.relation::regclass::text like ${`%${table}`}
        and l.waitstart < now() - interval '600 ms'`;
    return waits > 0 || ended;
  });
  await meanwhile().finally(over.resolve);
  await held;
  return await doing;
}

Deno.test("exports, statements, the trail and the chain of hashes cost credits by the time that the database works for them", async () => {
  await using realm = await testRealm({ tier: "pro" });
  const { account } = await realm.currency("1000");
  const get = (path: string) => async () => {
    const { status, text } = await realm.admin.send("GET", path);
    equal(status, 200, text);
  };
  const now = Date.now();
  const range = `format=csv&from=${now - 86_400_000}&to=${now + 86_400_000}`;
  await using other = realm.another();
  const statement = await other.app(
    new Request(`http://purser.test/v1/accounts/${account}/statement`, {
      headers: { "x-api-key": realm.admin.key },
    }),
    "127.0.0.1",
  );
  const cases: [name: string, table: string, work: () => Promise<unknown>, of?: typeof other][] = [
    ["an export", "transactions", get(`/v1/transactions/all?${range}`)],
    // Nothing of it but its extent is read before its reader takes it.
    ["a statement", "entries", () => statement.text(), other],
    ["the trail", "audit", get("/v1/audit?action=none")],
    ["the chain of hashes", "chain_head", get("/v1/transactions/verify")],
  ];
  for (const [name, table, work, process = realm] of cases) {
    const before = await leftOf(process, realm);
    await whileLocked(realm, table, work);
    const cost = before - await leftOf(process, realm);
    ok(cost >= (process === realm ? 3 : 2), `${name} cost ${cost}`);
  }
  // On a busy machine some take long: of many rounds one does not.
  const costs: number[] = [];
  while (!costs.includes(3) && costs.length < 50) {
    const before = await leftOf(realm, realm);
    for (const [, , work, of] of cases) if (of === undefined) await work();
    costs.push(before - await leftOf(realm, realm));
  }
  ok(costs.includes(3), `quick ones cost what a read costs, not ${costs}`);
});

Deno.test("a wait for the connections of others is no work that is charged", async () => {
  await using realm = await testRealm({ tier: "pro" });
  const { account } = await realm.currency("1000");
  const now = Date.now();
  const range = `format=csv&from=${now - 86_400_000}&to=${now + 86_400_000}`;
  const { pool } = (await realm.services.realms.find(realm.id))!;
  for (
    const path of [
      `/v1/transactions/all?${range}`,
      `/v1/accounts/${account}/statement`,
      "/v1/audit?action=none",
      "/v1/transactions/verify",
    ]
  ) {
    const costs: number[] = [];
    // On a busy machine the work itself may take long: of many rounds in one it does not.
    while (!costs.includes(1) && costs.length < 20) {
      const before = await leftOf(realm, realm);
      const others = Array.from(
        { length: 12 },
        async () => void await pool.sql`select pg_sleep(0.4)`,
      );
      equal((await realm.admin.send("GET", path)).status, 200);
      await Promise.all(others);
      costs.push(before - await leftOf(realm, realm));
    }
    ok(costs.includes(1), `${path} cost ${costs}`);
  }
});

Deno.test("who recomputes the chain keeps no table from others between its pages", async () => {
  await using realm = await testRealm();
  await realm.currency("1000");
  await extendHashChain(realm.pool, Date.now);
  const { database, made } = realm;
  const owner = actingAs(database.platform, { ...locationOf(made.realm), role: null });
  const free = () =>
    locking(
      owner,
      (tx) => tx`lock table chain_head in access exclusive mode nowait`.then(() => {}),
    );
  const verify = () => realm.admin.send("GET", "/v1/transactions/verify");
  const { status, body } = await whileLocked(realm, "chain_links", verify, free);
  deepEqual([status, body.valid], [200, true]);
});

Deno.test("a search that is given up between its statements costs credits by the time of all of them", async () => {
  await using realm = await testRealm({ tier: "pro" });
  const charged: number[] = [];
  const context = (await realm.services.realms.find(realm.id))!;
  const limits = {
    ...realm.services.limits,
    chargeWork: (_: unknown, { credits }: { credits: number }) => {
      charged.push(credits);
      return Promise.resolve({});
    },
  };
  const call = {
    services: { ...realm.services, limits },
    route: { status: 200 },
    actor: realm.admin.actor,
    realm: context,
    signal: () => new AbortController().signal,
    query: {},
  } as unknown as Call<unknown, unknown, unknown>;
  const over = Promise.withResolvers<void>();
  const ends: number[] = []; // of its statements
  let isGivenUp = false;
  const search = readMany(call, async (db) => {
    ends.push(performance.now());
    try {
      // Each ends in time.
      while (!isGivenUp) await db`select pg_sleep(1)`.then(() => ends.push(performance.now()));
    } finally {
      await over.promise;
    }
    return [];
  });
  try {
    await rejects(search, { name: "Contention" });
    isGivenUp = true;
    // The last may have ended since it was charged.
    const least = Math.floor((ends.at(-2)! - ends[0]) / 250);
    deepEqual([charged.length, charged[0] >= least], [1, true], `${charged} of ${least}`);
    ok(least > 4, "more than one statement");
    await new Promise((resolve) => setTimeout(resolve, 300)); // a credit's time, whenever its statement ends
  } finally {
    isGivenUp = true;
    over.resolve();
  }
  // What went on costs as well.
  await until(() => Promise.resolve(charged.length === 2));
});

Deno.test("work that runs is charged in whole credits, each once, and again where it could not be charged", async () => {
  const charged: number[] = [];
  let fails = false;
  const call = {
    services: {
      limits: {
        chargeWork(_: unknown, { credits }: { credits: number }) {
          if (fails) return Promise.reject(new Error("out of reach"));
          charged.push(credits);
          return Promise.resolve({ "x-credits-remaining": "7" });
        },
      },
    },
    actor: { scopes: [] },
    realm: {},
  } as unknown as Call<unknown, unknown, unknown>;
  const usage = openChargedWork(call);
  deepEqual(await usage.charge(), {});
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const sum = () => charged.reduce((all, one) => all + one, 0);
  const start = performance.now();
  for (let i = 0; i < 4; i++) await usage.timed(() => pause(70));
  const most = () => (performance.now() - start) / 250;
  ok(sum() >= 1 && sum() <= most(), "parts that cost less than a credit each cost one together");
  const over = Promise.withResolvers<void>();
  const running = usage.timed(() => over.promise);
  await pause(260);
  fails = true;
  deepEqual(await usage.charge(), {});
  fails = false;
  deepEqual(await usage.charge(), { "x-credits-remaining": "7" });
  const before = sum();
  ok(before >= 2, `${charged}`);
  await pause(260);
  over.resolve();
  await running;
  ok(sum() > before, "also what ends after the answer");
  ok(sum() <= most(), "each once");
});
