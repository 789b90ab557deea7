/**
 * The moment at which a transaction is drafted: the block that it refers to, and the end of its validity, both as
 * the quorum of nodes tells them.
 * @module
 */
import { ChainError } from "../chain.ts";
import { farApart, type Heard, isReachedBy, reachedBy } from "../quorum.ts";
import type { Tron } from "./context.ts";
import { APART_MS, FINAL_APART, VALID_MS, VALID_SPREAD_MS } from "./networks.ts";
import { blockAt, newestBlock, type TronBlock } from "./node_answers.ts";
import type { TronRaw } from "./transaction.ts";

/** Fields of a transaction that depend on its moment. */
export type Moment = Pick<
  TronRaw,
  "refBlockBytes" | "refBlockHash" | "expiration" | "timestamp"
>;

/** Milliseconds by which the stated time of a transaction may lie back: it tells equal payments apart. */
const TIME_SPREAD_MS = 2 ** 24;

/** The newest blocks of a node. */
interface Newest {
  readonly final: TronBlock;
  readonly head: TronBlock;
}

/**
 * Makes the moment of a new transaction. It refers to a final block, which no fork takes away. Two payments that
 * are equal in all else must differ, or they would be one transaction and be paid once: the stated time, which
 * nodes check against nothing, and the end of the validity are random in part. One of two nodes that tells blocks of long
 * ago would make each transaction expire before it is mined: then none is made.
 *
 * @throws {ChainError} `unavailable` if too few agree, or where nodes lie far apart
 */
export async function momentOf(tron: Tron): Promise<Moment> {
  const { nodes } = tron;
  const isNear = (some: readonly Heard<Newest>[]) =>
    isReachedBy(some.map(({ answer }) => answer.final.height), nodes.quorum, FINAL_APART) &&
    isReachedBy(some.map(({ answer }) => answer.head.timeMs), nodes.quorum, APART_MS);
  const { heard } = await nodes.hear(async (peer): Promise<Newest> => ({
    final: await newestBlock(peer, true),
    head: await newestBlock(peer),
  }), isNear);
  if (heard.length < nodes.quorum) {
    throw new ChainError("unavailable", `${heard.length} nodes tell the newest block`);
  }
  if (!isNear(heard)) throw farApart(nodes, heard);
  const told = heard.map(({ answer }) => answer);
  const height = reachedBy(told.map(({ final }) => final.height), nodes.quorum);
  const block = nodes.quorum === 1
    ? told.find(({ final }) => final.height === height)!.final
    : await agreedBlock(tron, height);
  const now = reachedBy(told.map(({ head }) => head.timeMs), nodes.quorum);
  const [spread, back] = crypto.getRandomValues(new Uint32Array(2));
  return {
    refBlockBytes: block.hash.slice(12, 16),
    refBlockHash: block.hash.slice(16, 32),
    expiration: BigInt(now + VALID_MS + spread % VALID_SPREAD_MS),
    timestamp: BigInt(now - back % TIME_SPREAD_MS),
  };
}

async function agreedBlock({ nodes }: Tron, height: number): Promise<TronBlock> {
  return await nodes.agree(
    async (peer) => {
      const block = await blockAt(peer, height);
      if (block !== null) return block;
      throw new ChainError("unavailable", `${peer.name} has no block ${height} yet`);
    },
    ({ hash }) => hash,
    `block ${height}`,
  );
}
