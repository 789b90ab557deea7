/** Looks again, and closer, where an operator says that something was missed. @module */
import type { JobPayloads } from "../domain/jobs.ts";
import { recordTransfers } from "../domain/sightings.ts";
import type { Bench } from "./bench.ts";
import { loadWatch } from "./scanner.ts";

/**
 * Searches one transaction, or a range of blocks, as deep as the node permits. What is found and was
 * known before changes nothing; what is new is pending and counts at its depth like any other.
 */
export async function rescanJob(
  bench: Bench,
  payload: JobPayloads["deposit.rescan"],
): Promise<void> {
  const { chain: id, testnet, hash, from, to } = payload;
  const chain = await bench.chains.open({ chain: id, testnet });
  const place = { chain: id, network: bench.chains.network({ chain: id, testnet }) };
  const watch = await loadWatch(bench, place);
  const wanted = hash !== undefined
    ? [{ hash }]
    : Array.from({ length: to! - from! + 1 }, (_, step) => ({ height: from! + step }));
  for (const where of wanted) {
    if (bench.signal.aborted) throw new TypeError("the process is leaving");
    const transfers = await chain.search(where, watch);
    const seen = { transfers, coins: chain.traits.coins };
    await bench.step((tx) => recordTransfers(tx, bench.actor, place, seen));
  }
}
