/** Turns at the threads of exchanges: what one customer's hanging exchanges leave to others, and the end of the gateway. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { openExchangeGateway } from "../../workers/gateways/exchanges/gateway.ts";
import {
  type Asking,
  inTurn,
  type Occupied,
  roomFor,
} from "../../workers/gateways/exchanges/turns.ts";
import { until } from "../support/eventually.ts";
import { EXCHANGE_KEY, type ExchangeServer, startExchange } from "../support/exchange_server.ts";

const accountOf = (owner: string, exchange: string) => ({
  ...{ id: `${owner} at ${exchange}`, owner, exchange, credentials: EXCHANGE_KEY },
});

/** An exchange that answers nothing until it is told to. */
function startHanging(): ExchangeServer & { release(): void } {
  const exchange = startExchange();
  const held = Promise.withResolvers<Response>();
  exchange.instead = () => held.promise.then(() => new Response("no", { status: 503 }));
  const end = exchange[Symbol.asyncDispose];
  const release = () => held.resolve(new Response());
  return Object.assign(exchange, {
    release,
    async [Symbol.asyncDispose]() {
      release();
      await end();
    },
  });
}

const asking = (owner: string, exchange: string, more: Partial<Asking> = {}): Asking => ({
  ...{ account: { owner, exchange }, call: "currencies", since: 0, ...more },
});
const occupied = (heardAt: number, ...calls: Asking[]): Occupied => ({
  heardAt,
  pending: new Map(calls.map((call, at) => [at, call])),
});

Deno.test("a thread is given to the user who keeps the fewest busy, and taken from the exchange that is silent", () => {
  const limits = { threadsMax: 4, silenceMs: 100 };
  const hog = [
    ["kraken", occupied(0, asking("r/hog", "kraken"))],
    ["okx", occupied(0, asking("r/hog", "okx"))],
  ] as [string, Occupied][];
  const two = { ...limits, running: new Map(hog) };
  equal(roomFor(two, { owner: "r/hog", exchange: "htx" }, 50), "none", "one user has half of them");
  equal(roomFor(two, { owner: "r/ada", exchange: "htx" }, 50), "free");
  equal(roomFor(two, { owner: "r/hog", exchange: "okx" }, 50), "free", "its exchange has a thread");

  const shared = occupied(0, asking("r/hog", "gate"), asking("r/ada", "gate"));
  equal(
    roomFor({ ...limits, running: new Map([...hog.slice(1), ["gate", shared]]) }, {
      ...{ owner: "r/hog", exchange: "htx" },
    }, 50),
    "free",
    "a thread that others use too is nobody's share",
  );

  const paying = occupied(0, asking("s/bob", "gate", { call: "withdraw" }));
  const heard = occupied(60, asking("s/bob", "bybit"));
  const full = { ...limits, running: new Map([...hog, ["gate", paying], ["bybit", heard]]) };
  const ada = { owner: "r/ada", exchange: "htx" };
  equal(roomFor(full, ada, 99), "none");
  deepEqual(roomFor(full, ada, 100), { ends: hog[0][1] });
  const paid = { ...limits, running: new Map([["gate", paying]]), threadsMax: 1 };
  equal(roomFor(paid, ada, 1e9), "none", "one that was asked to pay is never ended");
  const idle = occupied(0);
  const rest = { ...limits, running: new Map([...hog, ["gate", paying], ["bybit", idle]]) };
  deepEqual(roomFor(rest, ada, 1), { ends: idle });

  const waiting = [asking("r/hog", "htx"), asking("r/ada", "htx"), asking("t/eve", "htx")];
  deepEqual(
    inTurn(full.running.values(), waiting).map(({ account }) => account.owner),
    ["t/eve", "r/ada", "r/hog"],
  );
});

Deno.test("one user's exchanges that hang leave threads to other users, and those of several make room", async () => {
  await using exchange = startExchange();
  await using hanging = startHanging();
  const urls = {
    ...{ binance: exchange.url, kraken: hanging.url, okx: hanging.url, htx: hanging.url },
  };
  const gateway = openExchangeGateway({ urls, threadsMax: 2, waitMs: 600_000, silenceMs: 500 });
  const answers: string[] = [];
  const ask = (owner: string, name: string) => {
    const answer = gateway.currencies(accountOf(owner, name));
    answer.catch(() => {}).finally(() => answers.push(owner));
    return answer.then(() => "answered", ({ fault }) => fault);
  };
  try {
    // A busy machine takes longer to load the client library than a call may take.
    await until(async () => await ask("r/ada", "binance") === "answered");
    answers.length = 0;
    const hog = [ask("r/hog", "kraken"), ask("r/hog", "okx")];
    await until(() => hanging.requests.length > 0);
    equal(await ask("r/ada", "binance"), "answered");
    deepEqual(answers, ["r/ada"], "the other user still waits for its own exchanges");
    // Of two users all threads are busy: the exchange that was silent for longest makes room.
    const other = ask("r/eve", "htx");
    await until(async () => await ask("r/ada", "binance") === "answered");
    ok(answers.includes("r/hog"), "its first call was given up for her");
    hanging.release();
    ok((await Promise.all([...hog, other])).every((one) => one !== "answered"));
  } finally {
    hanging.release();
    gateway.close();
  }
});

Deno.test("a gateway that was closed asks nobody any more, for a payment neither, and calls that waited end", async () => {
  await using hanging = startHanging();
  const urls = { kraken: hanging.url, binance: hanging.url };
  const gateway = openExchangeGateway({ urls, threadsMax: 1, waitMs: 600_000 });
  const begun = rejects(gateway.currencies(accountOf("r/ada", "kraken")), { fault: "unknown" });
  const waits = rejects(gateway.currencies(accountOf("r/bob", "binance")), { fault: "timeout" });
  await until(() => hanging.requests.length > 0);
  gateway.close();
  await Promise.all([begun, waits]);
  const count = hanging.requests.length;
  const account = accountOf("r/ada", "binance");
  const payment = { currency: "ETH", network: "ETH", address: "0x1", amount: "1", mark: "m" };
  // It was certainly not paid: nothing of it is in doubt.
  await rejects(gateway.withdraw(account, payment), { name: "ExchangeError", fault: "unasked" });
  await rejects(gateway.currencies(account), { name: "ExchangeError", fault: "timeout" });
  equal(hanging.requests.length, count);
  hanging.release();
});
