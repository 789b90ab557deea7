/**
 * Searches single transactions and blocks of Tron for transfers to watched addresses.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Block, Transfer, WatchList } from "../observations.ts";
import { readTransaction, type Space } from "./block.ts";
import type { Tron } from "./context.ts";
import { askRecord, blockAt, count, hash32 } from "./node_answers.ts";
import { recheck } from "./recheck.ts";
import { bare, indexOf, scanRange, transfersOf } from "./scan.ts";

/** One node's report on a transaction. */
export interface Found {
  /** The block it is in. */
  readonly block: Block;
  /** Its transfers to watched addresses. */
  readonly transfers: readonly Transfer[];
  /** Whether the node keeps inner calls. */
  readonly hasInner: boolean;
}

/** Most reported transfers of one searched transaction; more are a node's invention. */
const TOLD_MAX = 256;

/** Finds the transfers of a transaction, or of a block, to watched addresses. */
export async function search(
  tron: Tron,
  where: { readonly hash: string } | { readonly height: number },
  watch: WatchList,
): Promise<Transfer[]> {
  if ("hash" in where) return await searchTransaction(tron, where.hash, watch);
  const scanned = await Array.fromAsync(scanRange(tron, where.height, where.height, watch));
  return scanned.flatMap(({ transfers }) => transfers);
}

/**
 * Finds the transfers of a transaction. A transfer that the quorum denies is left out; one without agreement is
 * reported without its sender.
 */
async function searchTransaction(tron: Tron, hash: string, watch: WatchList): Promise<Transfer[]> {
  const { nodes } = tron;
  const find = (peer: Peer) => findTransaction(tron, peer, { hash, watch, space: "wallet" });
  if (nodes.quorum === 1) return [...(await nodes.ask(find))?.transfers ?? []];
  const { heard } = await nodes.hear(find);
  const told = new Map<string, Transfer>();
  for (const { answer } of heard) {
    for (const one of answer?.transfers ?? []) {
      const key = `${one.index} ${one.to} ${one.contract}`;
      if (told.size < TOLD_MAX && !told.has(key)) told.set(key, one);
    }
  }
  const found: Transfer[] = [];
  for (const one of told.values()) {
    try {
      const checked = await recheck(tron, one);
      if (checked !== null) found.push(checked.transfer);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      found.push({ ...one, from: null });
    }
  }
  return found;
}

/** Reads a transaction through one node; null where it is in no block, or failed. */
export async function findTransaction(
  tron: Tron,
  peer: Peer,
  { hash, watch, space }: {
    readonly hash: string;
    readonly watch: WatchList;
    readonly space: Space;
  },
): Promise<Found | null> {
  const info = await askRecord(peer, `${space}/gettransactioninfobyid`, { value: hash });
  if (Object.keys(info).length === 0) return null;
  const told = await askRecord(peer, `${space}/gettransactionbyid`, { value: hash });
  const changing = () => new ChainError("unavailable", `the chain is changing around ${hash}`);
  if (Object.keys(told).length === 0) throw changing();
  const ids = [info.id, told.txID].map((one) => hash32(one, "a transaction id"));
  const block = await blockAt(peer, count(info.blockNumber, "a height"));
  const isThere = block !== null && block.timeMs === count(info.blockTimeStamp, "a time");
  if (!isThere || ids.some((id) => id !== hash)) throw changing();
  const transaction = readTransaction(told, info);
  if (!transaction.success) return null;
  const transfers = transfersOf(tron.ethers, block, transaction, indexOf(tron, watch));
  return { block: bare(block), transfers, hasInner: transaction.inner !== null };
}
