import { deepEqual, equal, ok } from "node:assert/strict";
import { keepMeasurement } from "../../domain/realms/measurements.ts";
import { openDatabase } from "../../db/database.ts";
import { serializable } from "../../db/transaction.ts";
import { createApp } from "../../routes/http/app.ts";
import { keepNetworksKnown } from "../../routes/http/health.ts";
import { asSuperuser, realmDatabase } from "../support/database.ts";
import { PLATFORM_KEY, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";
import { patientProbes } from "../support/held_timers.ts";

/** Asks a process of its own, so that nothing is remembered from before. */
async function ready(realm: TestRealm, aheadMs = 0, env: Record<string, string> = {}) {
  const of = { DATABASE_URL: realm.services.config.databaseUrl!, ...env };
  await using other = realm.another(of);
  const now = () => Date.now() + aheadMs;
  const app = createApp({ ...other.services, now }, PLATFORM_KEY);
  using _held = patientProbes();
  const response = await app(new Request("http://purser.test/health/ready"), "127.0.0.1");
  return { status: response.status, body: await response.json() };
}

Deno.test("GET /health/ready is 503 while the server takes no writes, though it answers reads", async () => {
  await using own = await realmDatabase();
  const name = new URL(own.url).pathname.slice(1);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  equal((await ready(realm)).status, 200);
  await asSuperuser(`alter database ${name} set default_transaction_read_only = on`);
  const standby = await ready(realm);
  deepEqual([standby.status, standby.body.checks.database.writable], [503, false]);
  await asSuperuser(`alter database ${name} reset default_transaction_read_only`);
  await until(async () => (await ready(realm)).status === 200);
});

Deno.test("writes to a server that takes none are 503, and served again when it does", async () => {
  await using own = await realmDatabase();
  const name = new URL(own.url).pathname.slice(1);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { account, name: asset } = await realm.currency("10");
  const other = await realm.account({ asset });
  const move = { source: { account }, destination: { account: other }, value: "1" };
  const disconnect = `select pg_terminate_backend(pid) from pg_stat_activity
    where datname = '${name}' and pid <> pg_backend_pid()`;
  await asSuperuser(`alter database ${name} set default_transaction_read_only = on`);
  await asSuperuser(disconnect);
  const refused: number[] = [];
  for (const [path, body] of [["/v1/transactions", move], ["/v1/identities", {}]] as const) {
    const answer = await realm.admin.send("POST", path, body);
    refused.push(answer.status);
    equal(answer.body.code, "service.overloaded");
  }
  deepEqual(refused, [503, 503]);
  await asSuperuser(`alter database ${name} reset default_transaction_read_only`);
  for (const [path, body] of [["/v1/transactions", move], ["/v1/identities", {}]] as const) {
    await until(async () => (await realm.admin.send("POST", path, body)).status === 201);
  }
});

Deno.test("GET /health/ready is 503 for a process whose clock is more than a second off, and says by how much", async () => {
  await using realm = await testRealm();
  for (const off of [-90_000, 90_000]) {
    const { status, body } = await ready(realm, off);
    equal(status, 503);
    const { clock_ahead_ms } = body.checks.database;
    equal(Math.sign(clock_ahead_ms), Math.sign(off));
    equal(Math.abs(clock_ahead_ms) > 60_000, true);
  }
  const { status, body } = await ready(realm);
  deepEqual([status, body.checks.database.clock_ahead_ms], [200, 0]);
});

Deno.test("a node that was never reached makes the service degraded, not unready, once a ramp needs it, and so does one that went away", async () => {
  await using own = await realmDatabase();
  const env = { ETHEREUM_RPC_URL: "http://127.0.0.1:1" };
  await using realm = await testRealm({ env: { ...env, DATABASE_URL: own.url } });
  const told = async () => {
    await keepMeasurement(realm.database.platform, { id: realm.id, pool: realm.pool });
    const { status, body } = await ready(realm, 0, env);
    const { quarantined, ...main } = body.checks.chains.ETHEREUM.main;
    equal(quarantined, 0);
    return { answer: [status, body.status], ...main };
  };
  const listed = async () => {
    const [{ healthy, error }] = (await realm.admin.send("GET", "/v1/chains")).body;
    return [healthy, error];
  };
  const never = { height: null, scanned: null, lag: null };
  deepEqual(await told(), { answer: [200, "ok"], ...never, healthy: null });
  deepEqual(await listed(), [null, null]);
  const ramp = { type: "ramp", asset: "ETH" };
  equal((await realm.admin.send("POST", "/v1/accounts", ramp)).status, 201);
  deepEqual(await told(), { answer: [200, "ok"], ...never, healthy: null }, "it has just begun");
  await rowsOf(realm, "update ramps set created_at = created_at - interval '2 minutes'");
  deepEqual(await told(), { answer: [200, "degraded"], ...never, healthy: false });
  deepEqual(await listed(), [false, "no node has been reached yet"]);
  await rowsOf(
    realm,
    `insert into chain_cursors (chain, network, height, hash, head, scanned_at, created_at)
     values ('ETHEREUM', 'main', 90, '0x', 100, now(), now())`,
  );
  const reached = { height: 100, scanned: 90, lag: 10 };
  deepEqual(await told(), { answer: [200, "ok"], ...reached, healthy: true });
  deepEqual(await listed(), [true, null]);
  await rowsOf(realm, "update chain_cursors set error = 'away'");
  deepEqual(await told(), { answer: [200, "degraded"], ...reached, healthy: false });
  await rowsOf(realm, "update chain_cursors set error = null");
  equal((await told()).healthy, true);
  await rowsOf(realm, "update chain_cursors set scanned_at = now() - interval '11 minutes'");
  deepEqual(await told(), { answer: [200, "degraded"], ...reached, healthy: false });
});

Deno.test("a network that nothing is left on is read no more, and makes no service degraded; many assets keep no network untold", async () => {
  await using own = await realmDatabase();
  const env = { ETHEREUM_RPC_URL: "http://127.0.0.1:1" };
  await using realm = await testRealm({ env: { ...env, DATABASE_URL: own.url } });
  const told = async () => {
    await keepMeasurement(realm.database.platform, { id: realm.id, pool: realm.pool });
    const { body } = await ready(realm, 0, env);
    return [body.status, body.checks.chains.ETHEREUM.main.healthy];
  };
  await rowsOf(
    realm,
    `insert into chain_cursors (chain, network, height, hash, head, scanned_at, created_at)
     values ('ETHEREUM', 'main', 90, '0x', 100, now() - interval '11 minutes', now())`,
  );
  deepEqual(await told(), ["ok", null]);
  const account = await realm.account({ asset: "ETH" });
  const path = `/v1/accounts/${account}/assign/0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed`;
  equal((await realm.admin.send("POST", path)).status, 200);
  deepEqual(await told(), ["degraded", false]);
  await rowsOf(
    realm,
    `insert into solvency (asset, testnet, assets, height, liabilities, fees, pending, sending, drift, solvent, stopped,
       provisional, checked_at)
     select 'T' || n, false, 0, 1, 0, 0, 0, 0, 0, true, false, false, now() from generate_series(1, 2000) n`,
  );
  deepEqual(await told(), ["degraded", false]);
  equal((await realm.admin.send("DELETE", path)).status, 200);
  deepEqual(await told(), ["ok", null]);
});

Deno.test("a network that linked addresses alone need, and whose nodes were never reached, makes the service degraded", async () => {
  await using own = await realmDatabase();
  const env = { ETHEREUM_RPC_URL: "http://127.0.0.1:1" };
  await using realm = await testRealm({ env: { ...env, DATABASE_URL: own.url } });
  const told = async () => {
    await keepMeasurement(realm.database.platform, { id: realm.id, pool: realm.pool });
    const { body } = await ready(realm, 0, env);
    return [body.status, body.checks.chains.ETHEREUM.main.healthy];
  };
  const account = await realm.account({ asset: "ETH" });
  const path = `/v1/accounts/${account}/assign/0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed`;
  equal((await realm.admin.send("POST", path)).status, 200);
  deepEqual(await told(), ["ok", null], "it has just begun");
  await rowsOf(
    realm,
    "update external_addresses set created_at = created_at - interval '2 minutes'",
  );
  deepEqual(await told(), ["degraded", false]);
  equal((await realm.admin.send("DELETE", path)).status, 200);
  deepEqual(await told(), ["ok", null]);
});

Deno.test("while measurements cannot be read, what was read of the networks before is told with its age, and no longer as healthy after ten minutes", async () => {
  await using own = await realmDatabase();
  const env = { ETHEREUM_RPC_URL: "http://127.0.0.1:1" };
  await using realm = await testRealm({ env: { ...env, DATABASE_URL: own.url } });
  await realm.admin.send("POST", "/v1/accounts", { type: "ramp", asset: "ETH" });
  await rowsOf(
    realm,
    `insert into chain_cursors (chain, network, height, hash, head, scanned_at, created_at)
     values ('ETHEREUM', 'main', 90, '0x', 100, now(), now())`,
  );
  await keepMeasurement(realm.database.platform, { id: realm.id, pool: realm.pool });
  await using other = realm.another({ DATABASE_URL: own.url, ...env });
  let aheadMs = 0;
  const appOf = ({ services }: typeof other) =>
    createApp({ ...services, now: () => Date.now() + aheadMs }, PLATFORM_KEY);
  const app = appOf(other);
  const told = async (asked = app) => {
    const answer = await asked(new Request("http://purser.test/health/ready"), "127.0.0.1");
    const { status, checks: { chains, chains_age_s } } = await answer.json();
    const { ETHEREUM: { main: { healthy, height } } = { main: {} } } = chains;
    return { answer: [answer.status, status], healthy, height, age: chains_age_s };
  };
  const { age, ...read } = await told();
  deepEqual(read, { answer: [200, "ok"], healthy: true, height: 100 });
  ok(age < 30, `${age} s`);
  const held = await holdMeasurements(own.superuserUrl);
  // A clock that is ahead makes a process unready; what it tells of networks is looked at.
  const at = async (s: number) => {
    aheadMs = s * 1000;
    const { healthy, height, age } = await told();
    return { healthy, height, isSoOld: age >= s && age < s + 30 };
  };
  deepEqual(await at(590), { healthy: true, height: 100, isSoOld: true });
  deepEqual(await at(620), { healthy: false, height: 100, isSoOld: true });
  aheadMs = 0;
  await using fresh = realm.another({ DATABASE_URL: own.url, ...env });
  const never = { answer: [200, "degraded"], healthy: undefined, height: undefined, age: null };
  deepEqual(await told(appOf(fresh)), never, "a process that has read nothing yet says so");
  await held[Symbol.asyncDispose]();
  aheadMs = 700_000;
  await until(async () => (await told()).age < 30);
  const { healthy } = await told();
  equal(healthy, true);
});

Deno.test("networks are known where nobody has asked for long and reading them takes longer than an answer may", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using other = realm.another({ DATABASE_URL: own.url });
  let aheadMs = 0;
  const services = { ...other.services, now: () => Date.now() + aheadMs };
  const app = createApp(services, PLATFORM_KEY);
  using _kept = { [Symbol.dispose]: keepNetworksKnown(services, 20) };
  await until(async () => {
    aheadMs += 700_000; // nobody asked meanwhile
    await rowsOf(realm, "select pg_sleep(0.2)");
    await using _slow = await holdMeasurements(own.superuserUrl);
    const answer = await app(new Request("http://purser.test/health/ready"), "127.0.0.1");
    const { chains_age_s } = (await answer.json()).checks;
    return chains_age_s !== null && chains_age_s < 60;
  }, 10);
});

/** Keeps everybody from reading what workers measured, until it is disposed of. */
async function holdMeasurements(superuserUrl: string): Promise<AsyncDisposable> {
  const superuser = openDatabase({ url: superuserUrl, prepare: true, parseJson: JSON.parse });
  const [locked, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const held = serializable(superuser.platform, async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`lock table platform.realm_measurements in access exclusive mode`;
    locked.resolve();
    await over.promise;
  });
  await Promise.race([held, locked.promise]);
  return {
    async [Symbol.asyncDispose]() {
      over.resolve();
      await held;
      await superuser.close();
    },
  };
}
