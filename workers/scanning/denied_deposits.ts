/**
 * Deposits that as many nodes as the quorum deny: asked for again, recorded as the nodes have them,
 * given up after a quarter of an hour, and asked for ever more rarely for a month then. What nodes
 * deny because they have lost it, or lie, comes back by itself.
 * @module
 */
import { type DeniedEnd, putOffDenied, selectDenied } from "../../db/deposits/deposit_proofs.ts";
import { deletePending, type PendingRow } from "../../db/deposits/deposits.ts";
import { reading } from "../../db/transaction.ts";
import { placeOf } from "../../domain/deposits/incoming_transfers.ts";
import { orphanDeposit } from "../../domain/deposits/deposits.ts";
import { toUnits } from "../../domain/money.ts";
import type { ChainPlace } from "../../domain/chains/networks.ts";
import { recordTransfers } from "../../domain/deposits/scan_results.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Transfer, Watch } from "../chains/observations.ts";
import { errorField } from "../../domain/errors.ts";

/** What is asked about: a place, and what is looked for there. */
export interface Asked {
  place: ChainPlace;
  watch: Watch;
  depth: number;
}

/** Why a deposit waits that the quorum denies. */
export const DENIED = "the nodes do not have it";
/**
 * So often what the quorum denies is asked for again before it is given up: for a quarter of an
 * hour.
 */
const DENIED_MAX = 8;
/**
 * What was given up is asked for again after an hour, two, four … and a day at most, for about a
 * month.
 */
const ASKED_MAX = DENIED_MAX + 34;
/** Deposits that were given up and are asked for in one pass. */
const AGAIN_MAX = 8;
const GIVEN_UP = errorField(
  "deposit.not_found",
  "as many nodes as must agree deny it: it is asked for again, ever more rarely, for a month",
);
const FOR_GOOD = errorField(
  "deposit.not_found",
  "as many nodes as must agree have denied it for a month: only a rescan looks for it again",
);

/**
 * Asks again for what was given up because the quorum denied it, where that is due. What the quorum
 * confirms by now is pending again, and counts as any other once it is proven.
 */
export async function askAgain(context: WorkerContext, chain: Chain, scan: Asked): Promise<void> {
  const { place, watch, depth } = scan;
  const due = await reading(context.pool, (db) => selectDenied(db, place, AGAIN_MAX));
  for (const row of due) {
    let unclear = false;
    try {
      const checked = await chain.recheck(transferOf(row), { depth });
      const told = checked?.transfer ?? await toldOtherwise(chain, watch, row);
      if (told !== null) {
        const seen = { transfers: [told], coins: chain.traits.coins };
        await context.step((tx) => recordTransfers(tx, context.actor, place, seen));
        context.log("warn", "nodes have a deposit again that they had denied", { deposit: row.id });
      }
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      unclear = true;
    }
    // What came back is pending, and left as it is.
    const end: DeniedEnd = { after: ASKED_MAX, error: FOR_GOOD };
    await context.step((tx) => putOffDenied(tx, row.id, { first: DENIED_MAX, unclear, end }));
  }
}

/** Finds what a transaction brought in a deposit's place, as the quorum has it; null if nothing. */
async function toldOtherwise(
  chain: Chain,
  watch: Watch,
  row: PendingRow,
): Promise<Transfer | null> {
  for (const one of await chain.search({ hash: row.hash }, watch)) {
    if (placeOf({ ...one, address: one.to }) !== placeOf(row)) continue;
    const checked = await chain.recheck(one);
    if (checked !== null) return checked.transfer;
  }
  return null;
}

/** Records a deposit as the quorum tells it, in place of what one node told when it was seen. */
export async function recordAnew(
  context: WorkerContext,
  place: ChainPlace,
  row: PendingRow,
  transfer: Transfer,
): Promise<void> {
  context.log("warn", "a deposit was seen with another amount or sender", { deposit: row.id });
  await context.step(async (tx) => {
    if (!await deletePending(tx, row)) return;
    await recordTransfers(tx, context.actor, place, { transfers: [transfer], coins: false });
  });
}

/**
 * Sees to what the nodes do not have as it was recorded: it is recorded as they have it, where one
 * of them told of another receiver or token, and given up where as many as must agree have denied
 * it again and again.
 *
 * @returns whether it need not be asked for again
 */
export async function denied(
  context: WorkerContext,
  chain: Chain,
  { place, watch }: Pick<Asked, "place" | "watch">,
  row: PendingRow,
): Promise<boolean> {
  try {
    const told = await toldOtherwise(chain, watch, row);
    if (told !== null) {
      await recordAnew(context, place, row, told);
      return true;
    }
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    return false;
  }
  if (chain.quorum === 1 || !wasDenied(row) || row.tries < DENIED_MAX) return false;
  await context.step((tx) => orphanDeposit(tx, context.actor, row, GIVEN_UP));
  return true;
}

/** Whether the last try found that the quorum denies a deposit. */
export function wasDenied({ error }: PendingRow): boolean {
  return (error as { detail?: unknown } | null)?.detail === DENIED;
}

/** What a deposit says to have arrived, in base units. */
export function transferOf(row: PendingRow): Transfer {
  const height = row.block;
  return {
    hash: row.hash,
    index: row.index,
    from: row.sender,
    to: row.address,
    contract: row.contract,
    amount: toUnits(row.amount, row.decimals),
    block: height === null ? null : { height, hash: row.block_hash!, parentHash: "", time: 0 },
    maturesAt: row.matures_at,
  };
}
