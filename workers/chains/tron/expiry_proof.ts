/**
 * Proof that a transaction expired unmined. "Not found" proves nothing: behind one address several servers may
 * answer, and one that lags finds nothing either. So final blocks are read one by one, from the block that the
 * transaction refers to up to the first one beyond its expiry; a server that lags lacks them.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { askRecord, blockAt, hash32, readBlock, type TronBlock } from "./node_answers.ts";
import type { TronRaw } from "./transaction.ts";

/** A reference holds the last two bytes of a height. */
const REFERENCES = 65_536;
/** Blocks are three seconds apart or more, and a transaction is valid for two minutes. */
const BLOCKS_MAX = 500;

/**
 * Reads all final blocks that could hold a transaction, and gives the first one beyond its expiry.
 *
 * @param final the newest final block, which is beyond the expiry
 * @throws {ChainError} `unavailable` if one holds it, or if the node does not show them all
 */
export async function absenceOf(
  peer: Peer,
  { hash, refBlockBytes, refBlockHash, expiration }: TronRaw & { readonly hash: string },
  final: TronBlock,
): Promise<TronBlock> {
  let below = await referred(peer, refBlockBytes, refBlockHash, final);
  for (let read = 0; read < BLOCKS_MAX && below.height < final.height; read++) {
    const height = below.height + 1;
    const answer = await askRecord(peer, "walletsolidity/getblockbynum", { num: height });
    const block = readBlock(answer);
    if (block === null || block.height !== height || block.parentHash !== below.hash) {
      throw new ChainError("unavailable", `${peer.name} does not show the final block ${height}`);
    }
    const holds = readList(answer.transactions ?? []).some((one) =>
      hash32(readRecord(one, "a transaction").txID, "a transaction id") === hash
    );
    if (holds) {
      throw new ChainError("unavailable", `${peer.name} shows ${hash} in a block and finds it not`);
    }
    if (BigInt(block.timeMs) > expiration) return block;
    below = block;
  }
  throw new ChainError("unavailable", `${peer.name} shows no final block beyond ${hash}`);
}

/** Finds the block that a transaction refers to: no block up to it can hold the transaction. */
async function referred(
  peer: Peer,
  bytes: string,
  hash: string,
  final: TronBlock,
): Promise<TronBlock> {
  const rest = parseInt(bytes, 16);
  let height = final.height - (final.height - rest) % REFERENCES;
  if (height > final.height) height -= REFERENCES;
  for (; height >= 0; height -= REFERENCES) {
    const block = await blockAt(peer, height);
    if (block?.hash.slice(16, 32) === hash) return block;
  }
  throw new ChainError("unavailable", `${peer.name} does not have the block that it refers to`);
}
