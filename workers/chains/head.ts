/**
 * Head and blocks of a chain, as a quorum of its nodes agrees on them.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { Nodes, Peer } from "./node_pool.ts";
import { type Heard, reachedBy, unconfirmed } from "./quorum.ts";
import type { Block, Head } from "./observations.ts";

/** Blocks below the head at which nodes that stand on different branches may agree again. */
const BELOW: readonly number[] = [0, 1, 2, 4, 8];

/** Newest blocks of nodes that follow the same chain are not further apart. */
const APART = 16;

/**
 * Reads the newest block that as many nodes as the quorum have, the same one in all of them.
 *
 * @throws {ChainError} `unavailable` if fewer nodes answer, or if they are on different branches for
 *   longer than that
 */
export async function agreedHead(
  nodes: Nodes,
  readHead: (peer: Peer) => Promise<Head>,
  readBlock: (peer: Peer, height: number) => Promise<Block>,
): Promise<Head> {
  const { quorum } = nodes;
  const { heard, failures } = await nodes.hear(readHead, (some) => areNear(some, quorum));
  const heads = heard.map(({ answer }) => answer);
  if (heads.length < quorum) throw tooFew(nodes, heads.length, "the newest block", failures);
  const height = reachedBy(heads.map((head) => head.height), quorum);
  if (quorum === 1) return heads.find((head) => head.height === height)!;
  const finals = heads.flatMap(({ finalized }) => finalized ?? []);
  const finalized = finals.length < quorum ? null : reachedBy(finals, quorum);
  let fault: unknown;
  for (const below of BELOW) {
    if (below > height) break;
    try {
      const at = height - below;
      const block = await nodes.agree(
        (peer) => readBlock(peer, at),
        blockKey,
        `block ${at}`,
        below < BELOW[BELOW.length - 1],
      );
      return { ...block, finalized };
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      fault = error;
    }
  }
  throw fault;
}

/**
 * The fields that nodes must agree on; the time too, because a block dated in the future is not
 * followed.
 */
function blockKey({ hash, parentHash, time, count }: Block): string {
  return `${hash} ${parentHash} ${time} ${count}`;
}

/** Tells a block from all others. The time adds nothing, and not every node knows it. */
function placeKey({ hash, parentHash }: Block): string {
  return `${hash} ${parentHash}`;
}

/** Tells whether as many nodes as the quorum stand at about the same height. */
function areNear(heard: readonly Heard<Head>[], quorum: number): boolean {
  const heights = heard.map(({ answer }) => answer.height).toSorted((one, other) => one - other);
  return heights.some((height, at) => heights[at + quorum - 1] - height <= APART);
}

function tooFew(
  nodes: Nodes,
  confirm: number,
  what: string,
  failures: readonly unknown[],
): ChainError {
  const count = { confirm, nodes: nodes.peers.length, quorum: nodes.quorum };
  return unconfirmed(count, what, failures);
}

/** Reads a block at a height; null above the head. */
export type BlockAt = (peer: Peer, height: number) => Promise<Block | null>;

/** Makes a node without the block abstain. */
export function presentBlock(readBlock: BlockAt): (peer: Peer, height: number) => Promise<Block> {
  return async (peer, height) => {
    const block = await readBlock(peer, height);
    if (block !== null) return block;
    throw new ChainError("unavailable", `${peer.name} has no block ${height} yet`);
  };
}

/**
 * Reads the block that the quorum has at a height; null if the quorum has none. Nodes that do not
 * have it yet abstain.
 *
 * @throws {ChainError} `unavailable` if too few agree
 */
export async function followedBlock(
  nodes: Nodes,
  height: number,
  readBlock: BlockAt,
): Promise<Block | null> {
  if (nodes.quorum === 1) return await nodes.ask((peer) => readBlock(peer, height));
  const lacking = new Set<string>();
  const present = presentBlock(async (peer, at) => {
    const block = await readBlock(peer, at);
    if (block === null) lacking.add(peer.name);
    return block;
  });
  try {
    return await nodes.agree(
      (peer) => present(peer, height),
      placeKey,
      `block ${height}`,
    );
  } catch (error) {
    if (lacking.size >= nodes.quorum) return null;
    throw error;
  }
}
