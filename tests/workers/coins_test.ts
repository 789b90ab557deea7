import { deepEqual, equal, ok } from "node:assert/strict";
import { scriptOf } from "../../domain/addresses.ts";
import type { CoinChainId } from "../../workers/chains/bitcoin/networks.ts";
import { refreshFees } from "../../workers/fees.ts";
import { startBcash } from "../support/bcash.ts";
import { benchOf } from "../support/desk.ts";
import { testFollower } from "../support/follower.ts";
import {
  type CoinNode,
  hasLitecoind,
  LIKE_DOGECOIN,
  startLitecoind,
} from "../support/litecoind.ts";
import { type Answer, rowsOf, type TestRealm, testRealm } from "../support/realm.ts";
import { newParty } from "./chains/bitcoin/stage.ts";

/** A chain to be played through, from a deposit to withdrawals. */
interface Play {
  readonly id: CoinChainId;
  readonly asset: string;
  readonly start: () => Promise<CoinNode>;
}

/** A realm with a ramp, a virtual account and a deposit account, over a real node. */
interface CoinDesk extends AsyncDisposable {
  readonly node: CoinNode;
  readonly realm: TestRealm;
  readonly ramp: string;
  readonly virtual: string;
  account(id: string): Promise<Answer["body"]>;
  /** Pays to the deposit account from outside. */
  deposit(amount: bigint): Promise<void>;
  withdraw(to: string, value: string, more?: Record<string, unknown>): Promise<string>;
  withdrawal(id: string): Promise<Answer["body"]>;
  /** Looks at the chain and does what follows. */
  follow(): Promise<void>;
  /** Mines and follows until something holds. */
  until(done: () => Promise<boolean>): Promise<void>;
  /** Prices payments at this moment. */
  quote(): Promise<void>;
  /** What somebody outside holds. */
  held(address: string): Promise<bigint[]>;
}

const ignore = !hasLitecoind();
const COIN = 100_000_000n;
const ROUNDS = 30;
const LITECOIN: Play = { id: "LITECOIN", asset: "LTC", start: () => startLitecoind() };
const PLAYS: readonly Play[] = [
  LITECOIN,
  { id: "BITCOIN", asset: "BTC", start: () => startLitecoind() },
  { id: "DOGECOIN", asset: "DOGE", start: () => startLitecoind(...LIKE_DOGECOIN) },
  { id: "BITCOIN_CASH", asset: "BCH", start: startBcash },
];

async function openDesk({ id, asset, start }: Play): Promise<CoinDesk> {
  const node = await start();
  const realm = await testRealm({
    env: {
      [`${id}_TESTNET_RPC_URL`]: node.url,
      [`${id}_TESTNET_NETWORK`]: "regtest",
      [`${id}_TESTNET_CONFIRMATIONS`]: "2",
    },
  });
  const follower = testFollower(realm);
  const { send } = realm.admin;
  const script = async (address: string) => (await scriptOf(id, "regtest", address)).toHex();
  async function made(path: string, body: Record<string, unknown>): Promise<Answer["body"]> {
    const answer = await send("POST", path, body);
    equal(answer.status, 201, answer.text);
    await realm.drain();
    return answer.body;
  }
  const ramp = (await made("/v1/accounts", { type: "ramp", asset, testnet: true })).id;
  const body = { type: "virtual", asset, testnet: true, ramp };
  const virtual = (await made("/v1/accounts", body)).id;
  const { address: { address } } = await made(`/v1/account/${virtual}/address`, {});
  const target = await script(address);
  await follower.follow();
  return {
    node,
    realm,
    ramp,
    virtual,
    account: async (wanted) => (await send("GET", `/v1/accounts/${wanted}`)).body,
    deposit: async (amount) => void await node.pay([{ script: target, amount }]),
    withdraw: async (to, value, more = {}) => {
      const source = { account: virtual };
      const order = { source, destination: { address: to }, value, ...more };
      const answer = await send("POST", "/v1/withdrawals", order);
      equal(answer.status, 201, answer.text);
      return answer.body.id;
    },
    withdrawal: async (wanted) => (await send("GET", `/v1/withdrawals/${wanted}`)).body,
    follow: () => follower.follow(),
    until: async (done) => {
      for (let round = 0; round < ROUNDS; round++) {
        if (await done()) return;
        await hurry(realm);
        await node.mine();
        await follower.follow();
      }
      throw new Error(await troubles(realm));
    },
    quote: async () => {
      const bench = await benchOf(realm);
      await refreshFees(bench);
      bench.chains.close();
    },
    held: async (of) => (await node.coins(await script(of))).map(({ amount }) => amount),
    [Symbol.asyncDispose]: async () => {
      follower[Symbol.dispose]();
      await realm[Symbol.asyncDispose]();
      await node.stop();
    },
  };
}

/** Makes all jobs due. */
async function hurry(realm: TestRealm): Promise<void> {
  await realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
}

async function troubles(realm: TestRealm): Promise<string> {
  const orders = await rowsOf(realm, "select purpose, state, error from orders");
  const open = "select name, state, last_error from jobs where state <> 'done'";
  return JSON.stringify({ orders, jobs: await rowsOf(realm, open) });
}

for (const play of PLAYS) {
  Deno.test({
    name: `${play.asset}: a deposit is swept to the ramp, and withdrawals are paid from it`,
    ignore: ignore && play.start !== startBcash,
    fn: async () => {
      await using desk = await openDesk(play);
      await desk.deposit(9n * COIN);
      await desk.until(async () => (await desk.account(desk.virtual)).balance.total !== "0");
      const { total } = (await desk.account(desk.virtual)).balance;
      ok(/^8\.9/.test(total), total);
      await desk.quote();
      const [one, two] = [await newParty(play.id), await newParty(play.id)];
      const paid = [
        await desk.withdraw(one.address, "1.25"),
        await desk.withdraw(two.address, "2.5"),
      ];
      await desk.until(async () => {
        const rows = [await desk.withdrawal(paid[0]), await desk.withdrawal(paid[1])];
        return rows.every(({ status }) => status === "DONE");
      });
      deepEqual(await desk.held(one.address), [125_000_000n]);
      deepEqual(await desk.held(two.address), [250_000_000n]);
      await desk.node.mine();
      await desk.follow();
      const left = (await desk.account(desk.ramp)).balance.assets;
      ok(/^5\.[12]/.test(left), `the ramp holds ${left}`);
      const deposits = await rowsOf(desk.realm, "select id from deposits");
      equal(deposits.length, 1, "change and sweeps are no deposits");
    },
  });
}

Deno.test({
  name: "LTC: a withdrawal that is sped up is paid once, by its replacement",
  ignore,
  fn: async () => {
    await using desk = await openDesk(LITECOIN);
    await desk.deposit(9n * COIN);
    await desk.until(async () => (await desk.account(desk.virtual)).balance.total !== "0");
    await desk.quote();
    const to = await newParty("LITECOIN");
    const id = await desk.withdraw(to.address, "1", { fee: { speed: "slow" } });
    await hurry(desk.realm);
    await desk.follow();
    const [first] = await desk.node.rpc<string[]>("getrawmempool");
    const answer = await desk.realm.admin.send("POST", `/v1/withdrawals/${id}/speed-up`, {
      speed: "fast",
    });
    ok(answer.status < 300, answer.text);
    await hurry(desk.realm);
    await desk.follow();
    const waiting = await desk.node.rpc<string[]>("getrawmempool");
    equal(waiting.length, 1);
    ok(waiting[0] !== first, "it was not replaced");
    await desk.until(async () => (await desk.withdrawal(id)).status === "DONE");
    equal((await desk.withdrawal(id)).chain.hash, waiting[0]);
    deepEqual(await desk.held(to.address), [COIN]);
  },
});
