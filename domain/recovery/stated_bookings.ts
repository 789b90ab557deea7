/**
 * Transactions of our own keys that cannot be read, and that an operator says how to book. The operator only says
 * whether one was a withdrawal's: what it moved, and to whom, the chain tells, and contradicts the operator.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { Tx } from "../../db/database.ts";
import { insertAuditLines } from "../../db/records.ts";
import { lockOrder, selectOrders } from "../../db/sending/chain_orders.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { idTime, newId } from "../ids.ts";
import { finishOrder } from "../sending/order_states.ts";
import { noteRampCost } from "../sending/ramp_costs.ts";
import type { FoundTransaction } from "./found_transactions.ts";
import { type Part, settleRecovered } from "./recovered_payments.ts";

/**
 * Makes sure that a transaction was what an operator says: the payment of those withdrawals and of no other, or of none.
 *
 * @throws {DomainError} chain.quarantined
 */
export async function assertStated(
  tx: Tx,
  { hash, stated }: FoundTransaction,
  parts: readonly Part[],
): Promise<void> {
  if (stated === undefined) return;
  const paid: string[] = [];
  for (const { withdrawal } of parts) if (withdrawal !== null) paid.push(withdrawal);
  const orders = parts.flatMap(({ order }) => order ?? []);
  for (const { reference_id } of await selectOrders(tx, orders)) paid.push(reference_id!);
  const said = stated.withdrawals.toSorted();
  paid.sort();
  if (paid.join() === said.join()) return;
  const shows = paid.length === 0
    ? "the chain shows no payment by it of just what a withdrawal that waits is to be paid"
    : `the chain shows that it paid ${paid.join(", ")}`;
  const as = said.length === 0 ? "a loss" : `the payment of ${said.join(", ")}`;
  throw new DomainError("chain.quarantined", `${hash} is not booked as ${as}: ${shows}`);
}

/**
 * Writes to the trail that an operator has said how a transaction is to be booked, and ends its order where nodes agree
 * on all that it did. The transaction holds the ledger lock.
 *
 * @param id the order of the transaction
 */
export async function bookStated(
  tx: LedgerTx,
  actor: Actor,
  id: string,
  found: FoundTransaction,
): Promise<void> {
  const { stated, settled, hash, height, fee } = found;
  if (stated !== undefined) {
    const { withdrawals } = stated;
    const what = withdrawals.length === 0 ? "loss" : "payment";
    const lines = (withdrawals.length === 0 ? [id] : withdrawals).map((entity) => {
      const line = newId(actor.at);
      return {
        id: line,
        actor: null,
        action: `reconcile.${what}`,
        entity,
        fields: [what],
        request_id: actor.requestId,
        address: null,
        created_at: idTime(line),
      };
    });
    await insertAuditLines(tx, lines);
  }
  if (settled === undefined) return;
  const order = (await lockOrder(tx, id))!;
  const ended = await finishOrder(tx, order, {
    ...{ hash, height, block_hash: null, confirmations: 1, succeeded: true, refund: "0" },
    ...{ fee: `${fee ?? 0n}`, fee_contract: null },
  });
  await settleRecovered(tx, actor, ended);
  await noteRampCost(tx, ended);
}
