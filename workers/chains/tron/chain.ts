/**
 * Adapter of Tron to the chain interface.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import { agreedBalance, agreedBalances, agreedFunds, type BalancesOf } from "../agreed_balances.ts";
import { type Chain, ChainError, type Reader, type Traits } from "../chain.ts";
import { agreedHead, followedBlock, presentBlock } from "../head.ts";
import type { NodeOptions, Peer } from "../node_pool.ts";
import type { Block, Head } from "../observations.ts";
import { balanceAt, balancesOf, spentBetween } from "./balances.ts";
import { broadcastRaw } from "./broadcast.ts";
import type { Tron } from "./context.ts";
import { draftOrder } from "./draft.ts";
import { quote } from "./fees.ts";
import { MINED_WITHIN_MS, SCANNED_WITHIN, SIGN_WITHIN_MS } from "./networks.ts";
import { blockAt, newestBlock, openTronNodes, type TronBlock } from "./node_answers.ts";
import { outflowOf } from "./outflow.ts";
import { inspectRaw, planDraft, signPlan } from "./payment.ts";
import { rawOf } from "./raw_transaction.ts";
import { recheck } from "./recheck.ts";
import { scanRange } from "./scan.ts";
import { locateTransaction, search } from "./search.ts";
import { statusOf } from "./status.ts";
import { tokenDetails } from "./token_details.ts";

const TRAITS: Traits = {
  coins: false,
  paymentsMax: 1,
  replaceable: false,
  feePayer: false,
  leastKept: 0n,
  tokens: true,
  finalOnly: true,
  derivedBalances: false,
  validity: {
    signWithinMs: SIGN_WITHIN_MS,
    minedWithinMs: MINED_WITHIN_MS,
    minedWithinBlocks: null,
    scannedWithin: SCANNED_WITHIN,
  },
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
  const readBalances: BalancesOf = (peer, holdings, height) =>
    balancesOf(tron, peer, holdings, height);
  const readAt: BalancesOf = (peer, holdings, height) => balanceAt(tron, peer, holdings, height!);
  return {
    id: "TRON",
    network,
    traits: TRAITS,
    quorum: tron.nodes.quorum,
    coins: null,
    head: () => headOf(tron),
    block: (height) => followedBlock(tron.nodes, height, readBlockAt),
    reports: () => tron.nodes.reports(),
    locate: (hash) => locateTransaction(tron, hash),
    mempool: () => Promise.resolve([]),
    scan: (from, to, watch) => scanRange(tron, from, to, watch),
    usesIndex: () => false,
    ...readerOf(tron),
    through: (turn) => readerOf({ ...tron, nodes: tron.nodes.from(turn) }),
    apart: (turn) =>
      tron.nodes.apart(turn).map((one) => readerOf({ ...tron, nodes: { ...tron.nodes, ...one } })),
    balance: (holding, height) => agreedBalance(tron.nodes, holding, height, readAt),
    agreedBalances: (all, height) => agreedBalances(tron.nodes, all, height, readBalances),
    funds: (holdings) => agreedFunds(tron.nodes, holdings, readBalances),
    recheck: (transfer, evidence) => recheck(tron, transfer, evidence),
    token: (contract, height) => tokenDetails(tron, contract, height),
    quote: (contract) => quote(tron, contract),
    draft: (order, speed, budget) => draftOrder(tron, order, speed, budget),
    planOf: () => Promise.resolve(null),
    redraft: () => Promise.reject(irreplaceable()),
    plan: (draft, _inputs, replaces) => planDraft(tron, draft, replaces),
    sign: async (plan, keys) => await Promise.resolve(signPlan(tron, plan, keys)),
    inspect: async (raw) => await Promise.resolve(inspectRaw(tron, raw)),
    raw: ({ hash }) => rawOf(tron, hash),
    outflow: (hash, of) => outflowOf(tron, hash, of),
    broadcast: (signed) => broadcastRaw(tron, signed),
    status: (query) => statusOf(tron, query),
    close: () => tron.nodes.close(),
  };
}

function irreplaceable(): ChainError {
  return new ChainError("unsupported", "a transaction of Tron replaces no other");
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

/** Queries that compare nodes: each `turn` asks another node first. */
function readerOf(tron: Tron): Reader {
  return {
    rewards: null,
    nonces: null,
    search: (where, watch) => search(tron, where, watch),
    balances: (holdings, height) =>
      tron.nodes.ask((peer) => balancesOf(tron, peer, holdings, height)),
    spent: (holding, from, to) =>
      tron.nodes.ask((peer) => spentBetween(tron, peer, holding, { from, to })),
  };
}
