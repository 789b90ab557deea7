/**
 * Final blocks: the height up to which a node calls its chain final. On main networks value goes back, or
 * is paid again, only by blocks at or below it: a proof-of-stake chain reverts those only if a third of
 * its stake is lost. A node without such a block is believed by the depth alone.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { RpcError } from "../rpc.ts";
import type { Evm, LastFinal } from "./context.ts";
import { isPassing, number, readBlock, toHex } from "./node_answers.ts";

/** Newest and final block of a node. */
export interface Standing {
  /** Height of its newest block. */
  readonly height: number;
  /** Height of the newest block that it calls final; null: the depth alone counts. */
  readonly finalized: number | null;
}

const HELD_MS = 3_600_000;

/** Reads a node's newest and final block; only main networks are asked for the final one. */
export async function standingOf(evm: Evm, peer: Peer): Promise<Standing> {
  if (evm.network !== "main") {
    return { height: number(await peer.call("eth_blockNumber", []), "a height"), finalized: null };
  }
  // In this order, so that a block made between the two questions is no contradiction.
  const since = performance.now();
  const [final, latest] = await peer.batch([
    { method: "eth_getBlockByNumber", params: ["finalized", false] },
    { method: "eth_blockNumber", params: [] },
  ]);
  if (latest instanceof RpcError) throw latest;
  const height = number(latest, "a height");
  return {
    height,
    finalized: await finalHeight(evm, peer, { answer: final, head: height, since }),
  };
}

/** A node's answer about its final block. */
export interface ToldFinal {
  /** The answer itself. */
  readonly answer: unknown;
  /** Height of its newest block. */
  readonly head: number;
  /** Time of the question, by the process's own clock. */
  readonly since: number;
}

/**
 * Judges a node's final block. A lower block than before is no contradiction where the node still has
 * the one that it called final before: several servers may stand behind one name, and answers overtake
 * each other.
 *
 * @returns its height; null from a node that never reported one
 * @throws {ChainError} `unavailable` where the node takes back a final block, calls a block final that it
 *   does not have, or lags behind its own final block
 */
export async function finalHeight(
  evm: Evm,
  peer: Peer,
  { answer, head, since }: ToldFinal,
): Promise<number | null> {
  const known = evm.finals.get(peer.name);
  const before = known && performance.now() < known.at + HELD_MS ? known : null;
  if (answer instanceof RpcError || answer === null) {
    if (before === null && !(answer instanceof RpcError && isPassing(answer))) return null;
    throw new ChainError("unavailable", `${peer.name} does not report a final block now`);
  }
  const { height, hash } = readBlock(answer)!;
  if (height > head) throw faulty(evm, peer, `calls block ${height} final and has only ${head}`);
  if (before !== null && height === before.height && hash !== before.hash) {
    throw faulty(evm, peer, `takes back block ${height}, which it called final`);
  }
  if (before !== null && height < before.height) {
    // The question is older than the answer that it would be compared with.
    if (since < before.at) return height;
    await assertKept(evm, peer, before);
    return height;
  }
  evm.finals.set(peer.name, { height, hash, at: performance.now() });
  return height;
}

/** Makes sure that a node still has the block that it called final. */
async function assertKept(evm: Evm, peer: Peer, { height, hash }: LastFinal): Promise<void> {
  const there = readBlock(await peer.call("eth_getBlockByNumber", [toHex(height), false]));
  if (there?.hash === hash) return;
  if (there !== null) throw faulty(evm, peer, `takes back block ${height}, which it called final`);
  throw new ChainError("unavailable", `${peer.name} lags behind block ${height}, called final`);
}

function faulty(evm: Evm, peer: Peer, what: string): ChainError {
  evm.nodes.report(`${peer.name} ${what}`);
  return new ChainError("unavailable", `${peer.name} ${what}`);
}
