/**
 * What transactions of our own keys, found on the chain, brought to addresses of ours: payments to own addresses are no
 * deposits, unless they left for a deposit address.
 * @module
 */
import { freezeRamps } from "../../db/accounts/ramps.ts";
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Tx } from "../../db/database.ts";
import { markDepositErrors, markOrphaned, selectDeposits } from "../../db/deposits/deposits.ts";
import { lockReceipts, type ReceiptRow } from "../../db/recovery/own_receipts.ts";
import { releaseDeposits } from "../../db/recovery/recoveries.ts";
import type { LedgerTx } from "../../db/transaction.ts";
import type { Actor } from "../actor.ts";
import { INWARD } from "../deposits/incoming_transfers.ts";
import { tellDeposits } from "../deposits/deposit_views.ts";
import { errorField } from "../errors.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import type { FoundTransaction } from "./found_transactions.ts";

/** A transaction that was found, and the addresses at which it is a deposit all the same. */
export interface Receipts {
  found: Pick<FoundTransaction, "hash">;
  /** Addresses of ours to which it paid what is due to others. */
  external: ReadonlySet<string>;
}

/**
 * Handles the deposits of a transaction that replaced one of an order: they are those that would be
 * deposits, had it been the order's from the beginning.
 */
export async function settleReplacement(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  found: FoundTransaction,
): Promise<void> {
  const to = INWARD.has(order.purpose) ? [] : found.payments.map((one) => one.to);
  const external = new Set(to.filter((address) => address !== order.sender));
  await settlePending(tx, actor, order, { found, external });
}

/**
 * Handles the deposits of a transaction that is booked as our own. Those that were credited before, as payments of
 * others, are booked twice then: they carry an error, and their ramps are frozen.
 *
 * @returns their ids
 */
export async function settleReceipts(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  of: Receipts,
): Promise<string[]> {
  const ours = await settlePending(tx, actor, place, of);
  const credited = ours.filter(({ status }) => status === "CONFIRMED");
  if (credited.length === 0) return [];
  const ids = credited.map(({ id }) => id);
  const why = "it is a transaction of our own, found again: it was credited as a payment of others";
  const error = errorField("chain.quarantined", why);
  await markDepositErrors(tx, ids, error);
  await tellDeposits(tx, actor, "deposit.orphaned", await selectDeposits(tx, ids));
  await freezeRamps(tx, place, [...new Set(credited.map(({ address }) => address))]);
  return ids;
}

/** Orphans what is not credited yet, also what came before the quarantine; releases the rest. Gives all that is ours. */
async function settlePending(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  { found, external }: Receipts,
): Promise<ReceiptRow[]> {
  const all = await lockReceipts(tx, place, found.hash);
  const pending = all.filter(({ status }) => status === "PENDING");
  await releaseDeposits(tx, pending.map(({ id }) => id));
  const ours = all.filter((one) => !external.has(one.address));
  const orphaned = ours.filter(({ status }) => status === "PENDING").map(({ id }) => id);
  const error = errorField("chain.quarantined", "it is a transaction of our own, found again");
  if (orphaned.length > 0) await markOrphaned(tx, orphaned, { error, at: actor.at });
  return ours;
}
