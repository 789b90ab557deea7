/** The client library's clients: one for each account, and what it does before it asks for a payment. */
import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { ExchangeAccount, ExchangeError } from "../../workers/exchange_gateway.ts";
import { openExchangeGateway } from "../../workers/gateways/exchanges/gateway.ts";
import { EXCHANGE_KEY, startExchange } from "../support/exchange_server.ts";

const CURRENCIES = "GET /sapi/v1/capital/config/getall";
const OF = { currency: "ETH", network: "ETH" };

function accountAt(exchange: string): ExchangeAccount {
  return { id: exchange, exchange, owner: "r/u", credentials: EXCHANGE_KEY };
}

function payment(mark: string) {
  const address = "0x00000000000000000000000000000000DeaDBeef";
  return { ...OF, address, amount: "1.5", mark };
}

Deno.test("calls of one account at once make one client, and read the currencies once", async () => {
  await using exchange = startExchange();
  const gateway = openExchangeGateway({ urls: { binance: exchange.url }, timeoutMs: 240_000 });
  try {
    const account = accountAt("binance");
    const since = Date.now() - 1000;
    await Promise.all([
      gateway.depositAddress(account, OF),
      gateway.withdrawals(account, { currency: "ETH", since, mark: "m1" }),
      gateway.deposits(account, { currency: "ETH", since, mark: "m1" }),
      gateway.currencies(account),
    ]);
    equal(exchange.requests.filter((one) => one === CURRENCIES).length, 1);
  } finally {
    gateway.close();
  }
});

Deno.test("a payment before which the exchange does not tell its currencies was not asked for, and is not in doubt", async () => {
  await using exchange = startExchange();
  exchange.instead = (request) =>
    request === CURRENCIES ? new Response("away", { status: 502 }) : null;
  const gateway = openExchangeGateway({ urls: { binance: exchange.url }, timeoutMs: 240_000 });
  try {
    const account = accountAt("binance");
    await rejects(gateway.withdraw(account, payment("m1")), ({ fault }: ExchangeError) => {
      equal(fault, "unasked");
      return true;
    });
    ok(exchange.requests.every((one) => one === CURRENCIES));
    // Of every other call it says as before that nothing is known.
    await rejects(gateway.depositAddress(account, OF), ({ fault }: ExchangeError) => {
      equal(fault, "unknown");
      return true;
    });
    exchange.instead = (request, after) =>
      after && request.startsWith("POST") ? new Response("away", { status: 502 }) : null;
    await rejects(gateway.withdraw(account, payment("m2")), ({ fault }: ExchangeError) => {
      equal(fault, "unknown");
      return true;
    });
    equal(exchange.withdrawals.length, 1);
  } finally {
    gateway.close();
  }
});

Deno.test("a question whose number or time another process has overtaken is asked again, a payment never", async () => {
  await using exchange = startExchange();
  const gateway = openExchangeGateway({ urls: { binance: exchange.url }, timeoutMs: 240_000 });
  try {
    const account = accountAt("binance");
    const overtaken = new Map<string, number>();
    const msg = "Timestamp for this request is outside of the recvWindow.";
    exchange.instead = (request, after) => {
      if (after) return null;
      const times = (overtaken.get(request) ?? 0) + 1;
      overtaken.set(request, times);
      return times > 2 ? null : Response.json({ code: -1021, msg }, { status: 400 });
    };
    const of = { currency: "ETH", since: Date.now() - 1000, mark: "m1" };
    ok((await gateway.currencies(account)).length > 0);
    ok((await gateway.depositAddress(account, OF)).address);
    deepEqual(await gateway.withdrawals(account, of), []);
    deepEqual(await gateway.deposits(account, of), []);
    ok([...overtaken.values()].every((times) => times === 3), `${[...overtaken.entries()]}`);
    const isInDoubt = ({ fault }: ExchangeError) => {
      equal(fault, "unknown");
      return true;
    };
    // On its way it may have arrived twice, and have paid the first time.
    await rejects(gateway.withdraw(account, payment("m1")), isInDoubt);
    equal(overtaken.get("POST /sapi/v1/capital/withdraw/apply"), 1);
    exchange.instead = (request, after) =>
      after || !request.endsWith("hisrec")
        ? null
        : Response.json({ code: -1021, msg }, { status: 400 });
    await rejects(gateway.deposits(account, of), isInDoubt);
  } finally {
    gateway.close();
  }
});

for (const id of ["binance", "binanceus", "binanceusdm", "binancecoinm"]) {
  Deno.test(`${id}: our id of a payment is passed on, and a second payment of it is refused`, async () => {
    await using exchange = startExchange();
    const gateway = openExchangeGateway({ urls: { [id]: exchange.url }, timeoutMs: 240_000 });
    try {
      const account = accountAt(id);
      await gateway.withdraw(account, payment("m1"));
      await rejects(gateway.withdraw(account, payment("m1")));
      deepEqual(exchange.withdrawals.map((one) => one.withdrawOrderId), ["m1"]);
    } finally {
      gateway.close();
    }
  });
}

Deno.test("binanceus: it is asked for the currencies that it moves", async () => {
  await using exchange = startExchange();
  const gateway = openExchangeGateway({ urls: { binanceus: exchange.url }, timeoutMs: 240_000 });
  try {
    const told = await gateway.currencies(accountAt("binanceus"));
    ok(told.some(({ code, networks }) => code === "ETH" && networks.length > 0));
  } finally {
    gateway.close();
  }
});
