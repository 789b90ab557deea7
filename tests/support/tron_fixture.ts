/**
 * A funded ramp on Tron: a realm with a ramp and a virtual account over the test's node, and workers that a test
 * moves step by step.
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { checkLedger } from "../../domain/audit/ledger_check.ts";
import { findAsset } from "../../domain/assets.ts";
import { newId } from "../../domain/ids.ts";
import { checkSolvency } from "../../workers/audit/solvency.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import type { OnCheckpoint } from "../../workers/sending/order_work.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import { workerContextOf } from "./evm_fixture.ts";
import { startTronNode, type TronNode } from "./nodes/tron/node.ts";
import { richTron, toHex } from "./nodes/tron/wallet.ts";
import { type Answer, rowsOf, type TestRealm, testRealm } from "./realm.ts";
import { openTestPoller } from "./scan_steps.ts";

/** A realm with a ramp and a virtual account over a Tron of its own. */
export interface TronRamp extends AsyncDisposable {
  readonly node: TronNode;
  readonly realm: TestRealm;
  readonly context: WorkerContext;
  readonly ramp: string;
  /** The ramp's address. */
  readonly address: string;
  readonly virtual: string;
  account(id: string): Promise<Answer["body"]>;
  /** Asks for a withdrawal from the virtual account. */
  withdraw(to: string, value: string, more?: Record<string, unknown>): Promise<Answer>;
  withdrawal(id: string): Promise<Answer["body"]>;
  /** Polls the chain and runs the jobs that follow. */
  follow(): Promise<void>;
  /** Takes a step of each open order, now; tells of each checkpoint that it passes. */
  advance(onCheckpoint?: OnCheckpoint): Promise<void>;
  /** Prices payments at this moment. */
  refreshFees(): Promise<void>;
  /** Mines and follows until something holds. */
  until(done: () => Promise<boolean>): Promise<void>;
  /** Mines and follows until a withdrawal has ended. */
  ended(id: string): Promise<Answer["body"]>;
  /** Demands that the ledger is sound, and that it says of each asset what the chain holds. */
  agree(): Promise<void>;
}

/** Options of a funded ramp. */
export interface TronRampOptions {
  /** TRON unless given; a token's contract is put where the registry expects it. */
  readonly asset?: "TRON" | "USDT_TRON";
  /** Blocks that the final one lies below the head. */
  readonly lag?: number;
  /** Addresses of nodes in place of the one. */
  readonly nodes?: (node: TronNode) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Base units that customers deposit, and sun that the ramp's address has for fees. */
  readonly total?: bigint;
  readonly gas?: bigint;
}

/** What `transfer` of a token begins with. */
const TRANSFER = "a9059cbb";
const ROUNDS = 30;

/** Opens a funded ramp. */
export async function openTronRamp(
  options: TronRampOptions = {},
  file?: string,
): Promise<TronRamp> {
  const { asset = "TRON", lag = 1, total = 100_000_000n, gas = 100_000_000n } = options;
  const node = await startTronNode({ lag });
  const urls = options.nodes?.(node) ?? [node.url];
  const realm = await testRealm({
    env: {
      TRON_RPC_URL: urls.join(),
      TRON_GENESIS_HASH: "any",
      TRON_CONFIRMATIONS: "2",
      ...options.env,
    },
  }, file);
  const context = await workerContextOf(realm);
  const poller = openTestPoller(realm);
  const { send } = realm.admin;
  async function made(path: string, body: Record<string, unknown>): Promise<Answer["body"]> {
    const answer = await send("POST", path, body);
    equal(answer.status, 201, answer.text);
    await realm.drain();
    return answer.body;
  }
  const { contract } = findAsset(asset)!;
  if (contract !== null) await node.copyContract(await node.deploy("Tether"), contract);
  const ramp = (await made("/v1/accounts", { type: "ramp", asset })).id;
  const { ramp: { address } } = (await send("GET", `/v1/accounts/${ramp}`)).body;
  const virtual = (await made("/v1/accounts", { type: "virtual", asset, ramp })).id;
  const target = (await made(`/v1/account/${virtual}/address`, {})).address.address;
  await poller.follow();
  const end = async () => {
    await realm[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  };
  const ledgerOf = assemble({ node, realm, context, poller, ramp, address, virtual, end });
  if (contract === null) {
    await node.pay(target, total);
  } else {
    await node.fund(address, gas);
    await payToken(node, contract, target, total);
  }
  await ledgerOf.until(async () => {
    const { balance } = await ledgerOf.account(virtual);
    const swept = await rowsOf<{ state: string }>(realm, "select state from chain_orders");
    return balance.total !== "0" && swept.length > 0 && swept.every((one) => one.state === "done");
  });
  await refreshFees(context);
  return ledgerOf;
}

/** Sends a token from rich account 0, without mining. */
export async function payToken(
  node: TronNode,
  contract: string,
  to: string,
  amount: bigint,
): Promise<void> {
  const words = [toHex(to).slice(2), amount.toString(16)].map((word) => word.padStart(64, "0"));
  await node.trigger(contract, TRANSFER + words.join(""), { from: richTron() });
}

/** The same ramp, whose workers know nothing of the node yet. */
export async function sameTronRamp(
  { node, ramp, address, virtual }: Pick<TronRamp, "node" | "ramp" | "address" | "virtual">,
  realm: TestRealm,
): Promise<TronRamp> {
  const context = await workerContextOf(realm);
  const poller = openTestPoller(realm);
  const end = () => Promise.resolve();
  return assemble({ node, realm, context, poller, ramp, address, virtual, end });
}

type Parts =
  & Pick<TronRamp, "node" | "realm" | "context" | "ramp" | "address" | "virtual">
  & { readonly poller: ReturnType<typeof openTestPoller> }
  /** Ends what the ramp was opened on. */
  & { readonly end: () => Promise<void> };

function assemble(parts: Parts): TronRamp {
  const { node, realm, context, poller, ramp, address, virtual } = parts;
  const { send } = realm.admin;
  const withdrawal = async (id: string) => (await send("GET", `/v1/withdrawals/${id}`)).body;
  const fresh = (): WorkerContext => {
    const at = Date.now();
    return { ...context, actor: { ...context.actor, at, requestId: newId(at) } };
  };
  async function until(done: () => Promise<boolean>): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      if (await done()) return;
      await realm.command((tx) => tx`update jobs set run_at = now() where state = 'ready'`);
      await node.mine();
      await poller.follow();
    }
    throw new Error(await troubles(realm));
  }
  return {
    ...{ node, realm, context, ramp, address, virtual, withdrawal, until },
    account: async (id) => (await send("GET", `/v1/accounts/${id}`)).body,
    withdraw: (to, value, more = {}) =>
      send("POST", "/v1/withdrawals", {
        source: { account: virtual },
        destination: { address: to },
        value,
        ...more,
      }),
    follow: () => poller.follow(),
    refreshFees: () => refreshFees(context),
    async advance(onCheckpoint = () => {}) {
      const orders = await rowsOf<{ order: string; version: number }>(
        realm,
        `select id as order, schedule_version as version from chain_orders
          where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`,
      );
      for (const seen of orders) await advanceOrder(fresh(), seen, onCheckpoint);
    },
    async ended(id) {
      await until(async () => (await withdrawal(id)).status !== "PROCESSING");
      return await withdrawal(id);
    },
    async agree() {
      await node.mine(3);
      await poller.follow(2);
      deepEqual((await checkLedger(realm.pool)).mismatches, []);
      await checkSolvency(fresh());
      const { body } = await send("GET", "/v1/solvency");
      const drifts = body.map((row: { asset: string; drift: string }) => [row.asset, row.drift]);
      deepEqual(drifts, drifts.map(([asset]: [string]) => [asset, "0"]));
    },
    async [Symbol.asyncDispose]() {
      poller[Symbol.dispose]();
      context.chains.close();
      await parts.end();
    },
  };
}

async function troubles(realm: TestRealm): Promise<string> {
  return JSON.stringify({
    deposits: await rowsOf(realm, "select status, error, sweep from deposits"),
    sweeps: await rowsOf(realm, "select state, error from sweeps"),
    orders: await rowsOf(realm, "select purpose, state, error from chain_orders"),
    jobs: await rowsOf(realm, "select name, state, last_error from jobs where state <> 'done'"),
  });
}
