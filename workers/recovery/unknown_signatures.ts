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
import type { Chain } from "../chains/chain.ts";
import type { Head } from "../chains/observations.ts";
import type { WorkerContext } from "../worker_context.ts";

/** Finds the unknown transactions that keys of some ramps signed in the blocks from a height on, oldest first. */
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
    for (const { hash } of consumed) heights.set(hash, block.height);
  }
  const hashes = [...heights.keys()];
  const known = new Set(await reading(context.pool, (db) => selectKnownHashes(db, hashes)));
  return [...heights].filter(([hash]) => !known.has(hash))
    .map(([hash, height]) => ({ hash, height }));
}

/**
 * Gives the reason why ramps stay in quarantine while a transaction that a newer database signed may
 * still be mined; null once the blocks are beyond that time. Only the time of blocks counts: a chain that
 * stands still takes the transaction when it continues.
 */
export function waitForInFlight(
  { traits: { validity } }: Pick<Chain, "traits">,
  ramps: readonly Pick<QuarantinedRamp, "quarantined">[],
  head: Pick<Head, "time">,
): string | null {
  if (validity === null) return null;
  const begun = Math.max(...ramps.map(({ quarantined }) => quarantined.at));
  const until = begun + validity.minedWithinMs;
  if (head.time * 1000 > until) return null;
  const when = new Date(until).toISOString();
  return `a transaction signed before the quarantine may be mined until ${when}: run it again then`;
}
