/**
 * Scan results: records scanned blocks and moves the cursor, records transfers as pending deposits,
 * and rolls back after a reorganisation. Recording the same block twice changes nothing.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import {
  type ChainBlockRow,
  deleteChainBlocks,
  insertChainBlocks,
  moveCursor,
  type NetworkKey,
  updateHalted,
} from "../../db/chains/cursors.ts";
import type { Tx } from "../../db/database.ts";
import { deleteUnlike } from "../../db/deposits/deposit_proofs.ts";
import {
  type DepositRow,
  detachAbove,
  markDepositErrors,
  upsertDeposits,
} from "../../db/deposits/deposits.ts";
import {
  cutGainsAbove,
  lowerOnchainBalances,
  type OnchainBalanceRow,
} from "../../db/accounts/onchain_balances.ts";
import { freezeRamps } from "../../db/accounts/ramps.ts";
import { forgetAbove, markConsumed, upsertCoins } from "../../db/chains/scan_results.ts";
import { markDisplacedSeen } from "../../db/recovery/displaced_orders.ts";
import {
  freeUnshown,
  noteElsewhere,
  noteLost,
  noteUnshown,
} from "../../db/recovery/lost_blocks.ts";
import {
  forgetSeenAbove,
  markAttemptsSeen,
  markAttemptsTold,
} from "../../db/sending/late_attempts.ts";
import {
  deleteMatched,
  deleteUnmatchedAbove,
  upsertUnmatchedDeposits,
} from "../../db/deposits/unmatched_deposits.ts";
import type { Actor } from "../actor.ts";
import { classifyTransfers } from "./incoming_transfers.ts";
import { withinLinkedLimit } from "./linked_limits.ts";
import { tellDeposits } from "./deposit_views.ts";
import { checkConsumed, checkSenders } from "../sending/quarantine.ts";
import { errorField } from "../errors.ts";
import { emit } from "../events.ts";
import type { SeenTransfer } from "../chains/observed_transfers.ts";

/** A range of scanned blocks that link to each other. */
export interface BlockRange {
  /** Where the cursor must stand. */
  readonly from: { readonly height: number; readonly hash: string };
  /** Oldest first; at least one. */
  readonly blocks: readonly ChainBlockRow[];
  readonly transfers: readonly SeenTransfer[];
  readonly consumed: readonly { input: string; hash: string; height: number; few?: boolean }[];
  /** Whether the chain has coins. */
  readonly coins: boolean;
}

/** Blocks that are remembered below the cursor, to find where a reorganisation began. */
export const WINDOW = 1024;

/** Records a range of blocks and moves the cursor; false if the cursor stood elsewhere. */
export async function recordRange(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  range: BlockRange,
): Promise<boolean> {
  const top = range.blocks[range.blocks.length - 1];
  if (!await moveCursor(tx, place, range.from, top)) return false;
  await insertChainBlocks(tx, place, range.blocks);
  await deleteChainBlocks(tx, place, { from: top.height - WINDOW, to: top.height });
  const shown = range.consumed.filter(({ few }) => !few).map(({ hash }) => hash);
  const blocks = { above: range.from.height, to: top.height, shown };
  await noteUnshown(tx, place, { ...blocks, at: actor.at });
  if (range.coins) await freeUnshown(tx, place, blocks);
  else if (range.consumed.length > 0) await noteElsewhere(tx, place, elsewhere(actor, range));
  await recordFound(tx, actor, place, range);
  return true;
}

/** What blocks show of transactions, also by the word of fewer nodes than the quorum: nodes are asked about it. */
function elsewhere(actor: Actor, { from, blocks, consumed }: BlockRange) {
  const hashes = new Map(blocks.map(({ height, hash }) => [height, hash]));
  const shown = consumed.map(({ hash, height }) => ({ hash, height, block: hashes.get(height)! }));
  return { above: from.height, at: actor.at, shown };
}

/** Records what blocks showed, also where they were scanned before. */
export async function recordFound(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  found: Pick<BlockRange, "transfers" | "consumed" | "coins">,
): Promise<void> {
  // A coin may be spent in the range that shows it first.
  await recordTransfers(tx, actor, place, found);
  if (found.consumed.length > 0) await markConsumed(tx, place, found.consumed);
  await markSeen(tx, place, found.consumed);
  if (await checkConsumed(tx, actor, place, found.consumed)) {
    await checkSenders(tx, actor, place, found.transfers);
  }
}

/**
 * Records the blocks of transactions that expire, where as many nodes as the quorum show them: what was seen in a block
 * is not given up as expired. On other chains those of transactions that were given up. What fewer nodes show is noted
 * as their word: nodes are asked about it again.
 */
export async function markSeen(
  tx: Tx,
  place: NetworkKey,
  consumed: BlockRange["consumed"],
): Promise<void> {
  const seen = consumed.filter(({ few }) => !few).map(({ input, hash, height }) => ({
    ...{ hash, height, expires: input.endsWith(`:${hash}`) },
  }));
  if (seen.length > 0) await markAttemptsSeen(tx, place, seen);
  if (consumed.length > 0) await markDisplacedSeen(tx, place, consumed);
  const told = consumed.filter(({ few }) => few).map(({ hash, height }) => ({ hash, height }));
  if (told.length > 0) await markAttemptsTold(tx, place, told);
}

/**
 * Records transfers as pending deposits, or as unmatched deposits where their asset is not the
 * address's. Transfers of the service's own orders are neither.
 */
export async function recordTransfers(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  seen: Pick<BlockRange, "transfers" | "coins">,
): Promise<void> {
  if (seen.transfers.length === 0) return;
  await recordIncoming(tx, actor, place, seen);
  await checkSenders(tx, actor, place, seen.transfers);
}

async function recordIncoming(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  seen: Pick<BlockRange, "transfers" | "coins">,
): Promise<void> {
  const { transfers } = seen;
  if (seen.coins) await recordCoins(tx, actor, place, transfers);
  const found = await classifyTransfers(tx, place, { transfers, at: actor.at });
  const { unmatched, at } = found;
  const deposits = await withinLinkedLimit(tx, actor, place, found.deposits);
  if (unmatched.length > 0) await upsertUnmatchedDeposits(tx, place, unmatched, at);
  if (deposits.length === 0) return;
  const mined = deposits.filter(({ block }) => block !== null);
  if (mined.length > 0) await deleteUnlike(tx, place, mined);
  await deleteMatched(
    tx,
    place,
    deposits.map(({ hash, index, address }) => ({ hash, index, address })),
  );
  await tellDeposits(
    tx,
    actor,
    "deposit.pending",
    await upsertDeposits(tx, place, deposits, at),
  );
}

/**
 * Rolls the cursor back to a block that the chain still has. Pending deposits above it are in no
 * block any more. A reorganisation deeper than the confirmations removes blocks of credited
 * deposits: their ramps are frozen and the deposits carry an error. The ledger books nothing in
 * either direction.
 *
 * @returns the credited deposits that lost their block
 */
export async function rollBack(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  to: {
    from: { height: number; hash: string };
    ancestor: { height: number; hash: string };
    /** As of the ancestor, those that were read above it: what rises again from there is a gain again. */
    balances: readonly Omit<OnchainBalanceRow, "height">[];
  },
): Promise<DepositRow[]> {
  if (!await moveCursor(tx, place, to.from, to.ancestor)) return [];
  await deleteChainBlocks(tx, place, { from: 0, to: to.ancestor.height });
  await forgetAbove(tx, place, to.ancestor.height);
  await forgetSeenAbove(tx, place, to.ancestor.height);
  const deep = to.from.height - to.ancestor.height > WINDOW;
  await noteLost(tx, place, { height: to.ancestor.height, at: actor.at, deep });
  await deleteUnmatchedAbove(tx, place, to.ancestor.height);
  await cutGainsAbove(tx, place, to.ancestor.height);
  const { height } = to.ancestor;
  if (to.balances.length > 0) {
    await lowerOnchainBalances(tx, place, { height, at: actor.at }, to.balances);
  }
  const detached = await detachAbove(tx, place, to.ancestor.height);
  const lost = detached.filter((row) => row.status === "CONFIRMED");
  if (lost.length > 0) {
    const error = errorField(
      "deposit.not_found",
      "a reorganisation beyond the depth took its block away",
    );
    await markDepositErrors(tx, lost.map((row) => row.id), error);
    await tellDeposits(tx, actor, "deposit.orphaned", lost.map((row) => ({ ...row, error })));
    await freezeRamps(tx, place, [...new Set(lost.map((row) => row.address))]);
  }
  return lost;
}

/** Halts the scanning of a network until an operator names a block to resume from. */
export async function halt(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  detail: string,
): Promise<void> {
  const { at, realm: { id } } = actor;
  await updateHalted(tx, place, { detail, at });
  const view = { chain: place.chain, network: place.network, detail, at };
  await emit(tx, actor, "chain.halted", { id, owner: null, view });
}

/** Resumes the scanning of a halted network above a block that its chain has. */
export async function resume(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  to: Parameters<typeof rollBack>[3],
): Promise<void> {
  await rollBack(tx, actor, place, to);
  await updateHalted(tx, place, null);
}

async function recordCoins(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
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
