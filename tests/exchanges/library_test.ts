/** What the client library makes of a request, and of an answer, at exchanges that it treats otherwise. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import type { ExchangeAccount, ExchangeError } from "../../workers/exchange_gateway.ts";
import { openExchangeGateway } from "../../workers/gateways/exchanges/gateway.ts";

const CREDENTIALS = {
  api_key: "key-of-the-tests",
  secret: "secret-of-the-tests",
  password: "pass",
};
const ADDRESS = "0x00000000000000000000000000000000DeaDBeef";

function accountAt(exchange: string): ExchangeAccount {
  return { id: exchange, exchange, owner: "r/u", credentials: CREDENTIALS };
}

/** An exchange on loopback that gives answers by their paths, and keeps the bodies that it was sent. */
function startAnswers(answers: Readonly<Record<string, unknown>>) {
  const bodies: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, async (one) => {
    const { pathname } = new URL(one.url);
    if (one.method === "POST") bodies.push(await one.text());
    const path = Object.keys(answers).find((end) => pathname.endsWith(end));
    return Response.json(path === undefined ? { code: "200000", data: {} } : answers[path]);
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    bodies,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("a currency on several networks is not offered where the library names none to the exchange", async () => {
  const chain = (currency: string, name: string) => ({
    ...{ currency, chain: name, deposit_status: 1, withdraw_status: 1 },
    ...{ min_deposit_amount: 0.5, min_withdraw_amount: 10, min_withdraw_fee: 1 },
  });
  const data = [chain("USDC", "ERC20"), chain("USDC", "MATIC"), chain("LTC", "LTC")];
  await using exchange = startAnswers({
    "/currencies": { data, code: 0 },
    "/spot/assets": { code: 0, list: [] },
  });
  const gateway = openExchangeGateway({ urls: { digifinex: exchange.url }, timeoutMs: 240_000 });
  try {
    const read = await gateway.currencies(accountAt("digifinex"));
    deepEqual(read.map(({ code }) => code), ["LTC"]);
    deepEqual(read[0].networks.map(({ network, leastTaken }) => [network, leastTaken]), [
      ["LTC", "0.5"],
    ]);
  } finally {
    gateway.close();
  }
});

Deno.test("an amount that the library would write as another number is not asked for", async () => {
  const chains = [{ chainId: "eth", isDepositEnabled: true, isWithdrawEnabled: true }];
  await using exchange = startAnswers({
    "/currencies": { code: "200000", data: [{ currency: "ETH", chains }] },
    "/withdrawals": { code: "200000", data: { withdrawalId: "w1" } },
  });
  const gateway = openExchangeGateway({ urls: { kucoin: exchange.url }, timeoutMs: 240_000 });
  const pay = (amount: string) =>
    gateway.withdraw(accountAt("kucoin"), {
      ...{ currency: "ETH", network: "ETH", address: ADDRESS, amount, mark: "m1" },
    });
  try {
    await rejects(pay("1.123456789012345678"), ({ fault, message }: ExchangeError) => {
      equal(fault, "refused");
      match(message, /at most 15 digits/);
      return true;
    });
    deepEqual(exchange.bodies, []);
    equal((await pay("1.12345678901234")).reference, "w1");
    const [body] = exchange.bodies;
    match(body, /"amount":1\.12345678901234[,}]/);
  } finally {
    gateway.close();
  }
});
