/**
 * The rate of fees that the newest blocks took, proven by their bytes: what a coinbase pays beyond new coins are the fees
 * of its block. It decides between nodes whose estimates lie far apart, of which one alone could bid too little for ever.
 * @module
 */
import { ChainError } from "../chain.ts";
import { agreedHead, followedBlock, presentBlock } from "../head.ts";
import { type CoinBlock, wholeBlock } from "./block.ts";
import type { Bitcoin, CoinChain } from "./context.ts";
import type { CoinChainId } from "./networks.ts";
import { readBlockAt, readHead } from "./scan.ts";

/** Blocks of which the middle one's rate counts: one payment with a mistaken fee decides nothing. */
const BLOCKS = 3;
/** Most blocks that are read for that: empty ones tell nothing. */
const BLOCKS_MAX = 6;
const COIN = 100_000_000n;
/** New coins of a block: so many at first, halved after each so many blocks; null for never. */
const NEW_COINS: Readonly<Record<CoinChainId, { first: bigint; halved: number | null }>> = {
  BITCOIN: { first: 50n * COIN, halved: 210_000 },
  BITCOIN_CASH: { first: 50n * COIN, halved: 210_000 },
  LITECOIN: { first: 50n * COIN, halved: 840_000 },
  DOGECOIN: { first: 10_000n * COIN, halved: null },
};
const HALVED_REGTEST = 150;

/** The last rate of each chain, as of a newest block. */
const known = new WeakMap<CoinChain, { hash: string; rate: bigint | null }>();

/** Reads the rate, in base units per 1000 virtual bytes; null where no such block can be read. */
export async function provenRate(chain: CoinChain): Promise<bigint | null> {
  try {
    const { hash, height } = await agreedHead(chain.nodes, readHead, presentBlock(readBlockAt));
    const last = known.get(chain);
    if (last?.hash === hash) return last.rate;
    const rate = await rateBelow(chain, height);
    known.set(chain, { hash, rate });
    return rate;
  } catch (error) {
    if (error instanceof ChainError) return null;
    throw error;
  }
}

async function rateBelow(chain: CoinChain, top: number): Promise<bigint | null> {
  const rates: bigint[] = [];
  for (
    let height = top;
    height > Math.max(0, top - BLOCKS_MAX) && rates.length < BLOCKS;
    height--
  ) {
    const place = await followedBlock(chain.nodes, height, readBlockAt);
    if (place === null) break;
    const rate = rateOf(chain, await chain.nodes.ask((peer) => wholeBlock(chain, peer, place)));
    if (rate !== null) rates.push(rate);
  }
  rates.sort((one, other) => one < other ? -1 : one > other ? 1 : 0);
  return rates[Math.floor(rates.length / 2)] ?? null;
}

/** The rate of one block; null where it has no payments, or less than the new coins, which a miner may leave. */
function rateOf({ table, network, bitcoin }: CoinChain, block: CoinBlock): bigint | null {
  const { first, halved } = NEW_COINS[table.id];
  const interval = network === "regtest" ? HALVED_REGTEST : halved;
  const made = interval === null ? first : first >> BigInt(Math.floor(block.height / interval));
  const [coinbase, ...payments] = block.transactions;
  const paid = coinbase.outputs.reduce((sum, { amount }) => sum + amount, 0n);
  const size = payments.reduce((sum, { bytes }) => sum + sizeOf(bitcoin, bytes), 0);
  return size === 0 || paid < made ? null : (paid - made) * 1000n / BigInt(size);
}

/** Virtual bytes of a transaction; its bytes where it is of a kind that is not read. */
function sizeOf({ Transaction }: Bitcoin, bytes: Uint8Array): number {
  try {
    return Transaction.fromBuffer(bytes).virtualSize();
  } catch {
    return bytes.length;
  }
}
