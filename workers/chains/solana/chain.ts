/**
 * Adapter of Solana to the chain interface, over plain JSON-RPC. Heights are slots, and the newest block
 * is the newest final one, so no block that it reports is ever taken back.
 * @module
 */
import { chainInfo } from "../../../domain/assets.ts";
import type { Network } from "../../../domain/chains/addresses.ts";
import { agreedBalance, agreedBalances, agreedFunds, type BalancesOf } from "../agreed_balances.ts";
import { type Chain, ChainError, type Reader, type Traits } from "../chain.ts";
import { followedBlock } from "../head.ts";
import type { NodeOptions, Nodes } from "../node_pool.ts";
import { balancesOf, spentBetween } from "./balances.ts";
import { headOf, readBlockAt } from "./block.ts";
import type { Solana } from "./context.ts";
import { WALLET_RENT } from "./networks.ts";
import { openSolanaNodes } from "./node_answers.ts";
import type { Speed } from "../../../domain/speeds.ts";
import type {
  Budget,
  Keys,
  OutflowQuery,
  Plan,
  SendRequest,
  Signed,
  StatusQuery,
} from "../outgoing.ts";
import { outflowOf } from "./outflow.ts";
import type { Contract } from "../observations.ts";
import { broadcastRaw } from "./broadcast.ts";
import { draftOrder } from "./draft.ts";
import { quote } from "./fees.ts";
import { inspectRaw, PAYMENTS_MAX, planDraft, signPlan } from "./payment.ts";
import { rawOf } from "./raw_transaction.ts";
import { statusOf } from "./status.ts";
import { locateTransaction, recheck, searchTransaction } from "./recheck.ts";
import { rewardsBetween } from "./rewards.ts";
import { readsBySignatures, scanRange, searchBlock } from "./scan.ts";
import { tokenDetails } from "./token_details.ts";

const TRAITS: Traits = {
  coins: false,
  paymentsMax: PAYMENTS_MAX,
  replaceable: false,
  feePayer: chainInfo("SOLANA").feePayers === true,
  leastKept: WALLET_RENT,
  tokens: true,
  finalOnly: false,
  derivedBalances: true,
  // 150 blocks are about a minute.
  validity: {
    signWithinMs: 20_000,
    minedWithinMs: 300_000,
    minedWithinBlocks: 200, // a transaction names a final block, and is valid for 150 more
    scannedWithin: 150,
  },
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
  const read: BalancesOf = (peer, holdings, height) => balancesOf(solana, peer, holdings, height);
  return {
    id: "SOLANA",
    network,
    traits: TRAITS,
    quorum: nodes.quorum,
    coins: null,
    head: () => headOf(solana),
    block: (height) => followedBlock(nodes, height, readBlockAt),
    reports: () => nodes.reports(),
    locate: (hash) => locateTransaction(solana, hash),
    mempool: () => Promise.resolve([]),
    close: () => nodes.close(),
    ...reader(solana, nodes),
    through: (turn) => reader(solana, nodes.from(turn)),
    apart: (turn) => nodes.apart(turn).map((one) => reader(solana, { ...nodes, ...one })),
    scan: (from, to, watch, by) => scanRange(solana, { from, to, by }, watch),
    usesIndex: (blocks, watch) => readsBySignatures(watch, blocks),
    recheck: (transfer, evidence) => recheck(solana, transfer, evidence),
    funds: (holdings) => agreedFunds(nodes, holdings, read),
    balance: (holding, height) => agreedBalance(nodes, holding, height, read),
    agreedBalances: (all, height) => agreedBalances(nodes, all, height, read),
    token: (contract, height) => tokenDetails(solana, contract, height),
    ...sending(solana),
  };
}

/** Questions that compare nodes: each `turn` asks another node first. */
function reader(solana: Solana, nodes: Nodes): Reader {
  const asked = { ...solana, nodes };
  return {
    nonces: null,
    search: (where, watch) =>
      "hash" in where
        ? searchTransaction(asked, where.hash, watch)
        : searchBlock(asked, where.height, watch),
    balances: (holdings, height) => nodes.ask((peer) => balancesOf(solana, peer, holdings, height)),
    spent: (holding, from, to) =>
      nodes.ask((peer) => spentBetween(solana, peer, holding, { from, to })),
    rewards: (address, above, upTo) =>
      nodes.ask((peer) => rewardsBetween(peer, address, { above, upTo })),
  };
}

/** Parts that make and follow transactions. */
function sending(solana: Solana) {
  return {
    quote: (contract: Contract) => quote(solana, contract),
    draft: (order: SendRequest, speed: Speed, budget?: Budget | null) =>
      draftOrder(solana, order, speed, budget),
    planOf: () => Promise.resolve(null),
    redraft: () => Promise.reject(new ChainError("unsupported", "SOLANA replaces no transaction")),
    plan: planDraft,
    sign: async (plan: Plan, keys: Keys) => await Promise.resolve(signPlan(solana, plan, keys)),
    inspect: async (raw: string) => await Promise.resolve(inspectRaw(solana, raw)),
    raw: ({ hash }: { hash: string }) => rawOf(solana, hash),
    outflow: (hash: string, of: OutflowQuery) => outflowOf(solana, hash, of),
    broadcast: (signed: Signed) => broadcastRaw(solana, signed),
    status: (query: StatusQuery) => statusOf(solana, query),
  };
}
