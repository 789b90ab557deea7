/**
 * A realm with a Tron node and a ramp, for tests of deposits and withdrawals on Tron.
 * @module
 */
import { findAsset } from "../../domain/assets.ts";
import { startTronNode, type TronNode } from "./nodes/tron/node.ts";
import { openTestPoller, type TestPoller } from "./scan_steps.ts";
import { type TestRealm, testRealm } from "./realm.ts";

/** A realm and its Tron node. */
export interface TronRamp extends AsyncDisposable {
  readonly node: TronNode;
  readonly realm: TestRealm;
  readonly poller: TestPoller;
  /** Mines, and follows what came of it. */
  mine(blocks?: number): Promise<void>;
  /** Makes a ramp that is ready. */
  ramp(asset: string): Promise<{ id: string; address: string }>;
  /** Makes a deposit account. */
  address(account: string): Promise<{ id: string; address: string }>;
  /** Reads an account. */
  // deno-lint-ignore no-explicit-any
  account(id: string): Promise<any>;
}

/** Starts a realm on a Tron whose final block lies so many below the newest. */
export async function openTronRamp(
  how: { lag?: number; urls?: (node: TronNode) => string[]; env?: Record<string, string> } = {},
): Promise<TronRamp> {
  const node = await startTronNode({ lag: how.lag ?? 2 });
  const env = {
    TRON_RPC_URL: (how.urls?.(node) ?? [node.url]).join(),
    TRON_GENESIS_HASH: "any",
    TRON_CONFIRMATIONS: "2",
    ...how.env,
  };
  const realm = await testRealm({ env });
  const poller = openTestPoller(realm);
  const { send } = realm.admin;
  return {
    ...{ node, realm, poller },
    async mine(blocks = 1) {
      await node.mine(blocks);
      await poller.follow();
    },
    async ramp(asset) {
      const made = await send("POST", "/v1/accounts", { type: "ramp", asset });
      if (made.status !== 201) throw new Error(made.text);
      await realm.drain();
      const { id, ramp } = (await send("GET", `/v1/accounts/${made.body.id}`)).body;
      return { id, address: ramp.address };
    },
    async address(account) {
      const made = await send("POST", `/v1/account/${account}/address`, {});
      if (made.status !== 201) throw new Error(made.text);
      await realm.drain();
      return { id: made.body.id, address: made.body.address.address };
    },
    account: async (id) => (await send("GET", `/v1/accounts/${id}`)).body,
    async [Symbol.asyncDispose]() {
      poller[Symbol.dispose]();
      await realm[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    },
  };
}

/** Puts USDT at its real address, the supply in the hands of rich account 0. Gives the address. */
export async function installTether(node: TronNode): Promise<string> {
  const contract = findAsset("USDT_TRON")!.contract!;
  await node.copyContract(await node.deploy("Tether"), contract);
  return contract;
}
