/**
 * What a walk through the API needs around the service: nodes of two chains, an exchange, a provider of messages, a
 * receiver of webhooks. All speak the real protocols; workers work when the walk says so.
 *
 * @module
 */
import { equal } from "node:assert/strict";
import { allAssets } from "../../domain/assets.ts";
import { counterparty } from "../../domain/ledger/posting.ts";
import { bookAsOwner } from "../support/booking.ts";
import { serve } from "../support/client_fixture.ts";
import { type ExchangeFixture, openExchangeFixture } from "../support/exchange_fixture.ts";
import { OUTSIDE, workerContextOf } from "../support/evm_fixture.ts";
import { EXCHANGE_KEY } from "../support/exchange_server.ts";
import { type InfobipServer, startInfobip } from "../support/infobip.ts";
import { type CoinNode, hasLitecoind, startLitecoind } from "../support/nodes/litecoind.ts";
import { rich } from "../support/nodes/anvil.ts";
import { PASSWORD, PLATFORM_KEY, rowsOf, type TestRealm } from "../support/realm.ts";
import { openTestPoller, type TestPoller } from "../support/scan_steps.ts";
import {
  openReceiver,
  openTestDeliverer,
  type Receiver,
  type TestDeliverer,
} from "../support/webhook_receiver.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { openOthers, type Others } from "./others.ts";
import { type Asked, beginWalk, type Json, type Walk } from "./walk.ts";

/** The world of a walk. */
export interface World extends AsyncDisposable, Walk {
  readonly start: number;
  /** The day that ends an hour after the start. */
  readonly day: { readonly from: number; readonly to: number };
  readonly realm: TestRealm;
  readonly exchange: ExchangeFixture;
  readonly infobip: InfobipServer;
  /** A node of Litecoin; null where none is installed. */
  readonly coins: CoinNode | null;
  readonly receiver: Receiver;
  readonly deliverer: TestDeliverer;
  readonly poller: TestPoller;
  /** Those who may not do what the walk does. */
  readonly others: Others;
  readonly platformKey: string;
  readonly applicationKey: string;
  readonly password: string;
  /** A currency of the realm, and the account that holds its supply. */
  readonly gold: { readonly id: string; readonly name: string; readonly account: string };
  /** Makes an account of that currency with something on it. */
  account(total?: string): Promise<string>;
  /** Mines a block of each chain, follows, and takes a step of each order. */
  turn(): Promise<void>;
  /** Has a block of Ethereum ask for so many gwei of gas, and the service know what payments cost from now on. */
  price(gwei: number): Promise<void>;
  /** Takes a step of each order. */
  work(): Promise<void>;
  /** Takes such turns until something holds. */
  until(done: () => Promise<boolean>): Promise<void>;
  /** Asks, and lets workers work while the answer is waited for. */
  beside(operation: string, asked: Asked): Promise<Json>;
}

const ROUNDS = 60;
const HOUR = 3_600_000;
const BASE_URL = "https://purser.example";

/** Opens a world. */
export async function openWorld(): Promise<World> {
  const start = Date.now();
  const infobip = startInfobip();
  const coins = hasLitecoind() ? await startLitecoind() : null;
  const receiver = openReceiver();
  const exchange = await openExchangeFixture({}, {
    BASE_URL,
    WEBHOOKS_ALLOW_PRIVATE: "true",
    ...infobip.env,
    ...coins === null ? {} : {
      LITECOIN_TESTNET_RPC_URL: coins.url,
      LITECOIN_TESTNET_NETWORK: "regtest",
      LITECOIN_TESTNET_CONFIRMATIONS: "2",
    },
  });
  const { realm } = exchange;
  const served = serve(realm);
  const others = await openOthers(exchange);
  const walk = beginWalk({
    ...{ start, others },
    url: served.url,
    key: realm.admin.key,
    constants: [
      ...[OUTSIDE, ...[0, 1, 2, 3, 4, 5].map((n) => rich(n).address)],
      ...allAssets().flatMap(({ contract }) => contract ?? []),
    ],
    words: {
      [receiver.url]: "https://hooks.example.com",
      "127.0.0.1": "203.0.113.7",
      [EXCHANGE_KEY.api_key]: "example-api-key-1234",
      [EXCHANGE_KEY.secret]: "example-secret-of-the-exchange",
    },
  });
  const poller = openTestPoller(realm);
  const deliverer = openTestDeliverer(realm);
  const turns = turnsOf({ exchange, coins, poller });
  await makeReal(exchange, turns);
  const gold = await walk.ask("createCurrency", {
    body: { name: "GOLD", supply: "1000000", currency: "USD", rate: "75.5", symbol: "Gold" },
  });
  await others.settle(gold.name);
  return {
    ...walk,
    ...turns,
    async beside(operation, asked) {
      await walk.attempt(operation, asked); // before workers change rows
      return await workBeside(turns, realm, walk.ask(operation, { ...asked, attempted: true }));
    },
    day: { from: start - 23 * HOUR, to: start + HOUR },
    ...{ start, realm, exchange, others, infobip, coins, receiver, deliverer, poller, gold },
    platformKey: PLATFORM_KEY,
    applicationKey: realm.made.applicationKey,
    password: PASSWORD,
    account: (total) => realm.account({ asset: gold.name, from: gold.account, total }),
    async [Symbol.asyncDispose]() {
      poller[Symbol.dispose]();
      await others[Symbol.asyncDispose]();
      await deliverer[Symbol.asyncDispose]();
      await served[Symbol.asyncDispose]();
      await exchange[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
      await infobip[Symbol.asyncDispose]();
      await coins?.stop();
    },
  };
}

/** Takes back what the fixture has booked, and gives the account what has arrived at the ramp instead. */
async function makeReal(
  { realm, funded: { ramp, account } }: ExchangeFixture,
  { price, until }: Pick<World, "price" | "until">,
): Promise<void> {
  const { send, actor } = realm.admin;
  await until(async () => (await send("GET", `/v1/accounts/${ramp}`)).body.balance.total === "10");
  const asset = { code: "ETH", decimals: 18, testnet: false };
  const world = await realm.command(
    (tx) => counterparty(tx, { ...actor, at: Date.now() }, "world", asset),
    { lockLedger: true },
  );
  const back = { source: account, destination: world, amount: "10" };
  equal(await bookAsOwner(realm, "forward", [back]), null);
  const moved = await send("POST", "/v1/transactions", {
    source: { account: ramp },
    destination: { account },
    value: "8",
  });
  equal(moved.status, 201, moved.text);
  await price(1);
}

function turnsOf(
  { exchange, coins, poller }: Pick<World, "exchange" | "coins" | "poller">,
): Pick<World, "turn" | "price" | "work" | "until"> {
  const { realm, funded } = exchange;
  async function work(): Promise<void> {
    const orders = await rowsOf<{ order: string; version: number }>(
      realm,
      `select id as order, schedule_version as version from chain_orders
        where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
    );
    for (const seen of orders) await advanceOrder(exchange.context(), seen);
  }
  async function turn(): Promise<void> {
    await funded.anvil.mine();
    await coins?.mine();
    await realm.command((tx) =>
      tx`
      update jobs set run_at = now() where state = 'ready' and name not like 'exchange.%'`
    );
    await poller.follow();
    await work();
  }
  return {
    ...{ turn, work },
    async price(gwei) {
      const wei = `0x${(gwei * 1e9).toString(16)}`;
      await funded.anvil.rpc("anvil_setNextBlockBaseFeePerGas", wei);
      await funded.anvil.mine();
      // Others would give the prices of ten seconds ago.
      const context = await workerContextOf(realm);
      await refreshFees(context);
      context.chains.close();
    },
    async until(done) {
      for (let round = 0; round < ROUNDS; round++) {
        if (await done()) return;
        await turn();
      }
      const orders = await rowsOf(realm, "select purpose, state, error from chain_orders");
      const jobs = await rowsOf(
        realm,
        "select name, state, last_error from jobs where state <> 'done'",
      );
      throw new Error(`it never came true: ${JSON.stringify({ orders, jobs })}`);
    },
  };
}

/** Lets workers work while an answer is waited for. */
async function workBeside<T>(
  { work }: Pick<World, "work">,
  realm: TestRealm,
  answer: Promise<T>,
): Promise<T> {
  let waiting = true;
  const done = answer.finally(() => waiting = false);
  while (waiting) {
    await realm.drain();
    await work();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return await done;
}
