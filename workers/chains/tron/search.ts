/**
 * Searches single transactions and blocks of Tron for transfers to watched addresses.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Location, Transfer, WatchList } from "../observations.ts";
import { readTransaction } from "./block.ts";
import type { Tron } from "./context.ts";
import { askRecord, count } from "./node_answers.ts";
import { recheck } from "./recheck.ts";
import { scanRange } from "./scan.ts";
import { findTransaction } from "./transfers.ts";

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

/** Tells what a node knows of a transaction. */
export async function locateTransaction({ nodes }: Tron, hash: string): Promise<Location> {
  return await nodes.ask(async (peer) => {
    const told = await askRecord(peer, "wallet/gettransactionbyid", { value: hash });
    if (Object.keys(told).length === 0) return { state: "unknown" };
    const info = await askRecord(peer, "wallet/gettransactioninfobyid", { value: hash });
    if (Object.keys(info).length === 0) return { state: "pending" };
    const { success } = readTransaction(told, info);
    return { state: success ? "mined" : "failed", height: count(info.blockNumber, "a height") };
  });
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
