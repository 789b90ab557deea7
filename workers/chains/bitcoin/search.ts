/**
 * Reads single transactions, coins and balances from a node without any index: from
 * its unspent outputs, its mempool, and whole blocks.
 * @module
 */
import { readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { followedBlock } from "../head.ts";
import type { Peer } from "../node_pool.ts";
import { heldAtLeast } from "../quorum.ts";
import { RpcError } from "../rpc.ts";
import type {
  Balances,
  Block,
  Checked,
  Evidence,
  Holding,
  Location,
  Transfer,
  WatchList,
} from "../observations.ts";
import { wholeBlock } from "./block.ts";
import type { CoinChain } from "./context.ts";
import {
  blockOf,
  hash,
  hashAt,
  headerOf,
  isMissingMethod,
  type OutputList,
  readTransaction,
  type Unspent,
  unspentAt,
  unspentOf,
} from "./node_answers.ts";
import { bare, maturityOf, readBlockAt, scanRange, transfersOf } from "./scan.ts";

/** Outputs that are tried for an unspent one: few at first, then as many as large payers make. */
const TRIED: readonly (readonly [number, number])[] = [[0, 20], [20, 500]];

/**
 * Finds the transfers of a transaction to watched addresses. Without an index a node finds it only
 * while it is in the mempool or one of its outputs is unspent; else its block must be searched.
 */
export async function searchTransaction(
  chain: CoinChain,
  hash: string,
  watch: WatchList,
): Promise<Transfer[]> {
  if (!/^[0-9a-f]{64}$/.test(hash)) return [];
  const index = await chain.scripts.index(watch);
  return await chain.nodes.ask(async (peer) => {
    const block = await minedIn(peer, hash);
    if (block === null) return [];
    const there = await followedBlock(chain.nodes, block.height, readBlockAt);
    if (there?.hash !== block.hash) {
      throw new ChainError("unavailable", `${peer.name} alone has the block of ${hash}`);
    }
    const { transactions } = await wholeBlock(chain, peer, block);
    const found = transactions.find((one) => one.hash === hash);
    if (!found) throw new ChainError("unavailable", `${peer.name} is changing around ${hash}`);
    return transfersOf(chain, found, block, index);
  });
}

/** Tells what a node knows of a transaction. */
export async function locateTransaction(chain: CoinChain, hash: string): Promise<Location> {
  return await chain.nodes.ask(async (peer) => {
    const block = await minedIn(peer, hash);
    if (block !== null) return { state: "mined", height: block.height };
    const [waiting] = await peer.batch([{ method: "getmempoolentry", params: [hash] }]);
    return { state: waiting instanceof RpcError ? "unknown" : "pending" };
  });
}

/** Finds the transfers of a block to watched addresses. */
export async function searchBlock(
  chain: CoinChain,
  height: number,
  watch: WatchList,
): Promise<Transfer[]> {
  const found: Transfer[] = [];
  for await (const { transfers } of scanRange(chain, height, height, watch)) {
    found.push(...transfers);
  }
  return found;
}

/** Reads a transfer again, from as many nodes as the quorum demands. */
export async function recheck(
  chain: CoinChain,
  transfer: Transfer,
  { depth }: Evidence = {},
): Promise<Checked | null> {
  const script = await chain.scripts.script(transfer.to);
  return await chain.nodes.agree(
    async (peer) => {
      const again = await witness(chain, peer, transfer, script);
      const block = again?.transfer.block ?? transfer.block;
      if (depth !== undefined && block !== null) await assertDepth(peer, block, depth);
      return again;
    },
    (checked) => {
      if (checked === null) return "none";
      const { block, amount, maturesAt } = checked.transfer;
      return `${block?.hash} ${amount} ${maturesAt}`;
    },
    `transaction ${transfer.hash}`,
  );
}

async function assertDepth(peer: Peer, block: Block, depth: number): Promise<void> {
  const best = await headerOf(peer, hash(await peer.call("getbestblockhash", [])));
  if (best.height - block.height + 1 >= depth) return;
  throw new ChainError("unavailable", `${peer.name} is only at block ${best.height}`);
}

/** Reads a transfer by its coin while that is unspent, else in the block that a scan found it in. */
async function witness(
  chain: CoinChain,
  peer: Peer,
  transfer: Transfer,
  script: string,
): Promise<Checked | null> {
  const [coin] = await unspentOf(peer, [`${transfer.hash}:${transfer.index}`], false);
  if (coin !== null) {
    // A transaction's id covers all its outputs, and its block has proven it.
    if (coin.script !== script || coin.amount !== transfer.amount) {
      throw new ChainError("unavailable", `${peer.name} reports another coin of ${transfer.hash}`);
    }
    return checked(transfer, await blockOf(peer, coin), coin.amount, waitOf(chain, coin, transfer));
  }
  const { block } = transfer;
  if (block === null || await hashAt(peer, block.height) !== block.hash) return null;
  const { transactions } = await wholeBlock(chain, peer, block);
  const again = transactions.find((one) => one.hash === transfer.hash);
  const output = again?.outputs.find((one) => one.index === transfer.index);
  if (!again || !output || output.script !== script || output.amount === 0n) return null;
  const header = await headerOf(peer, block.hash);
  return checked(transfer, header, output.amount, maturityOf(chain, again));
}

/** Reads balances of the head. */
export async function balancesAt(
  chain: CoinChain,
  holdings: readonly Holding[],
): Promise<Balances> {
  return await chain.nodes.ask(await balanceReader(chain, holdings));
}

/** Reads the balances that as many nodes as the quorum confirm at least, and their block. */
export async function fundsAt(
  chain: CoinChain,
  holdings: readonly Holding[],
): Promise<Balances> {
  const { nodes } = chain;
  const { heard } = await nodes.hear(await balanceReader(chain, holdings));
  return heldAtLeast(heard.map(({ answer }) => answer), nodes.quorum);
}

/**
 * Reads balances at a node's head: coin by coin where the coins are known, else from the node's whole
 * set.
 */
async function balanceReader(
  chain: CoinChain,
  holdings: readonly Holding[],
): Promise<(peer: Peer) => Promise<Balances>> {
  const scripts = await Promise.all(holdings.map(({ address, contract }) => {
    if (contract !== null) throw new ChainError("unsupported", "coin chains have no tokens");
    return chain.scripts.script(address);
  }));
  return async (peer) => {
    const known = holdings.flatMap(({ coins }) => coins ?? []);
    const unspent = await unspentOf(peer, known, false);
    const byInput = new Map(known.map((input, at) => [input, unspent[at]]));
    const unknown = scripts.filter((_, at) => holdings[at].coins === undefined);
    const listed = unknown.length === 0 ? null : await listAt(peer, unknown);
    const amounts = holdings.map(({ coins }, at) => {
      if (coins === undefined) return sumAt(listed!, scripts[at]);
      return coins.map((input) => byInput.get(input) ?? null)
        .reduce((sum, coin) => sum + (coin?.script === scripts[at] ? coin.amount : 0n), 0n);
    });
    const best = listed?.hash ?? unspent.find((coin) => coin !== null)?.bestHash ??
      hash(await peer.call("getbestblockhash", []));
    return { height: (await headerOf(peer, best)).height, amounts };
  };
}

/** Finds the block of a transaction; null if it is in none, or the node cannot find it. */
export async function minedIn(peer: Peer, txid: string): Promise<Block | null> {
  for (const [from, to] of TRIED) {
    const inputs = Array.from({ length: to - from }, (_, step) => `${txid}:${from + step}`);
    const unspent = (await unspentOf(peer, inputs, false)).find((one) => one !== null);
    if (unspent) return await blockOf(peer, unspent);
  }
  return await indexed(peer, txid);
}

/** Asks a node that keeps an index of transactions, which is optional. */
async function indexed(peer: Peer, txid: string): Promise<Block | null> {
  const [answer] = await peer.batch([{ method: "getrawtransaction", params: [txid, true] }]);
  if (answer instanceof RpcError) return null;
  const { blockhash } = readRecord(answer, "a transaction");
  if (readTransaction(answer).hash !== txid || typeof blockhash !== "string") return null;
  const block = await headerOf(peer, hash(blockhash));
  return await hashAt(peer, block.height) === block.hash ? block : null;
}

async function listAt(peer: Peer, scripts: readonly string[]): Promise<OutputList> {
  try {
    return await unspentAt(peer, scripts);
  } catch (error) {
    if (!(error instanceof RpcError && isMissingMethod(error))) throw error;
    throw new ChainError("unsupported", `${peer.name} cannot search its coins by address`);
  }
}

function sumAt({ coins }: OutputList, script: string): bigint {
  return coins.reduce((sum, coin) => coin.script === script ? sum + coin.amount : sum, 0n);
}

function checked(
  transfer: Transfer,
  block: Block,
  amount: bigint,
  wait: number | null,
): Checked {
  const maturesAt = wait === null ? null : block.height + wait;
  const again = { ...transfer, block: bare(block), amount, maturesAt };
  return { transfer: again, received: amount, proven: true };
}

/** The blocks before a coin may be spent. Nodes do not tell of a single coin that it left an extension block. */
function waitOf(
  { table }: CoinChain,
  { coinbase }: Unspent,
  { maturesAt, block }: Transfer,
): number | null {
  if (coinbase) return table.maturity;
  return maturesAt === null || block === null || table.pegoutMaturity === null
    ? null
    : maturesAt - block.height;
}
