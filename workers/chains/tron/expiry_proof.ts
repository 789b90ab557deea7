/**
 * Proof that a transaction expired unmined. "Not found" proves nothing: behind one address several servers may
 * answer, and one that lags finds nothing either. So final blocks are read one by one, from the block that the
 * transaction refers to up to the first one beyond its expiry; a server that lags lacks them. Where a reorganisation has
 * taken that block too, which no chain that the transaction is in does without, they are read from long before it was made.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { VALID_MS, VALID_SPREAD_MS } from "./networks.ts";
import { askRecord, blockAt, hash32, readBlock, type TronBlock } from "./node_answers.ts";
import type { TronRaw } from "./transaction.ts";

/** A reference holds the last two bytes of a height. */
const REFERENCES = 65_536;
/** Blocks are three seconds apart or more, and a transaction is valid for two minutes. */
const BLOCKS_MAX = 500;
/** No block takes a transaction that is to be valid for longer: it refers to the last such height before, or the one before that. */
const VALID_MOST_MS = 86_400_000n;
/** Heights that a transaction may refer to and that are read one after the other, before a time is searched instead. */
const REFERRED_MAX = 8;
/** Blocks are at least so far apart. */
const APART_MS = 3_000;
/** Blocks that are asked for to find one by its time: halving what lies between takes fewer. */
const SEARCHED_MAX = 64;
/** A transaction was made later than this before it expires: that is five times as long as it may be valid. */
const MADE_WITHIN_MS = 5 * (VALID_MS + VALID_SPREAD_MS);

/**
 * Reads all final blocks that could hold a transaction, and gives the first one beyond its expiry.
 *
 * @param final the newest final block, which is beyond the expiry
 * @throws {ChainError} `unavailable` if one holds it, or if the node does not show them all
 */
export async function absenceOf(
  peer: Peer,
  { hash, ...raw }: TronRaw & { readonly hash: string },
  final: TronBlock,
): Promise<TronBlock> {
  const { expiration } = raw;
  let below = await referred(peer, raw, final) ??
    await lastUpTo(peer, Number(expiration) - MADE_WITHIN_MS, final);
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

/**
 * Finds the block that a transaction refers to: no block up to it can hold the transaction. Null where the chain has others
 * at each height that it may refer to: none of its blocks can hold it at all. The block is older than the end of its
 * validity: of what ended long ago that one is searched first, as there is such a height for each two days since.
 */
async function referred(
  peer: Peer,
  { refBlockBytes, refBlockHash, expiration }: TronRaw,
  final: TronBlock,
): Promise<TronBlock | null> {
  const rest = parseInt(refBlockBytes, 16);
  const isOld = BigInt(final.timeMs) - expiration > BigInt(REFERRED_MAX * REFERENCES * APART_MS);
  const last = isOld ? await lastUpTo(peer, Number(expiration), final) : final;
  let height = last.height - (last.height - rest) % REFERENCES;
  if (height > last.height) height -= REFERENCES;
  for (; height >= 0; height -= REFERENCES) {
    const block = await shown(peer, height);
    if (block.hash.slice(16, 32) === refBlockHash) return block;
    if (BigInt(block.timeMs) < expiration - VALID_MOST_MS) break;
  }
  return null;
}

/** Finds the last block up to a time; the first one of the chain where it began later. */
async function lastUpTo(peer: Peer, timeMs: number, final: TronBlock): Promise<TronBlock> {
  let above = final;
  let below = await shown(peer, 0);
  for (let read = 0; below.timeMs <= timeMs && above.height > below.height + 1; read++) {
    if (read === SEARCHED_MAX) {
      throw new ChainError("unavailable", `${peer.name} shows blocks at times that cannot be`);
    }
    // Blocks are missing here and there, so that the one at this distance is not later.
    const back = Math.ceil((above.timeMs - timeMs) / APART_MS);
    const least = Math.max(below.height + 1, above.height - back);
    const middle = Math.floor((below.height + above.height) / 2);
    const block = await shown(peer, Math.max(least, middle));
    if (block.timeMs > timeMs) above = block;
    else below = block;
  }
  return below;
}

async function shown(peer: Peer, height: number): Promise<TronBlock> {
  const block = await blockAt(peer, height);
  if (block !== null) return block;
  throw new ChainError("unavailable", `${peer.name} does not show block ${height}`);
}
