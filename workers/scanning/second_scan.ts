/**
 * Second scans: blocks that were found by an index of the nodes are read once more about a minute later. Such an index may
 * lag behind the blocks of its node, above all where several servers stand behind one address, and it then tells of no
 * transaction where there is one.
 * @module
 */
import { selectChainBlocks } from "../../db/chains/cursors.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { SeenTransfer } from "../../domain/chains/observed_transfers.ts";
import { type BlockRange, recordFound } from "../../domain/deposits/scan_results.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Scanned, WatchList } from "../chains/observations.ts";
import { recoverPaid } from "./passed_addresses.ts";

/**
 * Heights of one period, about a minute where chains have indexes. When the scan enters another period, the one before the
 * last is read again: each block once, when it lies at least so far below the newest.
 */
export const PERIOD = 150;
/** Blocks of a pass of which the index is used, for the passes before one that is shorter than they were. */
const PASS_BLOCKS = 30;

/** A pass that is about to scan above a height up to another. */
export interface Ahead {
  readonly place: ChainNetwork;
  readonly start: number;
  readonly to: number;
  readonly watch: WatchList;
}

/**
 * Scans blocks a second time that are due before a pass. Where they cannot be read, the pass fails and tries again, but
 * for one period only: a node that was set up anew has no older blocks. Where the index lists too much, because strangers
 * paid to an address again and again, nothing is found: to read whole blocks would take as long as they took to be made.
 *
 * @throws {ChainError} as the scan itself
 */
export async function scanAgain(
  context: WorkerContext,
  chain: Chain,
  { place, start, to, watch }: Ahead,
): Promise<void> {
  const [last, next] = [Math.floor(start / PERIOD), Math.floor(to / PERIOD)];
  if (next === last || !chain.usesIndex(Math.max(to - start, PASS_BLOCKS), watch)) return;
  const top = Math.min((next - 1) * PERIOD - 1, start);
  const known = await reading(context.pool, (db) => selectChainBlocks(db, place, top, 2 * PERIOD));
  const heights = known.map(({ height }) => height).filter((one) => one >= (last - 1) * PERIOD);
  if (heights.length === 0) return;
  try {
    const [from, upTo] = [heights[heights.length - 1], heights[0]];
    await record(context, chain, place, chain.scan(from, upTo, watch, "index"));
  } catch (error) {
    if (!(error instanceof ChainError) || next === last + 1) throw error;
    context.log("warn", "blocks were not scanned a second time", { ...place, error });
  }
}

async function record(
  context: WorkerContext,
  chain: Chain,
  place: ChainNetwork,
  blocks: AsyncIterable<Scanned>,
): Promise<void> {
  for await (const scanned of blocks) {
    const found = { ...foundIn([scanned]), coins: chain.traits.coins };
    if (found.transfers.length === 0 && found.consumed.length === 0) continue;
    await recoverPaid(context, place, found.transfers);
    await context.step((tx) => recordFound(tx, context.actor, place, found));
  }
}

/** What scanned blocks show, as it is recorded. */
export function foundIn(scanned: readonly Scanned[]): Pick<BlockRange, "transfers" | "consumed"> {
  return {
    transfers: scanned.flatMap((one): readonly SeenTransfer[] => one.transfers),
    consumed: scanned.flatMap(({ block, consumed }) =>
      consumed.map((one) => ({ ...one, height: block.height }))
    ),
  };
}
