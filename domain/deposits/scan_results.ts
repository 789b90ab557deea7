/**
 * What the scanner saw becomes rows here: blocks move the cursor, transfers become pending deposits,
 * and what a reorganisation took away is taken back. A block done twice changes nothing.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import {
  type BlockRow,
  deleteBlocks,
  insertBlocks,
  moveCursor,
  type PlaceKey,
  updateHalted,
} from "../../db/chains/cursors.ts";
import type { Tx } from "../../db/database.ts";
import { deleteUnlike } from "../../db/deposits/deposit_proofs.ts";
import {
  type DepositRow,
  detachAbove,
  markDepositError,
  upsertDeposits,
} from "../../db/deposits/deposits.ts";
import { deleteGainsAbove } from "../../db/accounts/onchain_balances.ts";
import {
  forgetAbove,
  freezeRamps,
  markConsumed,
  upsertCoins,
} from "../../db/chains/scan_results.ts";
import {
  deleteMatched,
  deleteUnmatchedAbove,
  upsertUnmatchedDeposits,
} from "../../db/deposits/unmatched_deposits.ts";
import type { Actor } from "../actor.ts";
import { sortArrivals } from "./incoming_transfers.ts";
import { tellDeposit } from "./deposit_views.ts";
import { checkConsumed, checkSenders } from "../sending/quarantine.ts";
import { errorField } from "../errors.ts";
import type { SeenTransfer } from "../chains/observed_transfers.ts";

/** A stretch of scanned blocks that link to each other. */
export interface Stretch {
  /** Where the cursor must stand. */
  readonly from: { readonly height: number; readonly hash: string };
  /** Oldest first; at least one. */
  readonly blocks: readonly BlockRow[];
  readonly transfers: readonly SeenTransfer[];
  readonly consumed: readonly { claim: string; hash: string; height: number }[];
  /** Whether the chain has coins. */
  readonly coins: boolean;
}

/** Blocks that are remembered below the cursor, to find where a reorganisation began. */
export const WINDOW = 1024;

/** Records a stretch of blocks and moves the cursor; false if the cursor stood elsewhere. */
export async function recordStretch(
  tx: Tx,
  actor: Actor,
  place: PlaceKey,
  stretch: Stretch,
): Promise<boolean> {
  const top = stretch.blocks[stretch.blocks.length - 1];
  if (!await moveCursor(tx, place, stretch.from, top)) return false;
  await insertBlocks(tx, place, stretch.blocks);
  await deleteBlocks(tx, place, { from: top.height - WINDOW, to: top.height });
  // A coin may be spent in the stretch that shows it first.
  await recordTransfers(tx, actor, place, stretch);
  if (stretch.consumed.length > 0) await markConsumed(tx, place, stretch.consumed);
  if (await checkConsumed(tx, actor, place, stretch.consumed)) {
    await checkSenders(tx, actor, place, stretch.transfers);
  }
  return true;
}

/**
 * Records transfers: as pending deposits, or as unmatched deposits where they are of another asset than their
 * address is for. Those of our own making are neither.
 */
export async function recordTransfers(
  tx: Tx,
  actor: Actor,
  place: PlaceKey,
  seen: Pick<Stretch, "transfers" | "coins">,
): Promise<void> {
  if (seen.transfers.length === 0) return;
  await recordArrivals(tx, actor, place, seen);
  await checkSenders(tx, actor, place, seen.transfers);
}

async function recordArrivals(
  tx: Tx,
  actor: Actor,
  place: PlaceKey,
  seen: Pick<Stretch, "transfers" | "coins">,
): Promise<void> {
  const { transfers } = seen;
  if (seen.coins) await recordCoins(tx, actor, place, transfers);
  const { deposits, unmatched, at } = await sortArrivals(tx, place, { transfers, at: actor.at });
  if (unmatched.length > 0) await upsertUnmatchedDeposits(tx, place, unmatched, at);
  if (deposits.length === 0) return;
  const mined = deposits.filter(({ block }) => block !== null);
  if (mined.length > 0) await deleteUnlike(tx, place, mined);
  await deleteMatched(
    tx,
    place,
    deposits.map(({ hash, index, address }) => ({ hash, index, address })),
  );
  for (const row of await upsertDeposits(tx, place, deposits, at)) {
    await tellDeposit(tx, actor, "deposit.pending", row);
  }
}

/**
 * Goes back to a block that the chain still has. Pending deposits above it are in no block now. A
 * reorganisation beyond the depth took away what was booked: its ramps are frozen and the deposits
 * say so; no money is invented and none is taken back.
 *
 * @returns the booked deposits that lost their block
 */
export async function rollBack(
  tx: LedgerTx,
  actor: Actor,
  place: PlaceKey,
  to: {
    from: { height: number; hash: string };
    ancestor: { height: number; hash: string };
  },
): Promise<DepositRow[]> {
  if (!await moveCursor(tx, place, to.from, to.ancestor)) return [];
  await deleteBlocks(tx, place, { from: 0, to: to.ancestor.height });
  await forgetAbove(tx, place, to.ancestor.height);
  await deleteUnmatchedAbove(tx, place, to.ancestor.height);
  await deleteGainsAbove(tx, place, to.ancestor.height);
  const detached = await detachAbove(tx, place, to.ancestor.height);
  const lost = detached.filter((row) => row.status === "CONFIRMED");
  for (const row of lost) {
    const error = errorField(
      "deposit.not_found",
      "a reorganisation beyond the depth took its block away",
    );
    await markDepositError(tx, row.id, error);
    await tellDeposit(tx, actor, "deposit.orphaned", { ...row, error });
  }
  if (lost.length > 0) {
    await freezeRamps(tx, place, [...new Set(lost.map((row) => row.address))]);
  }
  return lost;
}

/** Notes that a place cannot be followed until an operator has looked. */
export async function halt(tx: Tx, place: PlaceKey, detail: string, at: number): Promise<void> {
  await updateHalted(tx, place, { detail, at });
}

/** Follows a place again that waited for an operator, from a block on that its chain has. */
export async function resume(
  tx: LedgerTx,
  actor: Actor,
  place: PlaceKey,
  to: Parameters<typeof rollBack>[3],
): Promise<void> {
  await rollBack(tx, actor, place, to);
  await updateHalted(tx, place, null);
}

async function recordCoins(
  tx: Tx,
  actor: Actor,
  place: PlaceKey,
  transfers: readonly SeenTransfer[],
): Promise<void> {
  const mined = transfers.filter((one) => one.block !== null && one.contract === null);
  if (mined.length === 0) return;
  const coins = new Map(mined.map((one) => [`${one.hash}:${one.index}`, {
    hash: one.hash,
    index: one.index,
    address: one.to,
    amount: `${one.amount}`,
    height: one.block!.height,
    matures_at: one.maturesAt,
  }]));
  await upsertCoins(tx, place, [...coins.values()], actor.at);
}
