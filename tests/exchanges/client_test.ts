import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { readConfig } from "../../config.ts";
import { selectExchangeKey } from "../../db/exchanges/external_ramps.ts";
import { reading } from "../../db/transaction.ts";
import { amountOf, offersOf } from "../../domain/exchanges/exchange_assets.ts";
import { allExchanges } from "../../domain/exchanges/exchange_list.ts";
import {
  decryptWith,
  encryptFor,
  newKeyPair,
} from "../../domain/security/public_key_encryption.ts";
import { openExchangeGateway } from "../../workers/gateways/exchanges/gateway.ts";
import { reasonOf } from "../../workers/gateways/exchanges/wire.ts";
import { followExchanges } from "../../workers/exchanges/checks.ts";
import { workerContextOf } from "../support/evm_fixture.ts";
import { until } from "../support/eventually.ts";
import { openTestExchanges } from "../support/exchange_fixture.ts";
import { describeExchanges } from "../support/exchange_list.ts";
import { EXCHANGE_KEY, startExchange } from "../support/exchange_server.ts";
import { testRealm } from "../support/realm.ts";

const ACCOUNT = { id: "one", exchange: "binance", owner: "r/u", credentials: EXCHANGE_KEY };
const ETH = { currency: "ETH", network: "ETH" };

Deno.test("the list of exchanges is the client library's", async () => {
  deepEqual(allExchanges(), await describeExchanges());
});

Deno.test("the client library runs without rights but its exchange's address", async () => {
  await using exchange = startExchange();
  const gateway = openExchangeGateway({ urls: { binance: exchange.url } });
  try {
    const payment = { ...ETH, address: exchange.named.address, mark: "m1" };
    const paid = await gateway.withdraw(ACCOUNT, { ...payment, amount: "0.12345678" });
    ok(paid.reference);
    const since = Date.now() - 60_000;
    const of = { currency: "ETH", since, mark: "m1" };
    const [end] = await gateway.withdrawals(ACCOUNT, of);
    deepEqual([end.amount, end.fee, end.marked], ["0.12345678", "0.001", true]);
    // Figures that a double cannot hold keep their digits, as numbers too.
    const long = "123456789.12345678912345";
    exchange.deposits.push({
      ...{ id: "d", amount: long, coin: "ETH", network: "ETH", status: 1, address: "0x1" },
      ...{ txId: "0x2", insertTime: Date.now() },
    });
    equal((await gateway.deposits(ACCOUNT, of))[0].amount, long);
    exchange.instead = (request) =>
      request.endsWith("hisrec")
        ? new Response(
          `[{"id":"d","amount":${long},"coin":"ETH","status":1,"txId":"0x2","insertTime":${Date.now()}}]`,
        )
        : null;
    equal((await gateway.deposits(ACCOUNT, of))[0].amount, long);
  } finally {
    gateway.close();
  }
});

Deno.test("an exchange that answers too late, too much, elsewhere or nonsense fails as unknown", async () => {
  await using exchange = startExchange();
  const gateway = openExchangeGateway({ urls: { binance: exchange.url } });
  try {
    await gateway.currencies(ACCOUNT);
    const big = new Uint8Array(17 * 1024 * 1024).fill(32);
    const answers: [string, () => Response][] = [
      ["too much", () => new Response(big)],
      [
        "elsewhere",
        () => new Response(null, { status: 302, headers: { location: "http://[::1]/" } }),
      ],
      ["nonsense", () => new Response("<html>no</html>")],
      ["an error", () => new Response("{}", { status: 500 })],
    ];
    for (const [name, answer] of answers) {
      exchange.instead = (request) => request.endsWith("apply") ? answer() : null;
      const payment = { ...ETH, address: exchange.named.address, amount: "1", mark: "m" };
      await rejects(
        gateway.withdraw(ACCOUNT, payment),
        (error: { fault: string }) => {
          ok(["unknown", "timeout"].includes(error.fault), `${name}: ${error.fault}`);
          return true;
        },
      );
    }
  } finally {
    gateway.close();
  }
  const late = openExchangeGateway({ urls: { binance: exchange.url }, timeoutMs: 1 });
  await rejects(late.currencies(ACCOUNT), { name: "ExchangeError", fault: "timeout" });
  late.close();
});

Deno.test("a call that is late ends neither the thread nor the calls of others, an answer of too many parts is refused", async () => {
  await using exchange = startExchange();
  const gateway = openExchangeGateway({ urls: { binance: exchange.url }, timeoutMs: 10_000 });
  const other = { ...ACCOUNT, id: "other" };
  const of = { currency: "ETH", since: Date.now() - 60_000, mark: "m" };
  const lists = () => exchange.requests.filter((one) => one.endsWith("getall")).length;
  const release = Promise.withResolvers<null>();
  try {
    // A busy machine takes longer to load the client library than a call may take.
    await until(() => gateway.currencies(ACCOUNT).then(() => true, () => false));
    await until(() => gateway.currencies(other).then(() => true, () => false));
    const before = lists();
    let isFirst = true;
    exchange.instead = (request) => {
      if (!isFirst || !request.endsWith("hisrec")) return null;
      isFirst = false;
      return release.promise;
    };
    const late = rejects(gateway.deposits(ACCOUNT, of), {
      name: "ExchangeError",
      fault: "timeout",
    });
    await until(() => !isFirst);
    deepEqual(await gateway.deposits(other, of), []);
    const more = Array.from({ length: 6 }, () => gateway.withdrawals(ACCOUNT, of));
    const ends = await Promise.allSettled(more);
    ok(ends.some((one) => one.status === "rejected"), "an account has a few calls at once");
    await late;
    deepEqual(await gateway.deposits(other, of), []);
    equal(lists(), before, "the thread and its clients are those of before");
    release.resolve(null);
    exchange.instead = (request) =>
      request.endsWith("hisrec") ? new Response(`[${"{},".repeat(100_000)}{}]`) : null;
    await rejects(gateway.deposits(other, of), { name: "ExchangeError" });
    equal(lists(), before);
  } finally {
    release.resolve(null);
    gateway.close();
  }
});

Deno.test("odd figures, letters and memos of an exchange are told as what they are, or not at all", async () => {
  await using exchange = startExchange();
  const gateway = openExchangeGateway({ urls: { binance: exchange.url } });
  const of = { currency: "ETH", since: Date.now() - 60_000, mark: "m" };
  try {
    await until(() => gateway.currencies(ACCOUNT).then(() => true, () => false));
    const one = (id: string, amount: string, txId = "0x2") =>
      `{"id":${JSON.stringify(id)},"amount":${amount},"coin":"ETH","status":1,` +
      `"txId":${JSON.stringify(txId)},"insertTime":${Date.now()}}`;
    const told = [
      ...[one("a", "1e-7"), one("b", `"1e-7"`), one("c", "-1"), one("d", `"NaN"`)],
      ...[one("e", "null"), one("f\u0000g", "1"), one("h", "2", "0x\u202e2")],
    ];
    exchange.instead = (request) =>
      request.endsWith("hisrec") ? new Response(`[${told.join()}]`) : null;
    const ends = await gateway.deposits(ACCOUNT, of);
    const byId = (id: string) => ends.find(({ reference }) => reference === id)!;
    const amounts = ["a", "b", "c", "d", "e"].map((id) => amountOf(byId(id).amount));
    deepEqual(amounts, ["0.0000001", "0.0000001", null, null, null]);
    // A database takes no zero byte, and whoever reads a list is not to be led astray.
    deepEqual([ends.filter(({ reference }) => reference === null).length, byId("h").hash], [
      1,
      null,
    ]);
    exchange.instead = () => null;
    for (const tag of ["1".repeat(300), "\u0000"]) {
      exchange.named = { ...exchange.named, tag };
      ok((await gateway.depositAddress(ACCOUNT, ETH)).tag, "a memo, however odd, is one");
    }
  } finally {
    gateway.close();
  }
});

Deno.test("a reason of an exchange holds neither credentials, signatures nor addresses", () => {
  const credentials = { api_key: "KEY/with+signs", secret: "the secret" };
  const told = 'binance {"code":-1,"msg":"bad KEY/with+signs KEY%2Fwith%2Bsigns at ' +
    'https://api.example/x?signature=abcdef, signature=abcdef\\u0000 the secret"}';
  const reason = reasonOf(new Error(told), { exchange: "binance", credentials });
  equal(reason, "bad … … at … … …");
  const escaped = JSON.stringify({ msg: "bad KEY/with+signs" }).replace("/", "\\/");
  const hidden = reasonOf(new Error(escaped.replace("K", "\\u004b")), {
    ...{ exchange: "binance", credentials },
  });
  equal(hidden, "bad …");
});

Deno.test("only assets that fit by name, network and contract are offered, amounts are exact", () => {
  const network = (name: string, contract: string | null = null) => ({
    ...{ network: name, contract, takes: true, pays: true, minimum: "1e-8", fee: "-1" },
    ...{ leastTaken: "5e-4", step: "1e-8" },
  });
  const usdc = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";
  const offers = offersOf([
    { code: "BTC", networks: [network("BTC"), network("BEP20"), network("LIGHTNING")] },
    { code: "USDC", networks: [network("ERC20", usdc.toLowerCase()), network("ETH", usdc)] },
    { code: "LTC", networks: [network("LTC", usdc)] },
    { code: "DOGE", networks: [network("<b>DOGE")] },
  ]);
  deepEqual(offers.map(({ asset }) => asset), ["BTC"]);
  const [{ minimum, withdraw_minimum, fee, decimals }] = offers;
  deepEqual([minimum, withdraw_minimum, fee, decimals], ["0.00000001", "0.0005", null, 8]);
  const amounts = {
    ...{ "1": "1", "0.10": "0.1", "1e3": "1000", "12.5e1": "125", "1.0E-5": "0.00001" },
    ...{ "123e-2": "1.23", "00.1e1": "1", "9e99": null, "1e-78": null, "1e9999999999": null },
    ...{
      "-1": null,
      "-1e2": null,
      "e5": null,
      "1e": null,
      "NaN": null,
      "Infinity": null,
      "": null,
    },
  };
  for (const [given, exact] of Object.entries(amounts)) equal(amountOf(given), exact, given);
});

Deno.test("credentials encrypted for a key are opened by its holder, for their record, and by nobody else", async () => {
  const [pair, other] = [await newKeyPair(), await newKeyPair()];
  const text = JSON.stringify(EXCHANGE_KEY);
  const encrypted = await encryptFor(pair.publicKey, "realm|one", text);
  equal(await decryptWith(pair, "realm|one", encrypted), text);
  const again = await encryptFor(pair.publicKey, "realm|one", text);
  ok(encrypted.some((byte, at) => byte !== again[at]));
  const altered = encrypted.with(40, encrypted[40] ^ 1);
  await rejects(decryptWith(pair, "realm|two", encrypted), TypeError);
  await rejects(decryptWith(other, "realm|one", encrypted), TypeError);
  await rejects(decryptWith(pair, "realm|one", altered), TypeError);
  await rejects(decryptWith(pair, "realm|one", new Uint8Array(3)), TypeError);
});

Deno.test("before a worker has made the realm's key a record is refused, then taken; two workers make one", async () => {
  await using realm = await testRealm();
  const { send, identity } = realm.admin;
  const body = { ramp: "binance", identity, authentication: EXCHANGE_KEY };
  const early = await send("POST", "/v1/ramps", body);
  deepEqual([early.status, early.body.code], [503, "service.overloaded"]);
  const exchanges = openTestExchanges(realm, {});
  const context = { ...await workerContextOf(realm), exchanges };
  await Promise.all([followExchanges(context), followExchanges(context)]);
  const key = await reading(realm.pool, selectExchangeKey);
  equal((await send("POST", "/v1/ramps", body)).status, 201);
  await followExchanges(context);
  deepEqual(await reading(realm.pool, selectExchangeKey), key);
  context.chains.close();
});

Deno.test("addresses of exchanges are https, or on the machine itself", () => {
  const read = (env: Record<string, string>) =>
    readConfig({ DATABASE_URL: "postgres://a@127.0.0.1/a", WORKERS: "off", ...env }, false);
  const base = { PLATFORM_KEY: "0123456789abcdef" };
  deepEqual(
    read({ ...base, RAMP_OKX_URL: "http://127.0.0.1:1" }).exchangeUrls,
    { okx: "http://127.0.0.1:1" },
  );
  deepEqual(read({ ...base, EXCHANGES: "okx, kraken" }).exchanges, ["okx", "kraken"]);
  deepEqual([read(base).exchanges, read({ ...base, EXCHANGES: "none" }).exchanges], [null, []]);
  throws(() => read({ ...base, RAMP_OKX_URL: "http://okx.example" }), /not encrypted/);
  throws(() => read({ ...base, RAMP_NOWHERE_URL: "https://okx.example" }), /names no exchange/);
  throws(() => read({ ...base, EXCHANGES: "nowhere" }), /no exchange that is supported/);
});

Deno.test("exchanges that callers name make room for each other: their clients do not fill the memory", async () => {
  await using exchange = startExchange();
  const urls = { binance: exchange.url, binanceus: exchange.url };
  const lists = () => exchange.requests.filter((one) => one.endsWith("getall")).length;
  const american = { ...ACCOUNT, id: "two", exchange: "binanceus" };
  const of = { currency: "ETH", since: Date.now() - 60_000, mark: "m" };
  const gateway = openExchangeGateway({ urls, threadsMax: 1, waitMs: 1 });
  const release = Promise.withResolvers<null>();
  try {
    // A busy machine takes longer to load the client library than a call may take.
    await until(() => gateway.currencies(ACCOUNT).then(() => true, () => false));
    await until(() => gateway.currencies(american).then(() => true, () => false));
    const before = lists();
    deepEqual(await gateway.deposits(ACCOUNT, of), []);
    ok(lists() > before, "the thread of the first had ended: a new one reads its currencies");
    let isHeld = false;
    exchange.instead = () => {
      if (isHeld) return null;
      isHeld = true;
      return release.promise;
    };
    const slow = gateway.currencies(american).then(() => true, () => true);
    await until(() => isHeld);
    await rejects(gateway.currencies(ACCOUNT), { fault: "timeout", message: /asked first/ });
    const payment = { ...ETH, address: exchange.named.address, amount: "1", mark: "m2" };
    ok((await gateway.withdraw(ACCOUNT, payment)).reference, "a payment waits for nobody");
    release.resolve(null);
    ok(await slow);
  } finally {
    release.resolve(null);
    gateway.close();
  }
});
