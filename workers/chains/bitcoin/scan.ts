/**
 * Finds incoming transfers to our addresses, and spent coins of ours, in a range of blocks: one
 * whole block at a time, compared by script. No index of the node is needed.
 * @module
 */
import { ChainError } from "../chain.ts";
import { allOf, type Peer } from "../node_pool.ts";
import type { Block, Consumed, Head, Scanned, Transfer, WatchList } from "../observations.ts";
import { type CoinBlock, wholeBlock } from "./block.ts";
import type { CoinChain } from "./context.ts";
import { type CoinTransaction, hash, hashAt, headerOf } from "./node_answers.ts";

/** Blocks whose ids are agreed on in one exchange. */
const AGREED_AT_ONCE = 50;

/** Reads the newest block. */
export async function readHead(peer: Peer): Promise<Head> {
  const best = hash(await peer.call("getbestblockhash", []));
  return { ...await headerOf(peer, best), finalized: null };
}

/** Reads the block at a height; null above the head. */
export async function readBlockAt(peer: Peer, height: number): Promise<Block | null> {
  const blockHash = await hashAt(peer, height);
  if (blockHash === null) return null;
  const block = await headerOf(peer, blockHash);
  if (block.height === height) return block;
  throw new ChainError("unavailable", `${peer.name} gave another block than ${height}`);
}

/** Reads the blocks of a range, each with the transfers and spent coins of the watch list. */
export async function* scanRange(
  chain: CoinChain,
  from: number,
  to: number,
  watch: WatchList,
): AsyncGenerator<Scanned> {
  const index = await chain.scripts.index(watch);
  const inputs = new Set(watch.inputs);
  let last: Block | null = null;
  for await (const block of blocksOf(chain, from, to)) {
    if (last !== null && block.parentHash !== last.hash) {
      throw new ChainError("unavailable", `the chain changed below ${block.height}`);
    }
    last = bare(block);
    yield scanBlock(chain, block, index, inputs);
  }
}

/** Reads the blocks of a range: the quorum decides their ids, any node that has them gives the bytes. */
async function* blocksOf(chain: CoinChain, from: number, to: number): AsyncGenerator<CoinBlock> {
  const { nodes } = chain;
  for (let first = from; first <= to; first += AGREED_AT_ONCE) {
    const last = Math.min(to, first + AGREED_AT_ONCE - 1);
    const hashes = nodes.quorum === 1 ? [] : await agreedHashes(chain, first, last);
    for (let height = first; height <= last; height++) {
      const agreed = hashes[height - first];
      yield await nodes.ask(async (peer) => {
        const at = agreed ?? await hashPresent(peer, height);
        return await wholeBlock(chain, peer, { hash: at, height });
      });
    }
  }
}

async function agreedHashes(
  { nodes }: CoinChain,
  from: number,
  to: number,
): Promise<readonly string[]> {
  const heights = Array.from({ length: to - from + 1 }, (_, step) => from + step);
  const calls = heights.map((height) => ({ method: "getblockhash", params: [height] }));
  const read = async (peer: Peer) => allOf(await peer.batch(calls)).map(hash);
  return await nodes.agree(read, (hashes) => hashes.join(), `the blocks ${from} to ${to}`);
}

async function hashPresent(peer: Peer, height: number): Promise<string> {
  const found = await hashAt(peer, height);
  if (found !== null) return found;
  throw new ChainError("unavailable", `${peer.name} has no block ${height} yet`);
}

/** Lists the transfers of a transaction to watched addresses. */
export function transfersOf(
  chain: CoinChain,
  transaction: CoinTransaction,
  block: Block | null,
  index: ReadonlyMap<string, string>,
): Transfer[] {
  const found: Transfer[] = [];
  for (const output of transaction.outputs) {
    const to = index.get(output.script);
    if (to === undefined || output.amount === 0n) continue;
    const wait = maturityOf(chain, transaction);
    found.push({
      hash: transaction.hash,
      index: output.index,
      from: null,
      to,
      contract: null,
      amount: output.amount,
      block,
      maturesAt: wait === null || block === null ? null : block.height + wait,
    });
  }
  return found;
}

/** The blocks before the outputs of a transaction may be spent; null for none. */
export function maturityOf(
  { table }: CoinChain,
  { coinbase, pegout }: Pick<CoinTransaction, "coinbase" | "pegout">,
): number | null {
  if (coinbase) return table.maturity;
  return pegout ? table.pegoutMaturity : null;
}

/** Reduces a block to its identifying fields. */
export function bare({ height, hash, parentHash, time }: Block): Block {
  return { height, hash, parentHash, time };
}

/**
 * Scans a block. The coins that it makes are watched from here on, in this very block too, where
 * some chains list a transaction before the one whose output it spends.
 */
function scanBlock(
  chain: CoinChain,
  block: CoinBlock,
  index: ReadonlyMap<string, string>,
  inputs: Set<string>,
): Scanned {
  const place = bare(block);
  const transfers = block.transactions
    .flatMap((transaction) => transfersOf(chain, transaction, place, index));
  for (const coin of transfers) inputs.add(`${coin.hash}:${coin.index}`);
  chain.spends.note(block, inputs);
  const consumed: Consumed[] = [];
  for (const transaction of block.transactions) {
    for (const input of transaction.spends) {
      if (inputs.has(input)) consumed.push({ input, hash: transaction.hash });
    }
  }
  return { block: place, transfers, consumed };
}
