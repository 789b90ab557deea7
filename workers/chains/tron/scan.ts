/**
 * Finds incoming transfers to our addresses in blocks of Tron: TRX that transactions and their inner calls carry,
 * TRC-20 by the logs of transactions that succeeded, and TRC-10, which nothing accepts and everybody can send.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Block, Consumed, Scanned, Transfer, WatchList } from "../observations.ts";
import { mergedPart, type Told } from "../scan_quorum.ts";
import { type FullBlock, fullBlockAt, remember } from "./block.ts";
import type { Tron } from "./context.ts";
import { recheck } from "./recheck.ts";
import { signerOf } from "./signer.ts";
import { bare, indexOf, transfersOf, type WatchIndex } from "./transfers.ts";

/** Blocks of one part; a full block and its results are about a megabyte of JSON. */
const BLOCKS_AT_ONCE = 16;
/** Blocks that one node is asked for beside each other. */
const READ_AT_ONCE = 4;

/** Reads the blocks of a range, each with the transfers and signers of the watch list. */
export async function* scanRange(
  tron: Tron,
  from: number,
  to: number,
  watch: WatchList,
): AsyncGenerator<Scanned> {
  let last: Block | null = null;
  for (let at = from; at <= to; at += BLOCKS_AT_ONCE) {
    const end = Math.min(to, at + BLOCKS_AT_ONCE - 1);
    const readers = {
      part: (peer: Peer) => scanPart(tron, peer, at, end, watch),
      logs: () => Promise.resolve([]),
      recheck: (transfer: Transfer) => recheck(tron, transfer),
    };
    const part = await mergedPart(tron.nodes, watch, readers, `the blocks ${at} to ${end}`);
    for (const scanned of part) {
      if (last !== null && scanned.block.parentHash !== last.hash) {
        throw new ChainError("unavailable", `the chain changed below ${scanned.block.height}`);
      }
      last = scanned.block;
      yield scanned;
    }
  }
}

/** Reads the blocks of a short range from one node. */
async function scanPart(
  tron: Tron,
  peer: Peer,
  from: number,
  to: number,
  watch: WatchList,
): Promise<Told[]> {
  const index = indexOf(tron, watch);
  const blocks: FullBlock[] = [];
  while (blocks.length <= to - from) {
    const next = from + blocks.length;
    // The first alone, because a node that rests after a failure answers one question at a time.
    const last = blocks.length === 0 ? next : Math.min(to, next + READ_AT_ONCE - 1);
    const heights = Array.from({ length: last - next + 1 }, (_, step) => next + step);
    blocks.push(...await allRead(heights.map((height) => fullBlockAt(peer, height))));
  }
  return blocks.map((block, at) => {
    if (at > 0 && block.parentHash !== blocks[at - 1].hash) {
      throw new ChainError("unavailable", `${peer.name} is changing its chain`);
    }
    return reportOf(tron, remember(tron.nodes.peers, peer, block), index);
  });
}

/** Waits for all, then throws the first failure: no promise stays unhandled. */
async function allRead(asked: readonly Promise<FullBlock>[]): Promise<FullBlock[]> {
  const settled = await Promise.allSettled(asked);
  return settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
}

function reportOf({ ethers }: Tron, block: FullBlock, index: WatchIndex): Told {
  const proven = new Set<string>();
  const consumed: Consumed[] = [];
  for (const one of block.transactions) {
    const signer = one.owner === null ? undefined : index.addresses.get(one.owner);
    if (signer === undefined) continue;
    const input = `${signer}:${one.hash}`;
    consumed.push({ input, hash: one.hash });
    if (signerOf(ethers, one.hash, one.signature) === one.owner) proven.add(`${input} ${one.hash}`);
  }
  const transfers = block.transactions.flatMap((one) => transfersOf(ethers, block, one, index));
  return { block: bare(block), transfers, consumed, proven, doubtful: false };
}
