/** Reads blocks of Solana. Heights are slots; a slot without a block was skipped. @module */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { agreedHead, presentBlock } from "../head.ts";
import { allOf, type Peer } from "../node_pool.ts";
import { RpcError } from "../rpc.ts";
import type { Block, Head } from "../observations.ts";
import type { Solana } from "./context.ts";
import { FINALIZED, isAbove, isSkipped, readBlock, readNumber } from "./node_answers.ts";

/** Slots below the newest final one that are searched for a block; leaders fail four slots at a time. */
const SKIPPED_MAX = 128;

/** Asks for a block without its transactions. */
const BARE = { ...FINALIZED, transactionDetails: "none", rewards: false } as const;
/**
 * Transactions of every version are read: of a block with a single one of a later version a node shows nothing, and
 * anybody may send one. What is read here, accounts and balances, is the same in all of them; 255 is the most that
 * nodes take.
 */
export const VERSIONS = { maxSupportedTransactionVersion: 255 } as const;

/** Reads the newest final block that the quorum has, the same one in all its nodes. */
export async function headOf({ nodes }: Solana): Promise<Head> {
  return await agreedHead(nodes, readHead, presentBlock(readBlockBelow));
}

/** Reads the newest final block of a node; nothing above it can be taken back. */
async function readHead(peer: Peer): Promise<Head> {
  const slot = await finalSlot(peer);
  const block = await readBlockBelow(peer, slot);
  if (block === null) throw new ChainError("unavailable", `${peer.name} has no block at ${slot}`);
  return { ...block, finalized: block.height };
}

/** Reads the newest final slot of a node. */
export async function finalSlot(peer: Peer): Promise<number> {
  return readNumber(await peer.call("getSlot", [FINALIZED]), "a slot");
}

/** A block by its hash, its slot, and its height, which is the unit in which transactions expire. */
export interface BlockPlace {
  readonly hash: string;
  readonly slot: number;
  readonly height: number;
}

/**
 * Reads the place of the block at a slot, or of the next one below it where the slot was skipped. Height and slot are
 * of one block, whatever servers answer behind one address.
 */
export async function placeUpTo(peer: Peer, newest: number): Promise<BlockPlace> {
  const slots = await slotsWithBlocks(peer, Math.max(0, newest - SKIPPED_MAX), newest);
  const slot = slots.at(-1);
  if (slot === undefined) {
    throw new ChainError("unavailable", `${peer.name} has no block at ${newest}`);
  }
  const answer = await peer.call("getBlock", [slot, { ...BARE, ...VERSIONS }]);
  const block = readBlock(answer, slot);
  if (block === null) {
    throw new ChainError("unavailable", `${peer.name} does not have block ${slot}`);
  }
  const { blockHeight } = readRecord(answer, "a block");
  return { hash: block.hash, slot, height: readNumber(blockHeight, "a height") };
}

/** Reads the block at a slot, or the next one below it where the slot was skipped. */
async function readBlockBelow(peer: Peer, slot: number): Promise<Block | null> {
  const slots = await slotsWithBlocks(peer, Math.max(0, slot - SKIPPED_MAX), slot);
  return slots.length === 0 ? null : await readCounted(peer, slots[slots.length - 1]);
}

/** Lists the slots of a range that hold a block. Links between blocks prove that none is missing. */
export async function slotsWithBlocks(peer: Peer, from: number, to: number): Promise<number[]> {
  const listed = readList(await peer.call("getBlocks", [from, to, FINALIZED]))
    .map((slot) => readNumber(slot, "a slot"));
  const isRising = listed.every((slot, at) =>
    slot >= from && slot <= to && (at === 0 || slot > listed[at - 1])
  );
  if (isRising) return listed;
  throw new ChainError("unavailable", `${peer.name} lists slots outside of ${from} to ${to}`);
}

/** Reads the block at a slot; null where the slot was skipped, and above the newest final block. */
export async function readBlockAt(peer: Peer, slot: number): Promise<Block | null> {
  const block = await readCounted(peer, slot);
  return block === null ? null : bare(block);
}

async function readCounted(peer: Peer, slot: number): Promise<Block | null> {
  try {
    const answer = await peer.call("getBlock", [slot, { ...BARE, ...VERSIONS }]);
    const block = readBlock(answer, slot);
    if (block === null) return null;
    const { blockHeight } = readRecord(answer, "a block");
    return { ...bare(block), count: readNumber(blockHeight, "a height") };
  } catch (error) {
    if (error instanceof RpcError && (isSkipped(error) || isAbove(error))) return null;
    throw error;
  }
}

/** Reads blocks without their transactions, all of which must be there. */
export async function blocksAt(peer: Peer, slots: readonly number[]): Promise<Block[]> {
  const answers = allOf(
    await peer.batch(slots.map((slot) => ({
      method: "getBlock",
      params: [slot, { ...BARE, ...VERSIONS }],
    }))),
  );
  return answers.map((answer, at) => {
    const block = readBlock(answer, slots[at]);
    if (block !== null) return bare(block);
    throw new ChainError("unavailable", `${peer.name} does not have block ${slots[at]}`);
  });
}

/** Reduces a block to its identifying fields. */
export function bare({ height, hash, parentHash, time }: Block): Block {
  return { height, hash, parentHash, time };
}
