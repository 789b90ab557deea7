/** What the client library makes of a request, and of an answer, at exchanges that it treats otherwise. */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { sameAddress } from "../../domain/exchanges/transfer_ends.ts";
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

/** An answer of digifinex on a network of a currency. */
function chainOf(currency: string, name: string) {
  return {
    ...{ currency, chain: name, deposit_status: 1, withdraw_status: 1 },
    ...{ min_deposit_amount: 0.5, min_withdraw_amount: 10, min_withdraw_fee: 1 },
  };
}

Deno.test("a currency on several networks is not offered where the library names none to the exchange", async () => {
  const data = [chainOf("USDC", "ERC20"), chainOf("USDC", "MATIC"), chainOf("LTC", "LTC")];
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

Deno.test("an exchange that has moved a currency to another network since it was ordered is asked for nothing", async () => {
  const data: ReturnType<typeof chainOf>[] = [];
  await using exchange = startAnswers({
    "/currencies": { data, code: 0 },
    "/spot/assets": { code: 0, list: [] },
  });
  const gateway = openExchangeGateway({ urls: { digifinex: exchange.url }, timeoutMs: 240_000 });
  const account = accountAt("digifinex");
  const isRefusal = ({ fault, message }: ExchangeError) => {
    equal(fault, "unasked");
    match(message, /LTC is moved on/);
    return true;
  };
  const of = { currency: "LTC", network: "LTC" };
  const payment = { ...of, address: ADDRESS, amount: "1", mark: "m1" };
  try {
    for (const names of [["LTC", "BEP20"], ["BEP20"], []]) {
      data.splice(0, data.length, ...names.map((name) => chainOf("LTC", name)));
      await gateway.currencies(account);
      await rejects(gateway.depositAddress(account, of), isRefusal);
      await rejects(gateway.withdraw(account, payment), isRefusal);
    }
    deepEqual(exchange.bodies, []);
  } finally {
    gateway.close();
  }
});

Deno.test("the library asks for the amount that was ordered, digit for digit, or for none", async () => {
  const chains = [{
    chainId: "eth",
    isDepositEnabled: true,
    isWithdrawEnabled: true,
    withdrawPrecision: 2,
  }];
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
      equal(fault, "unasked");
      match(message, /at most 15 digits/);
      return true;
    });
    deepEqual(exchange.bodies, []);
    equal((await pay("1.12345678901234")).reference, "w1");
    // Its step would make 1.13 of it, and 1.12 of the other: what is too fine is for the exchange to refuse.
    await pay("1.126");
    match(exchange.bodies[0], /"amount":1\.12345678901234[,}]/);
    match(exchange.bodies[1], /"amount":1\.126[,}]/);
  } finally {
    gateway.close();
  }
});

Deno.test("a fee in another asset is not told as one of the payment", async () => {
  const row = (id: string, feeToken: string) => ({
    ...{ id, token: "ETH", tokenSide: "WITHDRAW", amount: "1.5", txId: "0x1", status: "COMPLETED" },
    ...{ targetAddress: ADDRESS, feeToken, feeAmount: "2", createdTime: `${Date.now() / 1000}` },
  });
  await using exchange = startAnswers({
    "/public/token": { rows: [{ token: "ETH", balance_token: "ETH", decimals: 18 }] },
    "/public/token_network": { rows: [{ protocol: "ETH", token: "ETH" }] },
    "/asset/wallet/history": { success: true, data: { rows: [row("1", "ETH"), row("2", "WOO")] } },
  });
  const gateway = openExchangeGateway({ urls: { woo: exchange.url }, timeoutMs: 240_000 });
  try {
    const of = { currency: "ETH", since: Date.now() - 600_000, mark: "m1" };
    const ends = await gateway.withdrawals(accountAt("woo"), of);
    deepEqual(ends.map(({ reference, fee }) => [reference, fee]), [["1", "2"], ["2", null]]);
  } finally {
    gateway.close();
  }
});

Deno.test("an address of an exchange is compared as its chain writes it", () => {
  const cash = "qpm2qsznhks23z7629mms6s4cwef74vcwvy22gdx6a";
  equal(sameAddress(`bitcoincash:${cash}`, cash), true);
  equal(sameAddress(`BITCOINCASH:${cash.toUpperCase()}`, `bitcoincash:${cash}`), true);
  equal(sameAddress(`bitcoincash:${cash}`, `bitcoincash:${cash.replace("q", "p")}`), false);
  equal(sameAddress(ADDRESS, ADDRESS.toLowerCase()), true);
  equal(
    sameAddress("TQn9Y2khEsLJW1ChVWFMSMeRDow5KcbLSE", "tqn9y2khesljw1chvwfmsmerdow5kcblse"),
    false,
  );
  equal(sameAddress(null, null), false);
});
