/**
 * A ramp of a token on a real Solana node: a realm whose workers a test moves step by step, scanning
 * included.
 * @module
 */
import { Keypair } from "@solana/web3.js";
import { reading } from "../../db/transaction.ts";
import { newId } from "../../domain/ids.ts";
import { refreshFees } from "../../workers/sending/fee_quotes.ts";
import type { OnCheckpoint } from "../../workers/sending/order_work.ts";
import { advanceOrder } from "../../workers/sending/sender.ts";
import type { WorkerContext } from "../../workers/worker_context.ts";
import { until } from "./eventually.ts";
import { credit, workerContextOf } from "./evm_fixture.ts";
import { startSurfpool, type Surfpool } from "./nodes/surfpool.ts";
import { type Answer, rowsOf, type TestRealm, testRealm } from "./realm.ts";
import { openTestPoller, type TestPoller } from "./scan_steps.ts";
import { installSplToken, type SplToken } from "./solana_tokens.ts";

/** A ramp of PYUSD on Solana, with tokens and SOL at its address. */
export interface SolanaRamp extends AsyncDisposable {
  readonly node: Surfpool;
  readonly realm: TestRealm;
  readonly token: SplToken;
  readonly context: WorkerContext;
  readonly poller: TestPoller;
  /** Ids of the ramp, and of a virtual account on it. */
  readonly ramp: string;
  readonly account: string;
  /** The ramp's address. */
  readonly address: string;
  withdraw(value: string, more?: Record<string, unknown>): Promise<Answer>;
  read(id: string): Promise<Answer["body"]>;
  /** Scans, and takes one step of each order; tells of each checkpoint. */
  advance(onCheckpoint?: OnCheckpoint): Promise<void>;
  /** Takes steps, and makes blocks final, until a withdrawal has ended. */
  finish(id: string): Promise<Answer["body"]>;
}

/** Options of a ramp. */
export interface SolanaRampOptions {
  /** Addresses of nodes, if not the real one's. */
  readonly front?: (url: string) => string;
  readonly env?: Record<string, string>;
}

/** Makes up somebody outside. */
export function outsider(): string {
  return Keypair.generate().publicKey.toBase58();
}

const SOL = 1_000_000_000n;
const PYUSD = 1_000_000n;

/** A realm with a node, and the token there. */
export interface SolanaRealm extends Pick<SolanaRamp, "node" | "realm" | "token"> {
  /** Ends both. */
  end(): Promise<void>;
}

/** Opens a ramp. */
export async function openSolanaRamp(options: SolanaRampOptions = {}): Promise<SolanaRamp> {
  return await prepareSolanaRamp(await openSolanaRealm(options));
}

/** Opens a realm with a node. */
export async function openSolanaRealm(
  options: SolanaRampOptions = {},
  file?: string,
): Promise<SolanaRealm> {
  const node = await startSurfpool("main");
  const token = await installSplToken(node, "PYUSD_SOL");
  const url = options.front?.(node.url) ?? node.url;
  const realm = await testRealm({ env: { SOLANA_RPC_URL: url, ...options.env } }, file);
  return {
    ...{ node, realm, token },
    async end() {
      await realm[Symbol.asyncDispose]();
      await node.stop();
    },
  };
}

/** Makes a ramp, which ends what it was made on. */
export async function prepareSolanaRamp(
  { node, realm, token, end }: SolanaRealm,
): Promise<SolanaRamp> {
  const context = await workerContextOf(realm);
  const poller = openTestPoller(realm);
  const { send } = realm.admin;
  const made = await send("POST", "/v1/accounts", { type: "ramp", asset: "PYUSD_SOL" });
  if (made.status !== 201) throw new Error(made.text);
  await realm.drain();
  const ramp: string = made.body.id;
  const found = await rowsOf<{ address: string }>(
    realm,
    "select address from addresses where account = $1",
    [ramp],
  );
  const [{ address }] = found;
  const virtual = await send("POST", "/v1/accounts", { type: "virtual", asset: "PYUSD_SOL", ramp });
  await realm.drain();
  const account: string = virtual.body.id;
  await poller.advance();
  await node.pay(address, SOL);
  await token.pay(address, 1_000n * PYUSD);
  await node.mine();
  await poller.follow();
  await credit(realm, account, "100");
  await refreshFees(context);
  const parts = { node, realm, token, context, poller, ramp, account, address };
  const read = async (id: string) => (await send("GET", `/v1/withdrawals/${id}`)).body;
  async function advance(onCheckpoint: OnCheckpoint = () => {}): Promise<void> {
    await poller.advance();
    const orders = await reading(realm.pool, (db) =>
      db<{ order: string; version: number }[]>`
        select id as order, schedule_version as version from chain_orders
        where state in ('new', 'planned', 'signed', 'sent', 'mined') order by id`);
    for (const seen of orders) await advanceOrder(fresh(context), seen, onCheckpoint);
  }
  return {
    ...{ ...parts, read, advance },
    withdraw: (value, more = {}) =>
      send("POST", "/v1/withdrawals", {
        source: { account },
        destination: { address: outsider() },
        value,
        ...more,
      }),
    async finish(id) {
      await until(async () => {
        await advance();
        if ((await read(id)).status !== "PROCESSING") return true;
        await node.mine();
        return false;
      });
      return await read(id);
    },
    [Symbol.asyncDispose]: async () => {
      poller[Symbol.dispose]();
      context.chains.close();
      await end();
    },
  };
}

function fresh(context: WorkerContext): WorkerContext {
  const at = Date.now();
  return { ...context, actor: { ...context.actor, at, requestId: newId(at) } };
}
