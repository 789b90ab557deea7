/**
 * Compute units of a transaction, as the quorum counts them. What one node alone would take fails on the chain, whose
 * fee is paid all the same; and what it counts too low runs out of units there.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Nodes, Peer } from "../node_pool.ts";

/** What a node says: the units that a transaction took, or null where it would not work. */
type Tried = number | null;

/** Compute units by the node that drafted a transaction, and by as many as the quorum. */
export interface CountedUnits {
  readonly own: number;
  readonly agreed: number;
}

/**
 * Has as many nodes as the quorum run a transaction: of two counts the higher one holds, of three the middle one.
 *
 * @param peer the node that drafted it, whose refusal is thrown as it is
 * @throws {ChainError} `unavailable` where too few nodes would take it: another node drafts it then
 */
export async function agreedUnits(
  nodes: Nodes,
  peer: Peer,
  run: (one: Peer) => Promise<number>,
): Promise<CountedUnits> {
  const own = await run(peer);
  if (nodes.quorum === 1) return { own, agreed: own };
  const { heard } = await nodes.hear(
    async (one): Promise<Tried> => one.name === peer.name ? own : await triedBy(one, run),
    (some) => {
      const works = some.filter(({ answer }) => answer !== null).length;
      return Math.max(works, some.length - works) >= nodes.quorum;
    },
  );
  const works = heard.flatMap(({ answer }) => answer ?? []).toSorted((one, other) => other - one);
  if (works.length >= nodes.quorum) {
    return { own, agreed: works[Math.floor((works.length - 1) / 2)] };
  }
  const against = heard.filter(({ answer }) => answer === null).map(({ peer: { name } }) => name);
  if (against.length > 0) {
    nodes.report(`${peer.name} would take a transaction of ours, ${against.join(", ")} would not`);
  }
  throw new ChainError("unavailable", `too few nodes would take what ${peer.name} drafts`);
}

async function triedBy(one: Peer, run: (one: Peer) => Promise<number>): Promise<Tried> {
  try {
    return await run(one);
  } catch (error) {
    const isVerdict = error instanceof ChainError &&
      (error.fault === "refused" || error.fault === "insufficient");
    if (isVerdict) return null;
    throw error;
  }
}
