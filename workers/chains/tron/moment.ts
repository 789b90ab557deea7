/**
 * The moment at which a transaction is drafted: the block that it refers to, and the end of its validity, both as
 * the quorum of nodes tells them.
 * @module
 */
import { ChainError } from "../chain.ts";
import { reachedBy } from "../quorum.ts";
import type { Tron } from "./context.ts";
import { VALID_MS, VALID_SPREAD_MS } from "./networks.ts";
import { blockAt, newestBlock, type TronBlock } from "./node_answers.ts";
import type { TronRaw } from "./transaction.ts";

/** Fields of a transaction that depend on its moment. */
export type Moment = Pick<
  TronRaw,
  "refBlockBytes" | "refBlockHash" | "expiration" | "timestamp"
>;

/** Milliseconds by which the stated time of a transaction may lie back: it tells equal payments apart. */
const TIME_SPREAD_MS = 2 ** 24;

/**
 * Makes the moment of a new transaction. It refers to a final block, which no fork takes away. Two payments that
 * are equal in all else must differ, or they would be one transaction and be paid once: the stated time, which
 * nodes check against nothing, and the end of the validity are random in part.
 */
export async function momentOf(tron: Tron): Promise<Moment> {
  const { nodes } = tron;
  const { heard } = await nodes.hear(async (peer) => ({
    final: await newestBlock(peer, true),
    head: await newestBlock(peer),
  }));
  if (heard.length < nodes.quorum) {
    throw new ChainError("unavailable", `${heard.length} nodes tell the newest block`);
  }
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
