/**
 * Adapter of Solana to the chain interface, over plain JSON-RPC. Heights are slots, and the newest block
 * is the newest final one, so no block that it reports is ever taken back.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import { type Chain, ChainError, type Traits } from "../chain.ts";
import { followedBlock } from "../head.ts";
import type { NodeOptions } from "../node_pool.ts";
import { headOf, readBlockAt } from "./block.ts";
import type { Solana } from "./context.ts";
import { openSolanaNodes } from "./node_answers.ts";

const TRAITS: Traits = {
  coins: false,
  paymentsMax: 1,
  replaceable: false,
  feePayer: true,
  tokens: true,
  // 150 blocks are about a minute.
  validity: { signWithinMs: 20_000, minedWithinMs: 300_000 },
};

/** Opens the chain. No node is asked before the first use. */
export async function openSolana(
  network: Network,
  urls: readonly string[],
  how: NodeOptions = {},
): Promise<Chain> {
  if (network !== "main" && network !== "testnet") {
    throw new ChainError("unsupported", `SOLANA has no ${network} network`);
  }
  const nodes = openSolanaNodes(network, urls, how);
  const solana: Solana = { network, nodes, web3: await import("@solana/web3.js") };
  return {
    id: "SOLANA",
    network,
    traits: TRAITS,
    quorum: nodes.quorum,
    coins: null,
    nonces: null,
    head: () => headOf(solana),
    block: (height) => followedBlock(nodes, height, readBlockAt),
    reports: () => nodes.reports(),
    mempool: () => Promise.resolve([]),
    close: () => nodes.close(),
    ...reading(),
    ...sending(),
  };
}

/** Parts that read transfers and balances. */
function reading() {
  return {
    scan: unsupported,
    search: unsupported,
    recheck: unsupported,
    balances: unsupported,
    funds: unsupported,
    balance: unsupported,
    spent: unsupported,
    through: unsupported,
    token: unsupported,
  };
}

/** Parts that make and follow transactions. */
function sending() {
  return {
    quote: unsupported,
    draft: unsupported,
    redraft: unsupported,
    plan: unsupported,
    sign: unsupported,
    inspect: unsupported,
    raw: unsupported,
    broadcast: unsupported,
    status: unsupported,
  };
}

function unsupported(): never {
  throw new ChainError("unsupported", "SOLANA cannot do this yet");
}
