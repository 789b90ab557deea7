/** Jobs that wait for exchanges: how their slots are shared out among users, and accounts at exchanges. */
import { deepEqual, equal } from "node:assert/strict";
import { selectDueRamps } from "../../db/exchanges/external_ramps.ts";
import { selectDueTransfers } from "../../db/exchanges/ramp_transfers.ts";
import { insertJob, markDone } from "../../db/jobs.ts";
import { claimDueJobs, claimJobs } from "../../db/jobs/claims.ts";
import { selectDatabaseTime } from "../../db/health.ts";
import { locking } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import { startRunner } from "../../workers/jobs/runner.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { realmDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { openTestExchanges } from "../support/exchange_fixture.ts";
import { EXCHANGE_KEY } from "../support/exchange_server.ts";
import type { ExchangeGateway, Exchanges } from "../../workers/exchange_gateway.ts";
import { rowsOf, type TestRealm, testRealm, type TestUser } from "../support/realm.ts";

async function add(realm: TestRealm, share: string | null, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const id = newId(Date.now());
    await realm.command((tx) =>
      insertJob(tx, { id, name: "exchange.check", payload: { ramp: id }, dedupe: id, share })
    );
  }
}

Deno.test("claims of jobs for exchanges go round the users, and round the accounts of each", async () => {
  await using realm = await testRealm();
  const claim = async (exchanges: number) => {
    const jobs = await claimJobs(realm.pool.sql, 60, { limit: 0, except: [], exchanges });
    const rows = await rowsOf<{ id: string; share: string | null }>(
      realm,
      "select id, share from jobs where id = any ($1::uuid[])",
      [jobs.map(({ id }) => id)],
    );
    const shares = rows.map(({ share }) => share ?? "").sort();
    return { jobs, shares };
  };
  for (let i = 0; i < 8; i++) await add(realm, `hog/${i}`, 3);
  await add(realm, "ada/a", 4);
  await add(realm, "bob/b", 1);
  await add(realm, null, 3); // without a share, which the table allows
  const first = await claim(4);
  deepEqual(first.shares, ["", "ada/a", "bob/b", "hog/0"]);
  const second = await claim(100);
  const of = (shares: string[], owner: string) =>
    shares.filter((one) => one.startsWith(`${owner}/`));
  equal(of(second.shares, "hog").length, 4, "one user has five at once");
  equal(new Set(of(second.shares, "hog")).size, 4, "of as many accounts");
  deepEqual(of(second.shares, "ada"), [], "one account has one at once");
  deepEqual((await claim(100)).shares, []);
  for (const job of first.jobs) await markDone(realm.pool.sql, job);
  deepEqual((await claim(2)).shares.map((one) => one.split("/")[0]), ["", "ada"]);
});

Deno.test("of one account at an exchange one job runs, whichever users ordered it and whichever workers claim at once", async () => {
  await using realm = await testRealm();
  await add(realm, "ada/1", 2);
  await add(realm, "bob/1", 2);
  const limits = { limit: 5, except: [], exchanges: 5 };
  const claim = () => claimDueJobs(realm.pool, 60, limits);
  const hauls = await Promise.all([claim(), claim(), claim()]);
  equal(hauls.flat().length, 1);
  await markDone(realm.pool.sql, hauls.flat()[0]);
  // A worker whose claim is not committed yet has another job than the oldest, which alone is seen to be due here.
  const other = newId(Date.now());
  await realm.command((tx) => insertJob(tx, { id: other, name: "test.job", payload: {} }));
  const claimed = Promise.withResolvers<number>();
  const committed = Promise.withResolvers<void>();
  const rival = locking(realm.pool, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    const [{ pid }] = await tx`select pg_backend_pid() as pid`;
    await tx`update jobs set state = 'running', attempts = 1
      where id = (select max(id::text)::uuid from jobs where name = 'exchange.check')`;
    claimed.resolve(pid);
    await committed.promise;
  });
  const pid = await claimed.promise;
  const mine = claim();
  await until(async () => {
    const [{ waits }] = await rowsOf<{ waits: boolean }>(
      realm,
      "select exists (select from pg_locks where not granted and $1 = any (pg_blocking_pids(pid))) as waits",
      [pid],
    );
    return waits;
  });
  committed.resolve();
  await rival;
  deepEqual((await mine).map(({ id }) => id), [other]);
});

Deno.test("two workers that do jobs of one account at an exchange ask it nothing at once", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const exchanges = openTestExchanges(realm, {});
  await exchanges.keys.ensureKey({ realm: realm.id, pool: realm.pool });
  const ramp = await addRecord(realm.admin);
  const share = `${realm.admin.id}/${ramp}`;
  for (let i = 0; i < 12; i++) {
    await realm.command((tx) =>
      insertJob(tx, { id: newId(Date.now()), name: "exchange.check", payload: { ramp }, share })
    );
  }
  let [calls, atOnce, most] = [0, 0, 0];
  const gateway: ExchangeGateway = {
    ...exchanges.gateway,
    async currencies() {
      calls++;
      most = Math.max(most, ++atOnce);
      await selectDatabaseTime(realm.pool.sql); // others have time to begin
      atOnce--;
      return [];
    },
  };
  const runners = [0, 1].map(() => startTestRunner(realm, { ...exchanges, gateway }));
  await until(() => calls === 13);
  equal(most, 1);
  await Promise.all(runners.map((runner) => runner[Symbol.asyncDispose]()));
  exchanges.gateway.close();
});

Deno.test("what is due at exchanges is scheduled in turn of each owner", async () => {
  await using realm = await testRealm();
  const exchanges = openTestExchanges(realm, {});
  await exchanges.keys.ensureKey({ realm: realm.id, pool: realm.pool });
  const ada = await realm.user({ role: "manage" });
  const record = (identity: string) => ({
    ...{ ramp: "binance", identity, authentication: EXCHANGE_KEY },
  });
  for (let i = 0; i < 5; i++) {
    equal((await realm.admin.send("POST", "/v1/ramps", record(realm.admin.identity))).status, 201);
  }
  equal((await ada.send("POST", "/v1/ramps", record(ada.identity))).status, 201);
  const due = await selectDueRamps(realm.pool.sql, Date.now() + 1000, 2);
  deepEqual(new Set(due.map(({ owner }) => owner)), new Set([realm.admin.id, ada.id]));
  deepEqual(await selectDueTransfers(realm.pool.sql, Date.now() + 1000, 2), []);
  exchanges.gateway.close();
});

/** A runner whose calls to exchanges hang, aside from those of one user; `hanging` is told of each that begins. */
function startHanging(
  realm: TestRealm,
  of: { exchanges: Exchanges; answered: string; hanging: (owner: string) => void },
) {
  const { exchanges, answered, hanging } = of;
  const held = Promise.withResolvers<never>();
  held.promise.catch(() => {});
  const gateway = {
    ...exchanges.gateway,
    currencies: ({ owner }: { owner: string }) => {
      if (owner === answered) return Promise.resolve([]);
      hanging(owner);
      return held.promise;
    },
  };
  const runner = startTestRunner(realm, { ...exchanges, gateway });
  return {
    async [Symbol.asyncDispose]() {
      held.reject(new Error("the exchanges have come to life"));
      await runner[Symbol.asyncDispose]();
      exchanges.gateway.close();
    },
  };
}

function startTestRunner(realm: TestRealm, exchanges: Exchanges): AsyncDisposable {
  const { config } = realm.services;
  const chains = openChains(config.chains);
  const runner = startRunner({
    ...{ database: realm.database, log: () => {}, chains, now: Date.now, pollMs: 200 },
    signer: openSigner(config.masterKey!, Date.now),
    exchanges,
  });
  return {
    async [Symbol.asyncDispose]() {
      await runner.stop();
      chains.close();
    },
  };
}

const addRecord = async ({ send, identity }: TestUser) => {
  const record = { ramp: "binance", identity, authentication: EXCHANGE_KEY };
  const { status, body, text } = await send("POST", "/v1/ramps", record);
  equal(status, 201, text);
  return body.id as string;
};

Deno.test("a user whose exchanges all hang keeps the checks of no other user waiting", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const exchanges = openTestExchanges(realm, {});
  await exchanges.keys.ensureKey({ realm: realm.id, pool: realm.pool });
  const ada = await realm.user({ role: "manage" });
  let count = 0;
  const hanging = () => void count++;
  await using _runner = startHanging(realm, {
    ...{ exchanges, answered: `${realm.id}/${ada.id}`, hanging },
  });
  for (let i = 0; i < 12; i++) await addRecord(realm.admin);
  await until(() => count >= 5);
  for (let i = 0; i < 4; i++) {
    const id = await addRecord(ada);
    await until(async () => (await ada.send("GET", `/v1/ramps/${id}`)).body.status === "READY");
  }
  equal(count, 5);
});

Deno.test("where exchanges hang in many realms, each has one job for them, and other work goes on", async () => {
  await using own = await realmDatabase(6);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const exchanges = openTestExchanges(realm, {});
  await using stack = new AsyncDisposableStack();
  const counts = new Map<string, number>();
  const hanging = (owner: string) => {
    const [id] = owner.split("/");
    counts.set(id, (counts.get(id) ?? 0) + 1);
  };
  const total = () => [...counts.values()].reduce((sum, one) => sum + one, 0);
  const realms = [realm];
  for (let i = 0; i < 5; i++) realms.push(stack.use(await realm.neighbour()));
  stack.use(startHanging(realm, { exchanges, answered: "", hanging }));
  const fill = async (one: TestRealm) => {
    await exchanges.keys.ensureKey({ realm: one.id, pool: one.pool });
    const before = total();
    for (let i = 0; i < 6; i++) await addRecord(one.admin);
    const user = await one.user({ role: "manage" });
    for (let i = 0; i < 6; i++) await addRecord(user);
    return before;
  };
  const last = realms.pop()!;
  for (const one of realms) {
    const before = await fill(one);
    await until(() => total() === before + 8);
  }
  await fill(last);
  await until(() => counts.get(last.id) === 1);
  const { name } = await last.currency("10");
  const made = await last.admin.send("POST", "/v1/accounts", { type: "virtual", asset: name });
  await until(async () => {
    return (await last.admin.send("GET", `/v1/accounts/${made.body.id}`)).body.enabled;
  });
  equal(counts.get(last.id), 1);
});
