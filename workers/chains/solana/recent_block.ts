/**
 * The recent block that a transaction names, by which it expires: a final one, as the quorum of nodes tells it.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { farApart, type Heard, isReachedBy, reachedBy } from "../quorum.ts";
import { finalSlot, placeUpTo } from "./block.ts";
import type { Solana } from "./context.ts";

/** A block that transactions may name. */
export interface RecentBlock {
  readonly blockhash: string;
  /** Height of the last block that takes a transaction which names it. */
  readonly lastValid: number;
  /** Its slot: a transaction that names it can be in no earlier one. */
  readonly slot: number;
}

/** Blocks that may follow a block and still take a transaction which names it. */
const VALID_BLOCKS = 150;
/** Slots below the newest final one at which nodes that are not equally far agree. */
const BELOW: readonly number[] = [0, 4, 16];
/**
 * Slots by which the newest final blocks of nodes that follow the chain lie apart at most. A transaction that names a
 * block so far back still has half of its time.
 */
const APART = 32;

/**
 * Reads the newest final block that as many nodes as the quorum have. One node alone must not choose it: a node that
 * tells a block which is not final yet, with an early end, makes a transaction that final blocks do not know yet.
 * All nodes would then call its block hash valid no more, and what can still be mined would be paid again. Nor may one of
 * two tell a block of long ago, which the other has as well: what names it expires before it is mined, each time.
 *
 * @throws {ChainError} `unavailable` if too few agree, or where nodes lie far apart
 */
export async function recentBlock({ nodes }: Solana): Promise<RecentBlock> {
  const isNear = (some: readonly Heard<number>[]) =>
    isReachedBy(some.map(({ answer }) => answer), nodes.quorum, APART);
  const { heard } = await nodes.hear(finalSlot, isNear);
  if (heard.length < nodes.quorum) {
    throw new ChainError("unavailable", `${heard.length} nodes tell the newest block`);
  }
  if (!isNear(heard)) throw farApart(nodes, heard);
  const newest = reachedBy(heard.map(({ answer }) => answer), nodes.quorum);
  let fault: unknown;
  for (const below of BELOW) {
    const slot = Math.max(0, newest - below);
    try {
      return await nodes.agree((peer) => blockUpTo(peer, slot), keyOf, `block ${slot}`);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      fault = error;
    }
  }
  throw fault;
}

function keyOf({ blockhash, lastValid, slot }: RecentBlock): string {
  return `${blockhash} ${lastValid} ${slot}`;
}

/** Reads the block at a slot, or below it where the slot was skipped; a node that is not there yet abstains. */
async function blockUpTo(peer: Peer, newest: number): Promise<RecentBlock> {
  if (await finalSlot(peer) < newest) {
    throw new ChainError("unavailable", `${peer.name} does not have block ${newest}`);
  }
  const { hash, height, slot } = await placeUpTo(peer, newest);
  return { blockhash: hash, lastValid: height + VALID_BLOCKS, slot };
}
