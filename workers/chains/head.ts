/**
 * The newest block of a chain, as its nodes agree on it.
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
  const finalized = finals.length === 0 ? null : reachedBy(finals, nodes.quorum);
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
