/**
 * What users of withdrawals are told where the chain has lost the transactions that paid these: whether they are paid, and by
 * which transaction.
 * @module
 */
import { updateConsolidation } from "../../db/consolidations/consolidations.ts";
import { updateToken } from "../../db/currencies/tokens.ts";
import type { Db, Tx } from "../../db/database.ts";
import { lockSweep, updateSweep } from "../../db/deposits/sweeps.ts";
import { selectFoundFor } from "../../db/recovery/found_payments.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import {
  noteFound,
  selectWithdrawals,
  type WithdrawalRow,
} from "../../db/withdrawals/withdrawals.ts";
import type { Actor } from "../actor.ts";
import { resolveChainAsset } from "../chains/onchain_assets.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { costOf } from "../withdrawals/withdrawal_bookings.ts";
import { announceAll } from "../withdrawals/withdrawal_settlement.ts";

/** What users are told of a transaction. */
export interface FoundEntry {
  hash: string;
  /** Whether it pays their withdrawal. */
  paid: boolean;
  block?: number;
  /** What the chain took for it, in whole units, where that is told. */
  cost?: string;
  reason: string;
}

/** A block that has a transaction of an order that is done, whose own the chain had lost. */
export interface SeenPayer {
  /** The transaction that the order had ended with. */
  hash: string;
  seen: string;
  height: number;
  /** Base units that it cost there; null where that is not known. */
  cost: { fee: string; contract: string | null } | null;
}

/** Lists the withdrawals that an order has paid. */
export async function paidBy(db: Db, order: OrderRow): Promise<string[]> {
  const paying = [order, ...await selectBatched(db, order.id)];
  const paid = paying.flatMap((one) => one.purpose === "withdrawal" ? one.reference_id ?? [] : []);
  return [...paid, ...await selectFoundFor(db, order.id)];
}

/** Tells the users of withdrawals. */
export async function tellUsers(
  tx: Tx,
  actor: Actor,
  withdrawals: readonly string[],
  entry: FoundEntry,
): Promise<void> {
  const told = await noteFound(tx, withdrawals, {
    at: actor.at,
    event: "found",
    ...entry,
  });
  await announceAll(tx, actor, told);
}

/**
 * Tells the users of an order that is done which of its transactions pays them, where they were shown another: a block has it
 * in place of that one. What is booked stays, with the fee of the one that the order has ended with.
 */
export async function tellPayer(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  { hash, seen, height, cost }: SeenPayer,
): Promise<void> {
  await showMined(tx, actor, order, { seen, height });
  const rows = await selectWithdrawals(tx, await paidBy(tx, order));
  const others = rows.filter((row) => shownPayer(row) !== seen);
  const reason = `${backAs(hash, { seen, height })}: it is paid by it`;
  const entry = { hash: seen, paid: true, block: height, reason };
  // Those that a batch pays divide its fee.
  if (cost === null || order.purpose !== "withdrawal") {
    return await tellUsers(tx, actor, others.map(({ id }) => id), entry);
  }
  for (const row of others) {
    await tellUsers(tx, actor, [row.id], { ...entry, cost: await costIn(tx, row, order, cost) });
  }
}

/**
 * Corrects the transaction that a sweep, a consolidation or a token is shown with: a block has this one of its order. What is
 * booked stays.
 */
export async function showMined(
  tx: Tx,
  actor: Actor,
  { id, purpose, reference_id: of }: OrderRow,
  { seen: hash, height }: Pick<SeenPayer, "seen" | "height">,
): Promise<void> {
  if (of === null) return;
  if (purpose === "sweep" && (await lockSweep(tx, of))?.order_id === id) {
    await updateSweep(tx, of, { hash });
  } else if (purpose === "consolidation") {
    await updateConsolidation(tx, of, { hash, height }, actor.at);
  } else if (purpose === "deploy") {
    await updateToken(tx, of, { hash, updated_at: actor.at });
  }
}

/** The transaction that a withdrawal is said to be paid by. */
function shownPayer({ history, hash }: WithdrawalRow): unknown {
  const last = history.findLast(({ event, paid }) => event === "found" && paid === true);
  return last?.hash ?? hash;
}

async function costIn(
  tx: Tx,
  row: WithdrawalRow,
  order: OrderRow,
  { fee, contract }: { fee: string; contract: string | null },
): Promise<string> {
  const asset = await resolveChainAsset(tx, row.asset);
  return costOf(row, { ...order, fee, fee_contract: contract }, asset).amount;
}

/** Says that a block has a transaction of an order again. */
export function backAs(
  hash: string,
  { seen, height }: { seen: string; height: number },
): string {
  return seen === hash
    ? `block ${height} has ${hash} again, which the chain had lost`
    : `block ${height} has ${seen} in place of ${hash}, which the chain had lost`;
}
