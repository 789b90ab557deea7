/**
 * Deposits that the quorum denies. Nodes are asked again; a deposit that they report otherwise is
 * recorded so; one that they deny for a quarter of an hour is given up. For a month they are asked
 * for it ever more rarely, so a deposit that nodes lost, or lied about, comes back by itself.
 * @module
 */
import {
  type DeniedEnd,
  putOffDenied,
  selectCalled,
  selectDenied,
} from "../../db/deposits/deposit_proofs.ts";
import { deletePending, type PendingRow } from "../../db/deposits/deposits.ts";
import { reading } from "../../db/transaction.ts";
import { transferKey } from "../../domain/deposits/incoming_transfers.ts";
import { isOfCalls, orphanDeposit } from "../../domain/deposits/deposits.ts";
import { toUnits } from "../../domain/money.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { recordTransfers } from "../../domain/deposits/scan_results.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Transfer, WatchList } from "../chains/observations.ts";
import { errorField } from "../../domain/errors.ts";

/** The network that is asked about, and its watch list. */
export interface Asked {
  place: ChainNetwork;
  watch: WatchList;
  depth: number;
}

/** The error of a deposit that the quorum denies. */
export const DENIED = "the nodes do not have it";
/**
 * Tries before a denied deposit is given up: a quarter of an hour.
 */
const DENIED_MAX = 8;
/**
 * Tries before asking ends: after an hour, two, four … and a day at most, for about a month.
 */
const ASKED_MAX = DENIED_MAX + 34;
/** Most given-up deposits that one pass asks for. */
const AGAIN_MAX = 8;
const GIVEN_UP = errorField(
  "deposit.not_found",
  "as many nodes as must agree deny it: it is asked for again, ever more rarely, for a month",
);
const FOR_GOOD = errorField(
  "deposit.not_found",
  "as many nodes as must agree have denied it for a month: only a rescan searches it again",
);

/**
 * Asks again for denied deposits that were given up and are due. A deposit that the quorum confirms
 * now is pending again, and is credited like any other.
 */
export async function askAgain(context: WorkerContext, chain: Chain, scan: Asked): Promise<void> {
  const { place, watch, depth } = scan;
  const due = await reading(context.pool, (db) => selectDenied(db, place, AGAIN_MAX));
  for (const row of due) {
    let unclear = false;
    try {
      const checked = await chain.recheck(transferOf(row), {
        depth,
        ...await calledOf(context, row),
      });
      const told = checked?.transfer ?? await toldOtherwise(chain, watch, row);
      if (told !== null) {
        const seen = { transfers: [told], coins: chain.traits.coins };
        await context.step((tx) => recordTransfers(tx, context.actor, place, seen));
        context.log("warn", "nodes confirm a deposit that they had denied", { deposit: row.id });
      }
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      unclear = true;
    }
    // A deposit that came back is pending, and stays as it is.
    const end: DeniedEnd = { after: ASKED_MAX, error: FOR_GOOD };
    await context.step((tx) => putOffDenied(tx, row.id, { first: DENIED_MAX, unclear, end }));
  }
}

/** What other calls brought in the block of a deposit of calls, as far as it is credited. */
async function calledOf(context: WorkerContext, row: PendingRow): Promise<{ called?: bigint }> {
  if (!isOfCalls(row)) return {};
  const [{ called }] = await reading(context.pool, (db) => selectCalled(db, [row.id]));
  return { called: toUnits(called, row.decimals) };
}

/** Finds another transfer that the quorum reports under a deposit's key; null if there is none. */
async function toldOtherwise(
  chain: Chain,
  watch: WatchList,
  row: PendingRow,
): Promise<Transfer | null> {
  for (const one of await chain.search({ hash: row.hash }, watch)) {
    if (transferKey({ ...one, address: one.to }) !== transferKey(row)) continue;
    if (isOfCalls(row) && isSame(one, transferOf(row))) continue;
    const checked = await chain.recheck(one);
    if (checked !== null) return checked.transfer;
  }
  return null;
}

/** Whether a transfer is the one that was denied: what calls brought may be credited as another's. */
function isSame(one: Transfer, other: Transfer): boolean {
  return one.amount === other.amount && one.to === other.to && one.contract === other.contract &&
    one.block?.hash === other.block?.hash;
}

/** Records a deposit as the quorum reports it, in place of one node's report from the scan. */
export async function recordAnew(
  context: WorkerContext,
  place: ChainNetwork,
  row: PendingRow,
  transfer: Transfer,
): Promise<void> {
  context.log("warn", "a deposit is recorded anew: the quorum reports another amount or sender", {
    deposit: row.id,
  });
  await context.step(async (tx) => {
    if (!await deletePending(tx, row)) return;
    await recordTransfers(tx, context.actor, place, { transfers: [transfer], coins: false });
  });
}

/**
 * Handles a deposit that nodes do not have as it was recorded. Where one node had reported another
 * receiver or token, it is recorded as the quorum has it. Where the quorum denied it again and
 * again, it is given up.
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

/** Whether the quorum denied a deposit at the last try. */
export function wasDenied({ error }: PendingRow): boolean {
  return (error as { detail?: unknown } | null)?.detail === DENIED;
}

/** The transfer of a deposit, in base units. */
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
