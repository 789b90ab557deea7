/**
 * Adapter of Bitcoin, Litecoin, Bitcoin Cash and Dogecoin to the chain interface, over the RPC of
 * Bitcoin Core and its compatible nodes. The nodes need no index and no wallet.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import { type Chain, ChainError, type Reader, type Traits } from "../chain.ts";
import { agreedHead, followedBlock, presentBlock } from "../head.ts";
import type { NodeOptions } from "../node_pool.ts";
import type { Head } from "../observations.ts";
import { wholeBlock } from "./block.ts";
import { broadcastRaw } from "./broadcast.ts";
import { openCoinWitness } from "./coin_queries.ts";
import type { CoinChain } from "./context.ts";
import { draftOrder, PAYMENTS_MAX } from "./draft.ts";
import { statusOf } from "./status.ts";
import { quote } from "./fees.ts";
import { COIN_TABLES, type CoinChainId, GENESIS } from "./networks.ts";
import { openCoinNodes } from "./node_answers.ts";
import { planDraft } from "./payment.ts";
import { readPool } from "./mempool.ts";
import { readBlockAt, readHead, scanRange } from "./scan.ts";
import { rawOf } from "./raw_transaction.ts";
import { openScripts } from "./scripts.ts";
import {
  balancesAt,
  fundsAt,
  locateTransaction,
  recheck,
  searchBlock,
  searchTransaction,
} from "./search.ts";
import { planOfSigned } from "./found_plan.ts";
import { inspectRaw, signPlan } from "./sign.ts";
import { openSpends } from "./spend_index.ts";

/** A node reads its whole set of unspent outputs for one answer. */
const LIST_TIMEOUT_MS = 1_800_000;

/** Opens a chain of this family. No node is asked before the first use. */
export async function openCoins(
  id: CoinChainId,
  network: Network,
  urls: readonly string[],
  how: NodeOptions = {},
): Promise<Chain> {
  if (network !== "regtest" && !(`${id} ${network}` in GENESIS)) {
    throw new ChainError("unsupported", `${id} has no ${network} network`);
  }
  const table = COIN_TABLES[id];
  const nodes = openCoinNodes(id, network, urls, how);
  const bitcoin = await import("bitcoinjs-lib");
  const rules = { table, nodes, bitcoin };
  const chain: CoinChain = {
    ...rules,
    network,
    curve: await import("@bitcoinerlab/secp256k1"),
    scripts: openScripts(id, network),
    spends: openSpends((peer, place) => wholeBlock(rules, peer, place)),
    pool: new Map(),
  };
  const limits = { ...how.limits, timeoutMs: LIST_TIMEOUT_MS };
  const patient = openCoinNodes(id, network, urls, { ...how, limits });
  const reader: Reader = {
    search: (where, watch) =>
      "hash" in where
        ? searchTransaction(chain, where.hash, watch)
        : searchBlock(chain, where.height, watch),
    balances: (holdings) => balancesAt(chain, holdings),
    ...{ rewards: null, nonces: null },
    spent: () => Promise.reject(new ChainError("unsupported", "a spent coin names its spender")),
  };
  return {
    ...{ id, network },
    coins: openCoinWitness(chain, patient),
    traits: traitsOf(table.replaceable),
    quorum: chain.nodes.quorum,
    head: () => headOf(chain),
    block: (height) => followedBlock(chain.nodes, height, readBlockAt),
    scan: (from, to, watch) => scanRange(chain, from, to, watch),
    usesIndex: () => false,
    locate: (hash) => locateTransaction(chain, hash),
    mempool: (watch) => readPool(chain, watch),
    funds: (holdings) => fundsAt(chain, holdings),
    recheck: (transfer, evidence) => recheck(chain, transfer, evidence),
    reports: () => chain.nodes.reports(),
    balance: async (holding) => (await balancesAt(chain, [holding])).amounts[0],
    agreedBalances: async (all) => (await balancesAt(chain, all)).amounts,
    ...reader,
    through: () => reader,
    apart: () => [reader],
    quote: (contract) => quote(chain, contract),
    draft: (order, speed, budget) => draftOrder(chain, order, speed, budget),
    redraft: ({ order }, { speed, budget, cancels }) =>
      draftOrder(chain, cancels ? { kind: "noop", from: order.from } : order, speed, budget),
    plan: (draft, inputs, replaces) => planDraft(table, draft, inputs, replaces),
    sign: (plan, keys) => signPlan(chain, plan, keys),
    inspect: (raw) => inspectRaw(chain, raw),
    planOf: (signed, how) => planOfSigned(chain, signed, how),
    raw: (mined) => rawOf(chain, mined),
    outflow: null,
    broadcast: (signed) => broadcastRaw(chain, signed),
    status: (query) => statusOf(chain, query),
    token: () => Promise.resolve(null),
    close: () => {
      chain.nodes.close();
      patient.close();
    },
  };
}

/** Reads the newest block that the quorum has, the same one in all its nodes. */
async function headOf({ nodes }: CoinChain): Promise<Head> {
  return await agreedHead(nodes, readHead, presentBlock(readBlockAt));
}

function traitsOf(replaceable: boolean): Traits {
  return {
    coins: true,
    paymentsMax: PAYMENTS_MAX,
    replaceable,
    feePayer: false,
    leastKept: 0n,
    tokens: false,
    finalOnly: false,
    derivedBalances: false,
    validity: null,
  };
}
