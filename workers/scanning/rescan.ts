/** Rescans: searches a transaction or blocks again, deeper than the scanner. @module */
import { selectCursor } from "../../db/chains/cursors.ts";
import { reading } from "../../db/transaction.ts";
import type { JobPayloads } from "../../domain/jobs.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { recordTransfers, resume } from "../../domain/deposits/scan_results.ts";
import type { WorkerContext } from "../worker_context.ts";
import type { Chain } from "../chains/chain.ts";
import { verifyCoins } from "../sending/utxos.ts";
import { loadWatch } from "./scanner.ts";

/**
 * Searches one transaction, or a range of blocks, as deep as the node permits. Known transfers
 * change nothing. New ones are pending and are credited at their depth like all others.
 */
export async function rescanJob(
  context: WorkerContext,
  payload: JobPayloads["deposit.rescan"],
): Promise<void> {
  const { chain: id, testnet, hash, from, to } = payload;
  const chain = await context.chains.open({ chain: id, testnet });
  const place = { chain: id, network: context.chains.network({ chain: id, testnet }) };
  if (from !== undefined) await resumeAt(context, chain, { ...place, from });
  const watch = { ...await loadWatch(context, place), contracts: null };
  const wanted = hash !== undefined
    ? [{ hash }]
    : Array.from({ length: to! - from! + 1 }, (_, step) => ({ height: from! + step }));
  for (const where of wanted) {
    if (context.signal.aborted) throw new TypeError("the process is leaving");
    const transfers = await chain.search(where, watch);
    const seen = { transfers, coins: chain.traits.coins };
    await context.step((tx) => recordTransfers(tx, context.actor, place, seen));
    // A coin of the range may be spent by a transaction outside of it.
    const made = transfers.map((one) => `${one.hash}:${one.index}`);
    if (chain.traits.coins) await verifyCoins(context, chain, place, made);
  }
}

/** Resumes a halted network at the range that the operator names. */
async function resumeAt(
  context: WorkerContext,
  chain: Chain,
  at: ChainNetwork & { from: number },
): Promise<void> {
  const cursor = await reading(context.pool, (db) => selectCursor(db, at));
  if (cursor === null || cursor.halted === null) return;
  const ancestor = await chain.block(Math.min(cursor.height, Math.max(0, at.from - 1)));
  if (ancestor === null) throw new TypeError("the chain does not have the block to begin at");
  const to = { from: cursor, ancestor };
  await context.step((tx) => resume(tx, context.actor, cursor, to), { lockLedger: true });
}
