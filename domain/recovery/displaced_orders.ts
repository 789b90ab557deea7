/**
 * Orders that are done, and whose transactions the chain has lost to another with their nonce, by a reorganisation beyond the
 * depth of their end. What they booked did not happen. Nobody can tell by the rows alone what is to become of it: their users
 * and an operator are told.
 * @module
 */
import type { Db, Tx } from "../../db/database.ts";
import { selectFoundFor } from "../../db/recovery/found_payments.ts";
import { type MinedNonce, selectDisplaced } from "../../db/sending/nonces.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import { type HistoryEntry, updateWithdrawals } from "../../db/withdrawals/withdrawals.ts";
import type { Actor } from "../actor.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { quarantine } from "../sending/quarantine.ts";
import { announceAll } from "../withdrawals/withdrawal_settlement.ts";

/** An order whose transaction the chain has lost. */
export interface Displaced {
  order: string;
  purpose: OrderRow["purpose"];
  hash: string;
  /** The withdrawals that it paid, which are done, and that nothing pays now. */
  unpaid: string[];
}

/** Lists the orders that a mined one took the place of, and that moved something. */
export async function displacedBy(db: Db, order: MinedNonce): Promise<Displaced[]> {
  const found: Displaced[] = [];
  for (const one of await selectDisplaced(db, order)) {
    const { id, purpose, hash } = one;
    if (purpose === "fill") continue;
    const paying = [one, ...await selectBatched(db, id)];
    const unpaid = paying.flatMap((paid) =>
      paid.purpose === "withdrawal" ? paid.reference_id ?? [] : []
    );
    unpaid.push(...await selectFoundFor(db, id));
    found.push({ order: id, purpose, hash: hash!, unpaid });
  }
  return found;
}

/**
 * Tells of the orders that a mined one, which has ended, took the place of: their withdrawals say so, and the ramp goes into
 * quarantine.
 *
 * @returns the reason of the quarantine; null where there is no such order
 */
export async function tellDisplaced(tx: Tx, actor: Actor, order: OrderRow): Promise<string | null> {
  const displaced = order.height === null ? [] : await displacedBy(tx, order);
  if (displaced.length === 0) return null;
  const reasons: string[] = [];
  for (const { order: id, purpose, hash, unpaid } of displaced) {
    const lost = `${order.hash} took the place of ${hash}, which the chain has lost`;
    reasons.push(`${lost}: ${lossOf({ order: id, purpose, unpaid }, order)}`);
    // It is shown to the user of a withdrawal, and others may be another's.
    const reason = `${lost}: no transaction pays it`;
    const entry: HistoryEntry = { at: actor.at, event: "found", hash, reason };
    const updates = unpaid.map((one) => ({ id: one, change: {}, entry }));
    await announceAll(tx, actor, await updateWithdrawals(tx, updates, actor.at));
  }
  const detail = reasons.join("; ");
  await quarantine(tx, actor, [order.ramp], detail);
  return detail;
}

/** What an operator is told of an order that a mined one took the place of. */
function lossOf(
  { order, purpose, unpaid }: Pick<Displaced, "order" | "purpose" | "unpaid">,
  { hash }: OrderRow,
): string {
  if (unpaid.length > 0) return `no transaction pays ${unpaid.join(", ")}, which is done`;
  const booked = `what order ${order} (${purpose}) has booked`;
  // A sweep that took its place carried the same value, which is not booked again.
  return purpose === "sweep"
    ? `of ${booked} only that happened which ${hash} did`
    : `${booked} did not happen`;
}
