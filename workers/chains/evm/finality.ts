/**
 * Up to where a node calls its chain final. What is given back, or paid again, on main networks rests
 * on blocks at or below it: proof-of-stake chains go back on those only if a third of what secures
 * them is lost. A node that does not know such a block is believed by the depth alone.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node.ts";
import { RpcError } from "../rpc.ts";
import type { Evm } from "./context.ts";
import { isPassing, number, readBlock } from "./node.ts";

/** Where a node stands. */
export interface Standing {
  /** Height of its newest block. */
  readonly height: number;
  /** Height of the newest block that it calls final; null: the depth alone counts. */
  readonly finalized: number | null;
}

const HELD_MS = 3_600_000;

/** Reads where a node stands; only main networks are asked for what is final. */
export async function standingOf(evm: Evm, peer: Peer): Promise<Standing> {
  if (evm.network !== "main") {
    return { height: number(await peer.call("eth_blockNumber", []), "a height"), finalized: null };
  }
  // In this order, so that a block between the two does not look like a contradiction.
  const [final, latest] = await peer.batch([
    { method: "eth_getBlockByNumber", params: ["finalized", false] },
    { method: "eth_blockNumber", params: [] },
  ]);
  if (latest instanceof RpcError) throw latest;
  const height = number(latest, "a height");
  return { height, finalized: finalHeight(evm, peer, final, height) };
}

/**
 * Judges what a node calls final.
 *
 * @returns its height; null from a node that never told one
 * @throws {ChainError} `unavailable` where it takes back what it has called final, or calls final what
 *   it does not have
 */
export function finalHeight(
  evm: Evm,
  peer: Peer,
  answer: unknown,
  head: number,
): number | null {
  const known = evm.finals.get(peer);
  const before = known && performance.now() < known.at + HELD_MS ? known : null;
  if (answer instanceof RpcError || answer === null) {
    if (before === null && !(answer instanceof RpcError && isPassing(answer))) return null;
    throw new ChainError("unavailable", `${peer.name} does not tell what is final now`);
  }
  const { height, hash } = readBlock(answer)!;
  if (height > head) throw faulty(evm, peer, `calls block ${height} final and has only ${head}`);
  if (before !== null) {
    const back = height < before.height || (height === before.height && hash !== before.hash);
    if (back) throw faulty(evm, peer, `takes back block ${before.height}, which it called final`);
  }
  evm.finals.set(peer, { height, hash, at: performance.now() });
  return height;
}

function faulty(evm: Evm, peer: Peer, what: string): ChainError {
  evm.nodes.report(`${peer.name} ${what}`);
  return new ChainError("unavailable", `${peer.name} ${what}`);
}
