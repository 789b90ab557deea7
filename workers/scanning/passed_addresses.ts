/**
 * Addresses that a reconciliation passed over: the lost database may have handed them out, and whoever
 * has one may pay to it at any time. Once a block shows such a payment, the address becomes a deposit
 * account of its ramp.
 * @module
 */
import { selectPassed } from "../../db/accounts/own_addresses.ts";
import { reading } from "../../db/transaction.ts";
import type { SeenTransfer } from "../../domain/chains/observed_transfers.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { DomainError } from "../../domain/errors.ts";
import { recoverAddress } from "../../domain/deposits/deposit_accounts.ts";
import type { WorkerContext } from "../worker_context.ts";

/** Makes the deposit accounts of passed addresses that some transfers pay, before these are recorded. */
export async function recoverPaid(
  context: WorkerContext,
  place: ChainNetwork,
  transfers: readonly Pick<SeenTransfer, "to" | "block">[],
): Promise<void> {
  const paid = new Set(transfers.flatMap(({ to, block }) => block === null ? [] : [to]));
  if (paid.size === 0) return;
  const passed = await reading(context.pool, (db) => selectPassed(db, place, [...paid]));
  for (const one of passed) {
    context.log("warn", "an address that only a lost database knew is paid", { ...place, ...one });
    try {
      await context.step((tx) => recoverAddress(tx, context.actor, one), { lockLedger: true });
    } catch (error) {
      // The scan of all others does not wait for it: a rescan of the transaction finds it again.
      if (!(error instanceof DomainError)) throw error;
      context.log("error", "it has no account: rescan the transaction", {
        ...place,
        ...one,
        error,
      });
    }
  }
}
