import { deepEqual, equal } from "node:assert/strict";
import { createLog, type Log } from "../../log.ts";
import { openChains } from "../../workers/chains/registry.ts";
import { openRatesGateway } from "../../workers/gateways/rates.ts";
import { openSigner } from "../../workers/keys/signer.ts";
import { PAGE_WAIT_MAX_MS, startTimetable } from "../../workers/schedule/timetable.ts";
import { rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { until } from "../support/eventually.ts";

const log = createLog({ level: "error", format: "pretty" });

function optionsOf(realm: TestRealm, now: () => number = Date.now) {
  const chains = openChains(realm.services.config.chains);
  const signer = openSigner(realm.services.config.masterKey!, now);
  return { database: realm.database, log, now, chains, signer, rates: null };
}

Deno.test("the timetable extends hash chains and expires blocks by itself", async () => {
  await using realm = await testRealm();
  const timetable = startTimetable(optionsOf(realm), { only: realm.id });
  try {
    const { account } = await realm.currency("10");
    const blocks = `/v1/accounts/${account}/blocks`;
    const id = crypto.randomUUID();
    await realm.command((tx) =>
      tx`insert into blocks (id, account, amount, expires_at)
        values (${id}, ${account}, 4, clock_timestamp() + interval '1 second')`, {
      lockLedger: true,
    });
    const head = async () => (await realm.admin.send("GET", "/v1/transactions/head")).body;
    await until(async () => (await head()).unsealed === 0);
    await until(async () =>
      (await realm.admin.send("GET", `${blocks}/${id}`)).body.status === "EXPIRED"
    );
    deepEqual(await realm.balance(account), { total: "10", available: "10" });
  } finally {
    await timetable.stop();
  }
});

Deno.test("drain() does due work and returns", async () => {
  await using realm = await testRealm();
  await realm.currency("10");
  const timetable = startTimetable(optionsOf(realm), { loop: false, only: realm.id });
  await timetable.drain(300_000);
  equal((await realm.admin.send("GET", "/v1/transactions/head")).body.unsealed, 0);
  await timetable.stop();
});

Deno.test("leased work is done by one of several processes, and again after its interval", async () => {
  await using realm = await testRealm();
  await rowsOf(
    realm,
    "insert into login_attempts (subject, updated_at) values ($1, now() - interval '2 days')",
    [crypto.randomUUID()],
  );
  const left = async () => (await rowsOf(realm, "select subject from login_attempts")).length;
  const rivals = [1, 2, 3].map(() =>
    startTimetable(optionsOf(realm), { loop: false, only: realm.id })
  );
  await Promise.all(rivals.map((rival) => rival.drain(300_000)));
  equal(await left(), 0);
  const leases = await rowsOf<{ name: string; later: boolean; free: boolean }>(
    realm,
    "select name, next_at > now() as later, until <= now() as free from leases " +
      "where name in ('copy rates', 'purge expired') order by name",
  );
  deepEqual(leases.map((row) => ({ ...row })), [
    { name: "copy rates", later: true, free: true },
    { name: "purge expired", later: true, free: true },
  ]);
  await Promise.all(rivals.map((rival) => rival.stop()));
});

Deno.test("drain() waits for slow work, although that delays no other realm", async () => {
  await using realm = await testRealm();
  const subject = crypto.randomUUID();
  await rowsOf(
    realm,
    "insert into login_attempts (subject, updated_at) values ($1, now() - interval '2 days')",
    [subject],
  );
  const timetable = startTimetable(optionsOf(realm), { loop: false, only: realm.id });
  let ended = false;
  let draining = Promise.resolve();
  await realm.pool.sql.begin(async (tx) => {
    await tx`set local idle_in_transaction_session_timeout = 0`;
    await tx`select from login_attempts where subject = ${subject} for update`;
    draining = timetable.drain(300_000).then(() => void (ended = true));
    await new Promise((resolve) => setTimeout(resolve, PAGE_WAIT_MAX_MS + 500));
    equal(ended, false);
  });
  await draining;
  deepEqual(await rowsOf(realm, "select from login_attempts"), []);
  await timetable.stop();
});

Deno.test("nothing that repeats fails, in the realm or in the installation", async () => {
  await using realm = await testRealm();
  await realm.database.platform.sql`delete from leases`;
  const failures: unknown[] = [];
  const log: Log = (level, message, details) => {
    if (level === "warn" || level === "error") failures.push({ message, ...details });
  };
  const timetable = startTimetable({ ...optionsOf(realm), log }, { loop: false, only: realm.id });
  await timetable.drain(300_000);
  await timetable.stop();
  deepEqual(failures, []);
});

Deno.test("rates are fetched once, kept for the installation and copied into the realms", async () => {
  await using realm = await testRealm();
  const asked: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    asked.push(new URL(request.url).pathname);
    return new Response(
      '{"bitcoin":{"usd":60123.456789012345678901,"eur":1e-7,"btc":1,"gbp":-1,"jpy":"9"},"x":3}',
    );
  });
  const rates = openRatesGateway(`http://127.0.0.1:${server.addr.port}/api/v3`);
  await realm.database.platform.sql`delete from leases where name = 'fetch rates'`;
  const timetable = startTimetable({ ...optionsOf(realm), rates }, { loop: false, only: realm.id });
  await timetable.drain(300_000);
  await timetable.stop();
  await server.shutdown();
  deepEqual(asked, ["/api/v3/simple/price"]);
  const read = async (query: string) =>
    (await realm.admin.send("GET", `/v1/rates?${query}`)).body.map(
      (row: { base: string; currency: string; rate: string; source: string }) =>
        `${row.base}/${row.currency} ${row.rate} ${row.source}`,
    );
  deepEqual(await read("base=BTC"), [
    "BTC/EUR 0.0000001 market",
    "BTC/USD 60123.456789012345678901 market",
  ]);
  deepEqual(await read("base=BBTC&currency=BTC"), ["BBTC/BTC 1 market"]);
});

Deno.test("how old a price is says the database's clock, not that of the process that fetches it", async () => {
  await using realm = await testRealm();
  await realm.database.platform.sql`delete from leases where name = 'fetch rates'`;
  const asked: number[] = [];
  const rates = {
    fetchPrices: (_: AbortSignal, at: number) => {
      asked.push(at);
      return Promise.resolve({ prices: [], contradicted: [] });
    },
  };
  const options = { ...optionsOf(realm), rates, now: () => Date.now() + 7_200_000 };
  const timetable = startTimetable(options, { loop: false, only: realm.id });
  await timetable.drain(300_000);
  await timetable.stop();
  deepEqual(asked.map((at) => Math.abs(at - Date.now()) < 3_600_000), [true]);
});

Deno.test("a price that leaps from one answer to the next counts when it is told an hour later, not at once", async () => {
  await using realm = await testRealm();
  const { sql } = realm.database.platform;
  await sql`delete from rates where base = 'BTC' and currency in ('SEK', 'NOK')`;
  const warned: unknown[] = [];
  const log: Log = (level, message, details) => {
    if (level === "warn") warned.push({ message, ...details });
  };
  let told = { sek: 1000, nok: 10 };
  const contradicted = ["7", "8"].map((rate) => ({ base: "BTC", currency: "DKK", rate }));
  const rates = {
    fetchPrices: () => {
      const prices = Object.entries(told).map(([currency, rate]) => ({
        ...{ base: "BTC", currency: currency.toUpperCase(), rate: `${rate}` },
      }));
      return Promise.resolve({ prices, contradicted: contradicted.splice(0) });
    },
  };
  const fetched = async (sek: number, nok: number) => {
    told = { sek, nok };
    await sql`delete from leases where name = 'fetch rates'`;
    const options = { ...optionsOf(realm), log, rates };
    const timetable = startTimetable(options, { loop: false, only: realm.id });
    await timetable.drain(300_000);
    await timetable.stop();
    const read = async (currency: string) =>
      (await realm.admin.send("GET", `/v1/rates?base=BTC&currency=${currency}`)).body[0].rate;
    return [await read("SEK"), await read("NOK")];
  };
  deepEqual(await fetched(1000, 10), ["1000", "10"]);
  deepEqual(await fetched(9999, 1), ["9999", "10"]);
  deepEqual(await fetched(1000, 100), ["1000", "10"]);
  const far = "prices far from the last ones are not taken";
  const message = "prices that others of their answer contradict are not taken";
  deepEqual(warned, [
    { message, pair: "BTC/DKK", rate: "7", others: 1 },
    { message: far, pair: "BTC/NOK", rate: "1", others: 0 },
    { message: far, pair: "BTC/NOK", rate: "100", others: 0 },
  ]);
  await sql`update rates set updated_at = updated_at - interval '61 minutes' where currency = 'NOK'`;
  deepEqual(await fetched(1000, 100), ["1000", "100"]);
  // What the operator has set meanwhile holds against a source that errs, and gives way to one that does not.
  await sql`update rates set rate = 1, source = 'operator', updated_at = now() where currency = 'NOK'`;
  await fetched(1000, 100);
  const [set] = await sql`select rate, source from rates where base = 'BTC' and currency = 'NOK'`;
  deepEqual({ ...set }, { rate: "1", source: "operator" });
  deepEqual(await fetched(1000, 2), ["1000", "2"]);
});

Deno.test("a price source that fails, lies or floods is refused", async () => {
  const answers: Response[] = [
    new Response("no", { status: 500 }),
    new Response("{}"),
    new Response("[1]"),
    new Response("not json"),
    new Response(`{"bitcoin":{"usd":1},"x":"${"y".repeat(2_000_000)}"}`),
    new Response(null, { status: 302, headers: { location: "http://127.0.0.1:1/" } }),
  ];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    () => answers.shift()!,
  );
  const gateway = openRatesGateway(`http://127.0.0.1:${server.addr.port}`);
  while (answers.length > 0) {
    const left = answers.length;
    const outcome = await gateway.fetchPrices(new AbortController().signal, Date.now())
      .then(() => "an answer", () => "refused");
    equal(outcome, "refused", `answer ${left} from the end`);
  }
  await server.shutdown();
});
