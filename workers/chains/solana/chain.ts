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
import type { Speed } from "../../../domain/speeds.ts";
import type { Budget, Keys, Plan, SendRequest, Signed, StatusQuery } from "../outgoing.ts";
import type { Contract } from "../observations.ts";
import { broadcastRaw } from "./broadcast.ts";
import { draftOrder } from "./draft.ts";
import { quote } from "./fees.ts";
import { inspectRaw, PAYMENTS_MAX, planDraft, signPlan } from "./payment.ts";
import { rawOf } from "./raw_transaction.ts";
import { statusOf } from "./status.ts";

const TRAITS: Traits = {
  coins: false,
  paymentsMax: PAYMENTS_MAX,
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
    ...sending(solana),
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
function sending(solana: Solana) {
  return {
    quote: (contract: Contract) => quote(solana, contract),
    draft: (order: SendRequest, speed: Speed, budget?: Budget | null) =>
      draftOrder(solana, order, speed, budget),
    redraft: () => Promise.reject(new ChainError("unsupported", "SOLANA replaces no transaction")),
    plan: planDraft,
    sign: async (plan: Plan, keys: Keys) => await Promise.resolve(signPlan(solana, plan, keys)),
    inspect: async (raw: string) => await Promise.resolve(inspectRaw(solana, raw)),
    raw: ({ hash }: { hash: string }) => rawOf(solana, hash),
    broadcast: (signed: Signed) => broadcastRaw(solana, signed),
    status: (query: StatusQuery) => statusOf(solana, query),
  };
}

function unsupported(): never {
  throw new ChainError("unsupported", "SOLANA cannot do this yet");
}
