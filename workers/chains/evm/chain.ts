/**
 * Adapter of Ethereum, Polygon, Celo and BSC to the chain interface.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import { type Chain, ChainError, type Reader, type Traits } from "../chain.ts";
import { agreedBalance, agreedBalances, agreedFunds } from "../agreed_balances.ts";
import { agreedHead, followedBlock, presentBlock } from "../head.ts";
import { allOf, type NodeOptions, type Peer } from "../node_pool.ts";
import { reachedBy } from "../quorum.ts";
import type { Nonces } from "../nonces.ts";
import type { Head } from "../observations.ts";
import { broadcastRaw } from "./broadcast.ts";
import type { Evm } from "./context.ts";
import { draftOrder, redraftPlan } from "./draft.ts";
import { statusOf } from "./status.ts";
import { finalHeight, type ToldFinal } from "./finality.ts";
import { quote } from "./fees.ts";
import { EVM_TABLES, type EvmChainId } from "./networks.ts";
import { number, openEvmNodes, readBlock, toHex } from "./node_answers.ts";
import { inspectRaw, planDraft, signPlan } from "./payment.ts";
import { planOfSigned } from "./found_plan.ts";
import { rawOf } from "./raw_transaction.ts";
import { rewardsBetween } from "./rewards.ts";
import { scanRange, searchBlock } from "./scan_range.ts";
import { bare } from "./scan.ts";
import { balancesAt, balancesOf, locateTransaction, searchTransaction } from "./search.ts";
import { callOutflow } from "./call_outflow.ts";
import { countsAt, spentBetween } from "./outflow.ts";
import { tokenDetails } from "./token_details.ts";
import { recheck } from "./transfer_proof.ts";

const TRAITS: Traits = {
  coins: false,
  paymentsMax: 1,
  replaceable: true,
  feePayer: false,
  leastKept: 0n,
  tokens: true,
  finalOnly: false,
  derivedBalances: false,
  validity: null,
};

/** Opens a chain of this family. No node is asked before the first use. */
export async function openEvm(
  id: EvmChainId,
  network: Network,
  urls: readonly string[],
  how: NodeOptions = {},
): Promise<Chain> {
  if (network !== "main" && network !== "testnet") {
    throw new ChainError("unsupported", `${id} has no ${network} network`);
  }
  const ethers = await import("ethers");
  const table = EVM_TABLES[id];
  const nodes = openEvmNodes(id, network, urls, how);
  const evm: Evm = { table, network, nodes, finals: new Map(), ethers };
  return {
    id,
    network,
    traits: TRAITS,
    quorum: evm.nodes.quorum,
    coins: null,
    head: () => headOf(evm),
    block: (height) => followedBlock(evm.nodes, height, readBlockAt),
    scan: (from, to, watch) => scanRange(evm, from, to, watch),
    usesIndex: () => false,
    ...reader(evm),
    through: (turn) => reader({ ...evm, nodes: { ...evm.nodes, ...evm.nodes.from(turn) } }),
    apart: (turn) =>
      evm.nodes.apart(turn).map((one) => reader({ ...evm, nodes: { ...evm.nodes, ...one } })),
    reports: () => evm.nodes.reports(),
    locate: (hash) => locateTransaction(evm, hash),
    mempool: () => Promise.resolve([]),
    balance: (holding, height) => agreedBalance(evm.nodes, holding, height, balancesOf),
    agreedBalances: (all, height) => agreedBalances(evm.nodes, all, height, balancesOf),
    funds: (holdings) => agreedFunds(evm.nodes, holdings, balancesOf),
    recheck: (transfer, evidence) => recheck(evm, transfer, evidence),
    quote: (contract) => quote(evm, contract),
    draft: (order, speed, budget) => draftOrder(evm, order, speed, budget),
    redraft: (replaces, how) => redraftPlan(evm, replaces, how),
    plan: (draft, inputs, replaces) => planDraft(evm, draft, inputs, replaces),
    sign: async (plan, keys) => await Promise.resolve(signPlan(evm, plan, keys)),
    inspect: async (raw) => await Promise.resolve(inspectRaw(evm, raw)),
    planOf: ({ raw }, how) => planOfSigned(evm, raw, how),
    raw: ({ hash }) => rawOf(evm, hash),
    outflow: (hash, of) => callOutflow(evm, hash, of),
    broadcast: (signed) => broadcastRaw(evm, signed),
    status: (query) => statusOf(evm, query),
    token: (contract, height) => tokenDetails(evm, contract, height),
    close: () => evm.nodes.close(),
  };
}

/** Queries that compare nodes: each `turn` asks another node first. */
function reader(evm: Evm): Reader {
  return {
    search: (where, watch, enough) =>
      "hash" in where
        ? searchTransaction(evm, where.hash, watch, (transfer) => recheck(evm, transfer))
        : searchBlock(evm, where.height, watch, enough),
    balances: (holdings, height) => balancesAt(evm, holdings, height),
    rewards: (address, above, upTo) => {
      const of = { above, upTo, tips: evm.table.id === "ETHEREUM" };
      return evm.nodes.ask((peer) => rewardsBetween(peer, address, of));
    },
    nonces: {
      count: (address) => noncesOf(evm, address),
      countAt: (addresses, height) => evm.nodes.ask((peer) => countsAt(peer, addresses, height)),
    },
    spent: (holding, from, to) =>
      evm.nodes.ask((peer) => spentBetween(evm, peer, holding, { from, to })),
  };
}

/** Reads the newest block that the quorum has, the same one in all its nodes. */
async function headOf(evm: Evm): Promise<Head> {
  return await agreedHead(evm.nodes, (peer) => readHead(evm, peer), presentBlock(readBlockAt));
}

/** One node that lies or lags, beside a quorum, does not change the result. */
async function noncesOf(evm: Evm, address: string): Promise<Nonces> {
  const { heard } = await evm.nodes.hear((peer) => readNonces(peer, address));
  const told = heard.map(({ answer }) => answer);
  return {
    mined: reachedBy(told.map(({ mined }) => mined), evm.nodes.quorum),
    pooled: reachedBy(told.map(({ pooled }) => pooled), evm.nodes.quorum),
  };
}

async function readHead(evm: Evm, peer: Peer): Promise<Head> {
  const block = (tag: string) => ({ method: "eth_getBlockByNumber", params: [tag, false] });
  const asked = evm.network === "main" ? [block("finalized"), block("latest")] : [block("latest")];
  const since = performance.now();
  const answers = await peer.batch(asked);
  const latest = answers[answers.length - 1];
  const head = readBlock(allOf([latest])[0]);
  if (head === null) throw new ChainError("unavailable", `${peer.name} has no head`);
  if (asked.length === 1) return { ...bare(head), finalized: null };
  const told = { answer: answers[0], head: head.height, since };
  return { ...bare(head), finalized: await finalOf(evm, peer, told) };
}

/** Reports a node that contradicts itself about its final block; its other answers still count. */
async function finalOf(evm: Evm, peer: Peer, told: ToldFinal): Promise<number | null> {
  try {
    return await finalHeight(evm, peer, told);
  } catch (error) {
    if (error instanceof ChainError) return null;
    throw error;
  }
}

async function readBlockAt(peer: Peer, height: number) {
  const block = readBlock(await peer.call("eth_getBlockByNumber", [toHex(height), false]));
  if (block !== null && block.height !== height) {
    throw new ChainError("unavailable", `${peer.name} gave another block than ${height}`);
  }
  return block === null ? null : bare(block);
}

async function readNonces(peer: Peer, address: string) {
  const [mined, pooled] = allOf(
    await peer.batch(["latest", "pending"].map((tag) => ({
      method: "eth_getTransactionCount",
      params: [address, tag],
    }))),
  );
  return { mined: number(mined, "a nonce"), pooled: number(pooled, "a nonce") };
}
