/**
 * Tron to play on: the test's node with the adapter over it, and somebody with TRX and no free bandwidth.
 * @module
 */
import type { Chain } from "../../../workers/chains/chain.ts";
import { openTron } from "../../../workers/chains/tron/chain.ts";
import type { Plan, SendRequest, Signed } from "../../../workers/chains/outgoing.ts";
import { startTronNode, type TronNode } from "../../support/nodes/tron/node.ts";
import { toBase58, type TronParty } from "../../support/nodes/tron/wallet.ts";

/** The chain with a node before it. */
export interface TronPlay extends AsyncDisposable {
  readonly node: TronNode;
  readonly chain: Chain;
  /** Opens the adapter over other addresses; closed with the rest. */
  open(urls: readonly string[], quorum?: number): Promise<Chain>;
}

/** Starts a chain; blocks are final at once unless a lag is given. */
export async function openTronPlay(
  { lag = 0, front = (url: string) => url } = {},
): Promise<TronPlay> {
  const node = await startTronNode({ lag });
  const opened: Chain[] = [];
  async function open(urls: readonly string[], quorum?: number): Promise<Chain> {
    const how = { limits: { timeoutMs: 20_000 }, quorum, genesisHash: "any" };
    const chain = await openTron("main", urls, how);
    opened.push(chain);
    return chain;
  }
  return {
    node,
    chain: await open([front(node.url)]),
    open,
    async [Symbol.asyncDispose]() {
      for (const one of opened) one.close();
      await node[Symbol.asyncDispose]();
    },
  };
}

/** A payment of TRX, or of a token. */
export function pays(
  from: TronParty,
  to: string,
  amount: bigint | "all",
  contract: string | null = null,
): SendRequest {
  return { kind: "pay", from: from.address, contract, payments: [{ to, amount }] };
}

/** Drafts, plans and signs an order. */
export async function signed(
  chain: Chain,
  party: TronParty,
  order: SendRequest,
): Promise<{ plan: Plan; bytes: Signed }> {
  const plan = chain.plan(await chain.draft(order, "medium"), {});
  return { plan, bytes: await chain.sign(plan, new Map([[party.address, party.key]])) };
}

/** Deploys a token. Gives its address. */
export async function deployed(
  node: TronNode,
  name: Parameters<TronNode["deploy"]>[0],
): Promise<string> {
  return toBase58(await node.deploy(name));
}
