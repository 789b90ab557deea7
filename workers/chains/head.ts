/**
 * Which blocks a chain has, as its nodes agree on it.
 * @module
 */
import { ChainError } from "./chain.ts";
import type { Nodes, Peer } from "./node.ts";
import { reachedBy } from "./quorum.ts";
import type { Block, Head } from "./sight.ts";

/** Blocks below the head at which nodes that stand on different branches may agree again. */
const BELOW: readonly number[] = [0, 1, 2, 4, 8];

/**
 * Reads the newest block that as many nodes as the quorum have, the same one in all of them. If fewer
 * nodes answer, theirs is followed: what is credited is asked of the quorum again.
 *
 * @throws {ChainError} `unavailable` if the nodes are on different branches for longer than that
 */
export async function agreedHead(
  nodes: Nodes,
  readHead: (peer: Peer) => Promise<Head>,
  readBlock: (peer: Peer, height: number) => Promise<Block>,
): Promise<Head> {
  const heads = (await nodes.hear(readHead)).heard.map(({ answer }) => answer);
  const height = reachedBy(heads.map((head) => head.height), nodes.quorum);
  const reached = heads.find((head) => head.height === height)!;
  if (nodes.quorum === 1 || heads.length < nodes.quorum) return reached;
  const finals = heads.flatMap(({ finalized }) => finalized ?? []);
  const finalized = finals.length < nodes.quorum ? null : reachedBy(finals, nodes.quorum);
  let fault: unknown;
  for (const below of BELOW) {
    if (below > height) break;
    try {
      const at = height - below;
      const block = await nodes.agree(
        (peer) => readBlock(peer, at),
        ({ hash, parentHash }) => `${hash} ${parentHash}`,
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

/** Reads a block at a height; null above the head. */
export type BlockAt = (peer: Peer, height: number) => Promise<Block | null>;

/** Has a node that does not have a block yet abstain. */
export function presentBlock(readBlock: BlockAt): (peer: Peer, height: number) => Promise<Block> {
  return async (peer, height) => {
    const block = await readBlock(peer, height);
    if (block !== null) return block;
    throw new ChainError("unavailable", `${peer.name} has no block ${height} yet`);
  };
}

/**
 * Reads the block at a height that the quorum has there; null if no node has one. If fewer nodes
 * answer than the quorum, theirs is followed.
 *
 * @throws {ChainError} `unavailable` if too few agree
 */
export async function followedBlock(
  nodes: Nodes,
  height: number,
  readBlock: BlockAt,
): Promise<Block | null> {
  if (nodes.quorum === 1) return await nodes.ask((peer) => readBlock(peer, height));
  const { heard } = await nodes.hear((peer) => readBlock(peer, height));
  const [first] = heard.flatMap(({ answer }) => answer ?? []);
  if (first === undefined || heard.length < nodes.quorum) return first ?? null;
  const present = presentBlock(readBlock);
  return await nodes.agree(
    (peer) => present(peer, height),
    ({ hash, parentHash }) => `${hash} ${parentHash}`,
    `block ${height}`,
  );
}

/**
 * Asks for facts that the quorum must agree on. If fewer nodes answer than the quorum, theirs are
 * followed: what is credited is asked of the quorum again.
 *
 * @throws {ChainError} `unavailable` if too few agree
 */
export async function followed<T>(
  nodes: Nodes,
  work: (peer: Peer) => Promise<T>,
  keyOf: (answer: T) => string,
  what: string,
): Promise<T> {
  const { heard } = await nodes.hear(work);
  if (heard.length < nodes.quorum) return heard[0].answer;
  return await nodes.agree(work, keyOf, what);
}
