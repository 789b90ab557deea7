/** The service as a process of its own, its workers and the isolated client of an exchange with it. */
import { deepEqual, equal } from "node:assert/strict";
import { testDatabase } from "../support/database.ts";
import { until } from "../support/eventually.ts";
import { EXCHANGE_KEY, startExchange } from "../support/exchange_server.ts";
import { startAnvil } from "../support/nodes/anvil.ts";
import { PASSWORD } from "../support/realm.ts";
import { PLATFORM_KEY, type Service, startService } from "../process/crash/service.ts";

// Answers are looked into freely.
// deno-lint-ignore no-explicit-any
type Body = any;
type Send = (method: string, path: string, body?: unknown, key?: string) => Promise<Body>;

Deno.test("a running service takes a deposit from an exchange and a withdraw to it to DONE, and others to FAILED", async () => {
  await using exchange = startExchange();
  await using anvil = await startAnvil(1);
  await anvil.mine();
  await using database = await testDatabase();
  await using service = await startService(database.url, {
    ETHEREUM_RPC_URL: anvil.url,
    ETHEREUM_CONFIRMATIONS: "2",
    EXCHANGES: "binance",
    RAMP_BINANCE_URL: exchange.url,
  });
  const send = await logIn(service);
  const account = await fundedAccount(send, anvil);
  const { identity } = await send("GET", "/v1/auth/me");
  const record = { ramp: "binance", identity, authentication: EXCHANGE_KEY };
  let ramp: Body;
  await until(async () => (ramp = await send("POST", "/v1/ramps", record)).id !== undefined, 500);
  const path = `/v1/ramps/${ramp.id}`;
  const statusOf = async (id: string) => await send("GET", `${path}/transfers/${id}`);
  await until(async () => (await send("GET", path)).status === "READY", 200);
  const order = async (kind: string, value: string) =>
    (await send("POST", `${path}/${kind}`, { account, asset: "ETH", value }))
      .id;

  const [deposit, refused, withdraw] = [
    await order("deposit", "1.5"),
    await order("deposit", "1001"),
    await order("withdraw", "2"),
  ];
  await until(() => exchange.withdrawals.length === 1, 200);
  const [paid] = exchange.withdrawals;
  Object.assign(paid, {
    ...{ status: 6, txId: await anvil.send({ to: paid.address, value: 15n * 10n ** 17n }) },
  });
  await until(async () => {
    await anvil.mine();
    const { withdrawal } = await statusOf(withdraw);
    if (withdrawal === null) return false;
    const { status, chain } = await send("GET", `/v1/withdrawals/${withdrawal}`);
    if (status !== "DONE") return false;
    exchange.deposits.push({
      ...{ id: "d1", amount: "2", coin: "ETH", network: "ETH", status: 1 },
      ...{ address: exchange.named.address, txId: chain.hash, insertTime: Date.now() },
    });
    return true;
  }, 500);
  for (const id of [deposit, withdraw, refused]) {
    await until(async () => {
      await anvil.mine();
      return (await statusOf(id)).status !== "PROCESSING";
    }, 500);
  }
  const ends = await Promise.all([deposit, withdraw, refused].map(statusOf));
  deepEqual(ends.map(({ status }) => status), ["DONE", "DONE", "FAILED"]);
  equal(exchange.withdrawals.length, 1);
  equal(service.errors().some((line) => line.includes(EXCHANGE_KEY.secret)), false);
});

async function logIn(service: Service): Promise<Send> {
  const ask = (key: string): Send => async (method, path, body) => {
    const answer = await fetch(service.url + path, {
      method,
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    return await answer.json();
  };
  const email = "admin@ramps.example";
  const admin = { email, password: PASSWORD };
  const realm = await ask(PLATFORM_KEY)("POST", "/v1/realms", { name: "ramps", admin });
  const login = await ask(realm["x-api-key"])("POST", "/v1/auth/admins/login", {
    ...admin,
    realm_key: realm.realm_key,
  });
  return ask(login["x-api-key"]);
}

/** A virtual account whose value came in as a deposit to its ramp, over the chain. */
async function fundedAccount(
  send: Send,
  anvil: Awaited<ReturnType<typeof startAnvil>>,
): Promise<string> {
  const ready = async (wanted: Record<string, unknown>) => {
    const { id } = await send("POST", "/v1/accounts", wanted);
    await until(async () => (await send("GET", `/v1/accounts/${id}`)).enabled, 200);
    return id;
  };
  const ramp = await ready({ type: "ramp", asset: "ETH" });
  const account = await ready({ type: "virtual", asset: "ETH", ramp });
  const { ramp: { address } } = await send("GET", `/v1/accounts/${ramp}`);
  await anvil.send({ to: address, value: 10n ** 19n });
  await until(async () => {
    await anvil.mine();
    return Number((await send("GET", `/v1/accounts/${ramp}`)).balance.available) === 10;
  }, 500);
  await send("POST", "/v1/transactions", {
    ...{ source: { account: ramp }, destination: { account }, value: "8" },
  });
  return account;
}
