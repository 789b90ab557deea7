/**
 * Transactions of own keys that a newer database signed, on chains where transactions expire: no nonce
 * and no coin names them, so blocks are searched for our signatures, and those that may still be mined
 * are waited for.
 * @module
 */
import { selectKnownHashes, selectSenders } from "../../db/recovery/recoveries.ts";
import type { QuarantinedRamp } from "../../db/recovery/recoveries.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { markSeen } from "../../domain/deposits/scan_results.ts";
import type { Chain, Validity } from "../chains/chain.ts";
import type { Head } from "../chains/observations.ts";
import { FUTURE_MS } from "../scanning/timed_quarantines.ts";
import type { WorkerContext } from "../worker_context.ts";

/**
 * Finds the unknown transactions that keys of some ramps signed in the blocks from a height on, oldest first. The final blocks of known
 * ones are recorded: those that were given up are recovered by that.
 */
export async function findUnknownSignatures(
  context: WorkerContext,
  chain: Chain,
  of: { place: ChainNetwork; ramps: readonly string[]; from: number },
): Promise<{ hash: string; height: number }[]> {
  const senders = await reading(context.pool, (db) => selectSenders(db, of.place, of.ramps));
  const addresses = new Set(senders.map(({ address }) => address));
  const watch = { addresses, inputs: new Set<string>(), contracts: new Set<string>() };
  const heights = new Map<string, number>();
  const head = await chain.head();
  for await (const { block, consumed } of chain.scan(of.from, head.height, watch)) {
    const { height } = block;
    for (const { hash } of consumed) heights.set(hash, height);
    // The scanner, which takes back what it has noted of a lost block, may not have been there.
    if (consumed.length === 0 || height > (head.finalized ?? -1)) continue;
    const seen = consumed.map((one) => ({ ...one, height }));
    await context.step((tx) => markSeen(tx, of.place, seen));
  }
  const hashes = [...heights.keys()];
  const known = new Set(await reading(context.pool, (db) => selectKnownHashes(db, hashes)));
  return [...heights].filter(([hash]) => !known.has(hash))
    .map(([hash, height]) => ({ hash, height }));
}

/**
 * Gives the reason why ramps stay in quarantine while a transaction that a newer database signed may
 * still be mined; null once the blocks are beyond that time. Only the time of blocks counts: a chain that
 * stands still takes the transaction when it continues. They are to be beyond the newest block that was read after the
 * quarantine had begun, as the clock of its process may have been behind, and beyond that clock too, as nodes may lag and
 * what lies above the blocks that they know is not searched. A clock that was far ahead counts for nothing.
 *
 * @param now milliseconds since the epoch, as the later one of two clocks tells
 */
export function waitForInFlight(
  { traits: { validity } }: Pick<Chain, "traits">,
  ramps: readonly Pick<QuarantinedRamp, "quarantined">[],
  head: Pick<Head, "time" | "count">,
  now: number,
): string | null {
  if (validity === null) return null;
  const begun = ramps.map(({ quarantined: { at, block_time = Infinity } }) =>
    Math.max(block_time * 1000, at > now + FUTURE_MS ? 0 : at)
  );
  const until = Math.max(...begun) + validity.minedWithinMs;
  if (head.time * 1000 > until) return waitForBlocks(validity, ramps, head);
  if (until === Infinity) return "no block was read yet since the quarantine began: run it again";
  const when = new Date(until).toISOString();
  return `a transaction signed before the quarantine may be mined until ${when}, by the time of blocks: run it again then`;
}

/** The same by the number of blocks, where that limits a transaction: a chain may make few for a while. */
function waitForBlocks(
  { minedWithinBlocks }: Validity,
  ramps: readonly Pick<QuarantinedRamp, "quarantined">[],
  { count = -Infinity }: Pick<Head, "count">,
): string | null {
  if (minedWithinBlocks === null) return null;
  const begun = ramps.map(({ quarantined: { block_count = Infinity } }) => block_count);
  const left = Math.max(...begun) + minedWithinBlocks - count;
  if (left < 0) return null;
  if (left === Infinity) return "no block was read yet since the quarantine began: run it again";
  return `a transaction signed before the quarantine may be mined in the next ${
    left + 1
  } blocks: run it again then`;
}
