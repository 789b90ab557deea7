import { deepEqual, equal, ok } from "node:assert/strict";
import postgres from "postgres";
import type { Log } from "../../log.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { startRunner } from "../../workers/jobs/runner.ts";
import { claimsLeft } from "../../workers/jobs/shares.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { realmDatabase } from "../support/database.ts";
import { openTestExchanges } from "../support/exchange_fixture.ts";
import { EXCHANGE_KEY } from "../support/exchange_server.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { startFaultyNode } from "../support/nodes/faulty_node.ts";
import { until } from "../support/eventually.ts";

function optionsOf(realm: TestRealm, log: Log = () => {}) {
  const { config } = realm.services;
  const chains = openChains(config.chains);
  const signer = openSigner(config.masterKey!, Date.now);
  return { database: realm.database, log, chains, signer, now: Date.now, pollMs: 200 };
}

/** How often a claim ends, each time with another moment of a wake-up. */
const ENDS_TRIED = 20;

async function virtual(realm: TestRealm, asset: string): Promise<string> {
  const made = await realm.admin.send("POST", "/v1/accounts", { type: "virtual", asset });
  equal(made.status, 201, made.text);
  return made.body.id;
}

async function isEnabled(realm: TestRealm, id: string): Promise<boolean> {
  return (await realm.admin.send("GET", `/v1/accounts/${id}`)).body.enabled;
}

async function jobsOf(realm: TestRealm): Promise<string[]> {
  const rows = await rowsOf<{ name: string; state: string; n: number }>(
    realm,
    `select name, state, count(*)::integer as n from jobs group by name, state
      order by name, state`,
  );
  return rows.map((row) => `${row.n} ${row.name} ${row.state}`);
}

Deno.test("jobs that wait for a stalled node delay no other job, of their realm or of another", async () => {
  await using own = await realmDatabase();
  const faulty = startFaultyNode(null);
  const stall = faulty.stall();
  const env = {
    DATABASE_URL: own.url,
    ETHEREUM_RPC_URL: faulty.url,
    ETHEREUM_TIMEOUT_MS: "60000",
  };
  await using realm = await testRealm({ env });
  await using neighbour = await realm.neighbour();
  for (let i = 0; i < 30; i++) {
    await realm.admin.send("POST", "/v1/accounts", { type: "ramp", asset: "ETH" });
  }
  const options = optionsOf(realm);
  const runner = startRunner(options);
  try {
    await stall.reached;
    const { name } = await realm.currency("10");
    const mine = await virtual(realm, name);
    const theirs = await virtual(neighbour, (await neighbour.currency("10")).name);
    await until(async () => await isEnabled(realm, mine) && await isEnabled(neighbour, theirs));
    // As many of one kind as there may be: the rest still waits for its turn.
    await until(async () =>
      (await jobsOf(realm)).join() ===
        "1 account.enable done,15 ramp.open ready,15 ramp.open running"
    );
  } finally {
    options.chains.close();
    await runner.stop();
    await faulty.abort();
  }
  const states = await rowsOf<{ state: string }>(realm, "select distinct state from jobs");
  ok(states.every(({ state }) => state !== "running"), "stop() leaves nothing claimed");
});

Deno.test("a caller whose exchanges and messages wait for slow services keeps no other job of its realm waiting", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const held = Promise.withResolvers<never>();
  held.promise.catch(() => {});
  let waiting = 0;
  const wait = () => {
    waiting++;
    return held.promise;
  };
  const exchanges = openTestExchanges(realm, {});
  await exchanges.keys.ensureKey({ realm: realm.id, pool: realm.pool });
  const { secrets } = realm.services;
  const options = {
    ...optionsOf(realm),
    exchanges: { ...exchanges, gateway: { ...exchanges.gateway, currencies: wait } },
    messaging: {
      ...{ secrets, gatewayOf: () => ({ send: wait }), isHeld: () => false },
      ...{ ttlMs: 3_600_000, close: () => {} },
    },
  };
  const { send, identity } = realm.admin;
  for (let i = 0; i < 15; i++) {
    const record = { ramp: "binance", identity, authentication: EXCHANGE_KEY };
    equal((await send("POST", "/v1/ramps", record)).status, 201);
  }
  for (let i = 0; i < 20; i++) {
    const message = { to: `ada${i}@example.com`, content: { subject: "Hello", text: "Hello" } };
    equal((await send("POST", "/v1/apps/message/email", message)).status, 201);
  }
  const runner = startRunner(options);
  try {
    await until(() => waiting >= 20);
    const { name } = await realm.currency("10");
    const account = await virtual(realm, name);
    await until(() => isEnabled(realm, account));
    deepEqual(
      (await jobsOf(realm)).filter((one) => /exchange|message/.test(one)),
      ["10 exchange.check ready", "5 exchange.check running"].concat(
        ["5 message.send ready", "15 message.send running"],
      ),
    );
  } finally {
    held.reject(new Error("the services have come to life"));
    await runner.stop();
    exchanges.gateway.close();
  }
});

Deno.test("the runner claims again as soon as a job has ended, without being woken", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const { name } = await realm.currency("10");
  for (let i = 0; i < 60; i++) await virtual(realm, name);
  const statements: string[] = [];
  await using process = realm.another({ DATABASE_URL: own.url }, (text) => statements.push(text));
  const runner = startRunner({
    ...optionsOf(realm),
    database: process.database,
    pollMs: 3_600_000,
  });
  try {
    await until(async () => (await jobsOf(realm)).join() === "60 account.enable done");
    const claims = () => statements.filter((text) => text.includes("update jobs set state = 'run"));
    await until(() => Promise.resolve(statements.length > 0));
    const count = claims().length;
    ok(count >= 4 && count <= 62, `${count} claims for 60 jobs, at most 15 at a time`);
  } finally {
    await runner.stop();
  }
});

Deno.test("an idle runner sends the realms nothing but its polls", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  const statements: string[] = [];
  await using process = realm.another({ DATABASE_URL: own.url }, (text) => statements.push(text));
  const runner = startRunner({ ...optionsOf(realm), database: process.database, pollMs: 20 });
  const passes = () => statements.filter((text) => text.includes("as due")).length;
  await until(() => Promise.resolve(passes() >= 5));
  await runner.stop();
  deepEqual(statements.filter((text) => text.includes("for update skip locked")), []);
});

Deno.test("a job whose lease ran out is done by another worker, and writes of the first no longer count", async () => {
  await using own = await realmDatabase();
  const faulty = startFaultyNode(null);
  const stall = faulty.stall();
  const env = {
    DATABASE_URL: own.url,
    ETHEREUM_RPC_URL: faulty.url,
    ETHEREUM_TIMEOUT_MS: "60000",
  };
  await using realm = await testRealm({ env });
  await realm.admin.send("POST", "/v1/accounts", { type: "ramp", asset: "ETH" });
  const options = { ...optionsOf(realm), leaseS: 9 };
  const runner = startRunner(options);
  const attempt = async () => {
    const [job] = await rowsOf<{ attempts: number; state: string }>(
      realm,
      "select attempts, state from jobs",
    );
    return `${job.state} ${job.attempts}`;
  };
  try {
    await stall.reached;
    const leases = new Set<string>();
    // It is prolonged as long as its worker lives.
    await until(async () => {
      const [{ at }] = await rowsOf<{ at: string }>(
        realm,
        "select locked_until::text as at from jobs",
      );
      return leases.add(at).size >= 2;
    });
    equal(await attempt(), "running 1");
    // As if the worker had been away: another took the job and ran it to its end.
    await rowsOf(realm, "update jobs set attempts = 2, state = 'done', finished_at = now()");
  } finally {
    options.chains.close();
    await runner.stop();
    await faulty.abort();
  }
  equal(await attempt(), "done 2");
});

Deno.test("drain() does all due work, and returns in its time from stalled work", async () => {
  await using own = await realmDatabase();
  const faulty = startFaultyNode(null);
  const stall = faulty.stall();
  const env = {
    DATABASE_URL: own.url,
    ETHEREUM_RPC_URL: faulty.url,
    ETHEREUM_TIMEOUT_MS: "400",
  };
  await using realm = await testRealm({ env });
  await realm.admin.send("POST", "/v1/accounts", { type: "ramp", asset: "ETH" });
  const { name } = await realm.currency("10");
  for (let i = 0; i < 30; i++) await virtual(realm, name);
  const options = optionsOf(realm);
  const runner = startRunner(options, { loop: false });
  const draining = runner.drain(30_000);
  await stall.reached;
  await until(async () => (await jobsOf(realm)).includes("30 account.enable done"));
  await draining;
  deepEqual(await jobsOf(realm), ["30 account.enable done", "1 ramp.open ready"]);
  options.chains.close();
  await runner.stop();
  await faulty.abort();
});

Deno.test("realms whose databases hang keep no other waiting", async () => {
  await using own = await realmDatabase(6);
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using neighbours = new AsyncDisposableStack();
  const hanging: TestRealm[] = [];
  for (let i = 0; i < 5; i++) hanging.push(neighbours.use(await realm.neighbour()));
  const { name } = await realm.currency("10");
  const logged: string[] = [];
  const log: Log = (_level, message, fields) => logged.push(`${message} ${fields?.work}`);
  await using process = realm.another({ DATABASE_URL: own.url });
  const runner = startRunner({
    ...{ ...optionsOf(realm, log), pollMs: 60_000 },
    database: process.database,
  });
  const holder = postgres(own.url, { max: 1, onnotice: () => {} });
  const schemas = await realm.database.platform.sql<{ schema_name: string }[]>`
    select schema_name from realms where id = any (${hanging.map(({ id }) => id)})`;
  const tables = schemas.map(({ schema_name }) => `"${schema_name}".jobs`).join(", ");
  try {
    await holder.unsafe(`begin; lock table ${tables} in access exclusive mode`);
    for (const { id } of hanging) runner.wake(id);
    const account = await virtual(realm, name);
    runner.wake(realm.id);
    await until(() => isEnabled(realm, account));
    deepEqual(logged.filter((line) => line.includes("claim")), [], "all others hang still");
  } finally {
    await holder.end({ timeout: 0 });
    await runner.stop();
  }
});

Deno.test("a realm that is woken at any moment while its claim ends is claimed again", async () => {
  await using realm = await testRealm();
  const { name } = await realm.currency("10");
  await realm.drain();
  const account = await virtual(realm, name);
  // The end of a claim takes several turns of microtasks; one wake-up falls into each of them.
  async function wakeAfter(turns: number) {
    for (let i = 0; i < turns; i++) await null;
    runner.wake(realm.id);
  }
  const waking: Promise<void>[] = [];
  let failures = 0;
  const working: TestRealm["database"]["working"] = (location) => {
    if (failures === ENDS_TRIED) return realm.database.working(location);
    waking.push(wakeAfter(failures++));
    throw new Error("the database is away");
  };
  const options = { ...optionsOf(realm), pollMs: 60_000 };
  const runner = startRunner({ ...options, database: { ...realm.database, working } });
  try {
    runner.wake(realm.id);
    await until(() => isEnabled(realm, account));
  } finally {
    await runner.stop();
    await Promise.all(waking);
  }
  equal(failures, ENDS_TRIED);
});

Deno.test("realms of a server where a claim is late share one place, and late claims hold none", () => {
  const at = (server: string, late = false) => ({ server, late });
  const hung = Array.from({ length: 9 }, () => at("hung", true));
  deepEqual([claimsLeft([], null), claimsLeft([], "hung")], [4, 4]);
  deepEqual([claimsLeft(hung, null), claimsLeft(hung, "well"), claimsLeft(hung, "hung")], [
    4,
    4,
    1,
  ]);
  const also = [...hung, at("other", true), at("other")];
  deepEqual([claimsLeft(also, "well"), claimsLeft(also, "hung"), claimsLeft(also, "other")], [
    3,
    0,
    0,
  ]);
  const full = Array.from({ length: 4 }, () => at("well"));
  deepEqual([claimsLeft(full, null), claimsLeft([...full, ...hung], "hung")], [0, 0]);
});

Deno.test("a realm whose database is away keeps no other waiting", async () => {
  await using own = await realmDatabase();
  await using realm = await testRealm({ env: { DATABASE_URL: own.url } });
  await using neighbour = await realm.neighbour();
  const ciphertext = realm.services.secrets.encrypt(
    "database_url",
    neighbour.id,
    "postgres://nobody:x@127.0.0.1:9/nowhere",
  );
  await realm.database.platform.sql`
    update realms set database_url_encrypted = ${ciphertext} where id = ${neighbour.id}`;
  const { name } = await realm.currency("10");
  const account = await virtual(realm, name);
  const failures: string[] = [];
  const log: Log = (_level, message) => failures.push(message);
  await using process = realm.another({ DATABASE_URL: own.url });
  const runner = startRunner({ ...optionsOf(realm, log), database: process.database });
  try {
    await until(() => isEnabled(realm, account));
    await until(() => Promise.resolve(failures.includes("runner task failed")));
  } finally {
    await runner.stop();
  }
});
