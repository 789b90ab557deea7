/**
 * A funded ramp on a coin chain: a realm with a ramp, a virtual account and a deposit account over a real
 * node, and workers that a test moves step by step.
 * @module
 */
import { equal } from "node:assert/strict";
import { selectKeyPositions } from "../../db/accounts/ramps.ts";
import { reading } from "../../db/transaction.ts";
import { scriptOf } from "../../domain/chains/addresses.ts";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { newId } from "../../domain/ids.ts";
import { toUnits } from "../../domain/money.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import type { CoinChainId } from "../../workers/chains/bitcoin/networks.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import type { OnCheckpoint } from "../../workers/sending/order_work.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { startBcash } from "./nodes/bcash.ts";
import { workerContextOf } from "./evm_fixture.ts";
import { openTestPoller, type TestPoller } from "./scan_steps.ts";
import { type CoinNode, LIKE_DOGECOIN, startLitecoind } from "./nodes/litecoind.ts";
import { listen } from "./listening.ts";
import { type Answer, rowsOf, type TestRealm, testRealm } from "./realm.ts";

/** A chain to be played through, from a deposit to withdrawals. */
export interface UtxoChain {
  readonly id: CoinChainId;
  readonly asset: string;
  readonly start: () => Promise<CoinNode>;
  /** Further settings. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A realm with a ramp, a virtual account and a deposit account, over a real node. */
export interface UtxoRamp extends AsyncDisposable {
  readonly node: CoinNode;
  readonly realm: TestRealm;
  readonly context: WorkerContext;
  readonly ramp: string;
  /** The ramp's address. */
  readonly address: string;
  readonly virtual: string;
  account(id: string): Promise<Answer["body"]>;
  /** Pays to the deposit account from outside. Gives the transaction id. */
  deposit(amount: bigint): Promise<string>;
  /** Pays coins to the ramp's own address, until they count. */
  fund(...amounts: readonly bigint[]): Promise<void>;
  /** Withdraws from the virtual account, or from another. */
  withdraw(to: string, value: string, more?: Record<string, unknown>): Promise<string>;
  withdrawal(id: string): Promise<Answer["body"]>;
  /** Polls the chain and runs the jobs that follow. */
  follow(): Promise<void>;
  /** Takes a step of each open order, now; tells of each checkpoint that it passes. */
  advance(onCheckpoint?: OnCheckpoint): Promise<void>;
  /** Takes one order's step, now. */
  advanceOne(seen: { order: string; version: number }): Promise<void>;
  /** Mines and follows until something holds. */
  until(done: () => Promise<boolean>): Promise<void>;
  /** Mines and follows until withdrawals have ended. */
  ended(ids: readonly string[]): Promise<Answer["body"][]>;
  /** Prices payments at this moment. */
  quote(): Promise<void>;
  /** The balance of an outside address. */
  held(address: string): Promise<bigint[]>;
  /** Spends coins of one of our addresses behind the service's back, in a block that holds nothing else. */
  rob(to: string, ...inputs: readonly string[]): Promise<void>;
  /** Waits until the theft is seen, and ends the ramp's quarantine as an operator would. */
  release(): Promise<void>;
  /** Demands that the ledger is sound and that the chain holds what it says, to the last unit. */
  agree(): Promise<void>;
}

/** Base units of a coin. */
export const COIN = 100_000_000n;
/** Litecoin. */
export const LITECOIN: UtxoChain = { id: "LITECOIN", asset: "LTC", start: () => startLitecoind() };
/** Every coin chain, over the node that stands for it. */
export const UTXO_CHAINS: readonly UtxoChain[] = [
  LITECOIN,
  { id: "BITCOIN", asset: "BTC", start: () => startLitecoind() },
  { id: "DOGECOIN", asset: "DOGE", start: () => startLitecoind(...LIKE_DOGECOIN) },
  { id: "BITCOIN_CASH", asset: "BCH", start: startBcash },
];

const ROUNDS = 30;

/** Opens a ramp on a chain of its own. */
export async function openUtxoRamp(chain: UtxoChain): Promise<UtxoRamp> {
  const { node, realm, end } = await openUtxoRealm(chain);
  return await prepare({ id: chain.id, asset: chain.asset, node, realm, end });
}

/** Opens a realm on a chain of its own. */
export async function openUtxoRealm(
  { id, start, env }: UtxoChain,
  file?: string,
): Promise<Pick<UtxoRamp, "node" | "realm"> & { end(): Promise<void> }> {
  const node = await start();
  const settings = {
    [`${id}_TESTNET_RPC_URL`]: node.url,
    [`${id}_TESTNET_NETWORK`]: "regtest",
    [`${id}_TESTNET_CONFIRMATIONS`]: "2",
    ...env,
  };
  const realm = await testRealm({ env: settings }, file);
  await listen(realm);
  return {
    ...{ node, realm },
    async end() {
      await realm[Symbol.asyncDispose]();
      await node.stop();
    },
  };
}

/** Opens another ramp on the same realm and node, whose workers know nothing of the node yet. */
export async function anotherUtxoRamp(
  { id, asset }: UtxoChain,
  { node, realm }: Pick<UtxoRamp, "node" | "realm">,
): Promise<UtxoRamp> {
  return await prepare({ id, asset, node, realm, end: () => Promise.resolve() });
}

/** Makes a ramp, a virtual account and a deposit account. */
async function prepare(
  { id, asset, node, realm, end }:
    & Pick<UtxoChain, "id" | "asset">
    & Pick<Parts, "node" | "realm" | "end">,
): Promise<UtxoRamp> {
  const poller = openTestPoller(realm);
  const context = await workerContextOf(realm);
  const { send } = realm.admin;
  async function made(path: string, body: Record<string, unknown>): Promise<Answer["body"]> {
    const answer = await send("POST", path, body);
    equal(answer.status, 201, answer.text);
    await realm.drain();
    return answer.body;
  }
  const ramp = (await made("/v1/accounts", { type: "ramp", asset, testnet: true })).id;
  const { ramp: { address } } = (await send("GET", `/v1/accounts/${ramp}`)).body;
  const body = { type: "virtual", asset, testnet: true, ramp };
  const virtual = (await made("/v1/accounts", body)).id;
  const target = (await made(`/v1/account/${virtual}/address`, {})).address.address;
  await poller.follow();
  return assemble({ id, node, realm, end, poller, context, ramp, address, virtual, target });
}

/** Options of a funded ramp. */
type Parts =
  & Pick<UtxoRamp, "node" | "realm" | "context" | "ramp" | "address" | "virtual">
  & { readonly id: CoinChainId; readonly poller: TestPoller; readonly target: string }
  /** Ends what the ramp was opened on. */
  & { readonly end: () => Promise<void> };

function assemble(parts: Parts): UtxoRamp {
  const { id, node, realm, poller, context, ramp, address, virtual, target } = parts;
  const { send } = realm.admin;
  const script = async (of: string) => (await scriptOf(id, "regtest", of)).toHex();
  const withdrawal = async (of: string) => (await send("GET", `/v1/withdrawals/${of}`)).body;
  const account = async (of: string) => (await send("GET", `/v1/accounts/${of}`)).body;
  const held = async (of: string) =>
    (await node.coins(await script(of))).map(({ amount }) => amount);
  async function until(done: () => Promise<boolean>): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      if (await done()) return;
      await hurry(realm);
      await node.mine();
      await poller.follow();
    }
    throw new Error(await troubles(realm));
  }
  async function fund(...amounts: readonly bigint[]): Promise<void> {
    const own = await script(address);
    await node.pay(amounts.map((amount) => ({ script: own, amount })));
    const total = async () => toUnits((await account(ramp)).balance.total, 8);
    const wanted = amounts.reduce((sum, amount) => sum + amount, await total());
    await until(async () => await total() >= wanted);
    await refreshFees(context);
  }
  return {
    ...{ node, realm, context, ramp, address, virtual, account, withdrawal, held, until, fund },
    deposit: async (amount) => await node.pay([{ script: await script(target), amount }]),
    withdraw: async (to, value, more = {}) => {
      const order = { source: { account: virtual }, destination: { address: to }, value, ...more };
      const answer = await send("POST", "/v1/withdrawals", order);
      equal(answer.status, 201, answer.text);
      return answer.body.id;
    },
    follow: () => poller.follow(),
    advance: (onCheckpoint) => advanceOpen(realm, context, onCheckpoint),
    advanceOne: (seen) => advanceOrder(atThisTime(context), seen),
    async ended(ids) {
      const read = () => Promise.all(ids.map(withdrawal));
      await until(async () => (await read()).every(({ status }) => status !== "PROCESSING"));
      return await read();
    },
    quote: () => refreshFees(context),
    rob: async (to, ...inputs) => {
      const raw = await theft(context, { id, to, inputs });
      await node.rpc("generateblock", await node.rpc("getnewaddress"), [raw]);
    },
    release: async () => {
      const kept = "select account from ramps where quarantined is not null";
      await until(async () => (await rowsOf(realm, kept)).length > 0);
      await realm.command((tx) => tx`update ramps set quarantined = null`);
    },
    agree: () => assertAgreement(realm, held),
    [Symbol.asyncDispose]: async () => {
      poller[Symbol.dispose]();
      context.chains.close();
      await parts.end();
    },
  };
}

async function assertAgreement(realm: TestRealm, held: UtxoRamp["held"]): Promise<void> {
  const { mismatches } = await checkLedger(realm.pool);
  equal(mismatches.length, 0, JSON.stringify(mismatches));
  const owned = await rowsOf<{ address: string }>(realm, "select address from addresses");
  let sum = 0n;
  for (const { address } of owned) for (const amount of await held(address)) sum += amount;
  const [{ world }] = await rowsOf<{ world: string }>(
    realm,
    "select trim_scale(-total)::text as world from accounts where system = 'world'",
  );
  equal(sum, toUnits(world, 8), "the chain holds what the ledger says");
}

/** Works and mines in turn, with every job due at once. */
export async function follow(funded: UtxoRamp, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    await hurry(funded.realm);
    await funded.follow();
    await funded.node.mine();
  }
}

/** Makes all jobs due. */
export async function hurry(realm: TestRealm): Promise<void> {
  await realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
}

async function advanceOpen(
  realm: TestRealm,
  context: WorkerContext,
  onCheckpoint: OnCheckpoint = () => {},
): Promise<void> {
  const orders = await rowsOf<{ order: string; version: number }>(
    realm,
    `select id as order, schedule_version as version from chain_orders
      where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
  );
  for (const seen of orders) await advanceOrder(atThisTime(context), seen, onCheckpoint);
}

function atThisTime(context: WorkerContext): WorkerContext {
  const at = Date.now();
  return { ...context, actor: { ...context.actor, at, requestId: newId(at) } };
}

/** Signs a transaction that spends coins of an address of ours, as another holder of its key could. */
async function theft(
  context: WorkerContext,
  { id, to, inputs }: { id: CoinChainId; to: string; inputs: readonly string[] },
): Promise<string> {
  const coins = await reading(
    context.pool,
    (db) =>
      db<{ hash: string; index: number; amount: string; address: string }[]>`
      select hash, index, amount::text, address from coins
      where hash || ':' || index = any (${inputs as string[]}::text[])`,
  );
  equal(coins.length, inputs.length);
  const offered = coins.map((coin) => ({
    ...{ ...coin, amount: BigInt(coin.amount) },
    ...{ height: 1, parent: null },
  }));
  const [{ address }] = coins;
  const chain = await context.chains.open({ chain: id, testnet: true });
  const payments = [{ to, amount: "all" as const }];
  const order = { kind: "pay" as const, from: address, contract: null, payments };
  const plan = chain.plan(await chain.draft(order, "fast"), { coins: offered });
  const place = { chain: id, network: "regtest" as const };
  const rows = await reading(context.pool, (db) => selectKeyPositions(db, place, [address]));
  const store = { realm: context.realm.id, pool: context.pool };
  const paths = rows.map((row) => ({ ...place, ...row }));
  return (await context.signer.withKeys(store, paths, (keys) => chain.sign(plan, keys))).raw;
}

async function troubles(realm: TestRealm): Promise<string> {
  const orders = await rowsOf(realm, "select purpose, state, error from chain_orders");
  const open = "select name, state, last_error from jobs where state <> 'done'";
  return JSON.stringify({ orders, jobs: await rowsOf(realm, open) });
}
