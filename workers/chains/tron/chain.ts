/**
 * Adapter of Tron to the chain interface.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import { type Chain, ChainError, type Traits } from "../chain.ts";
import { agreedHead, followedBlock, presentBlock } from "../head.ts";
import type { NodeOptions, Peer } from "../node_pool.ts";
import type { Block, Head } from "../observations.ts";
import type { Tron } from "./context.ts";
import { MINED_WITHIN_MS, SIGN_WITHIN_MS } from "./networks.ts";
import { blockAt, newestBlock, openTronNodes, type TronBlock } from "./node_answers.ts";

const TRAITS: Traits = {
  coins: false,
  paymentsMax: 1,
  replaceable: false,
  feePayer: false,
  tokens: true,
  validity: { signWithinMs: SIGN_WITHIN_MS, minedWithinMs: MINED_WITHIN_MS },
};

/** Opens Tron. No node is asked before the first use. */
export async function openTron(
  network: Network,
  urls: readonly string[],
  how: NodeOptions = {},
): Promise<Chain> {
  if (network !== "main" && network !== "testnet") {
    throw new ChainError("unsupported", `TRON has no ${network} network`);
  }
  const ethers = await import("ethers");
  const tron: Tron = { network, nodes: openTronNodes(network, urls, how), ethers };
  return {
    id: "TRON",
    network,
    traits: TRAITS,
    quorum: tron.nodes.quorum,
    coins: null,
    nonces: null,
    head: () => headOf(tron),
    block: (height) => followedBlock(tron.nodes, height, readBlockAt),
    reports: () => tron.nodes.reports(),
    mempool: () => Promise.resolve([]),
    ...unbuilt(),
    close: () => tron.nodes.close(),
  };
}

/** Reads the newest block that the quorum has, the same one in all its nodes. */
async function headOf(tron: Tron): Promise<Head> {
  return await agreedHead(tron.nodes, readHead, presentBlock(readBlockAt));
}

async function readHead(peer: Peer): Promise<Head> {
  const final = await newestBlock(peer, true);
  return { ...bare(await newestBlock(peer)), finalized: final.height };
}

async function readBlockAt(peer: Peer, height: number): Promise<Block | null> {
  const block = await blockAt(peer, height);
  return block === null ? null : bare(block);
}

function bare({ height, hash, parentHash, time }: TronBlock): Block {
  return { height, hash, parentHash, time };
}

type Unbuilt = Omit<
  Chain,
  | ("id" | "network" | "traits" | "quorum" | "coins" | "nonces" | "head" | "block" | "reports")
  | ("mempool" | "close")
>;

/** Parts of the adapter that are not built. */
function unbuilt(): Unbuilt {
  const refuse = () => Promise.reject(new ChainError("unsupported", "TRON cannot do this yet"));
  const fail = () => {
    throw new ChainError("unsupported", "TRON cannot do this yet");
  };
  return {
    scan: fail,
    search: refuse,
    balances: refuse,
    spent: refuse,
    through: fail,
    recheck: refuse,
    balance: refuse,
    funds: refuse,
    quote: refuse,
    draft: refuse,
    redraft: refuse,
    plan: fail,
    sign: refuse,
    inspect: refuse,
    raw: refuse,
    broadcast: refuse,
    status: refuse,
    token: refuse,
  };
}
