/** Whose the payments of a found transaction were, and what may be given up for it. @module */
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Db, Tx } from "../../db/database.ts";
import type { LedgerTx } from "../../db/transaction.ts";
import { selectPaidUnfound } from "../../db/recovery/found_payments.ts";
import {
  type OwnPlace,
  selectReplaced,
  selectSpending,
  selectUnsigned,
} from "../../db/recovery/recoveries.ts";
import { lockOrder, selectOrder } from "../../db/sending/chain_orders.ts";
import { selectAttemptSummaries } from "../../db/sending/order_attempts.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { toUnits } from "../money.ts";
import {
  type OrderRow,
  type PaymentRequest,
  renewOrder,
  undoBatch,
  yieldOrder,
} from "../sending/chain_orders.ts";
import { unplanOrder } from "../sending/signing_holds.ts";
import type { FoundPayment, FoundTransaction, LateOrder } from "./found_transactions.ts";
import type { Part } from "./recovered_payments.ts";

/**
 * Finds the withdrawals that payments were for, by destination, token and amount. One that is signed counts
 * where the transaction spends what its bytes would: it replaced them. What a contract paid of what it had before is no
 * withdrawal's payment unless an operator says so. Of several alike, the one that an operator has named is meant, or
 * the one whose own transaction it was.
 */
export async function matchParts(
  tx: LedgerTx,
  actor: Actor,
  place: NetworkKey,
  { found, sender, external }: {
    found: FoundTransaction;
    sender: OwnPlace;
    external: readonly FoundPayment[];
  },
): Promise<readonly Part[]> {
  const said = new Set(found.stated?.withdrawals ?? found.late?.withdrawals);
  const saidFirst = (one: string | null, other: string | null) =>
    Number(said.has(other!)) - Number(said.has(one!));
  const unsent = (await selectUnsigned(tx, place, [sender.ramp]))
    .filter((one) => one.purpose === "withdrawal");
  const signed = unsent.filter(({ state }) => state === "signed").map(({ id }) => id);
  const replaced = new Set(await selectReplaced(tx, signed, found.inputs));
  // Nothing else finds that a transaction whose bytes do not tell what it moved took the place of one that was sent.
  const isTold = found.stated === undefined && found.calls === null;
  const lost = isTold ? new Map<OrderRow, OrderRow>() : await selectLost(tx, place, found);
  const waiting = [
    ...unsent.filter(({ id, state }) => state !== "signed" || replaced.has(id)),
    ...lost.keys(),
  ].filter((one) => one.sender === sender.address)
    .toSorted((one, other) => saidFirst(one.reference_id, other.reference_id));
  const called = (await selectPaidUnfound(tx, place, [sender.ramp]))
    .toSorted((one, other) => saidFirst(one.id, other.id));
  const parts: Part[] = [];
  for (const { to, contract, amount, ours } of external) {
    const paid = called.findIndex((one) =>
      one.destination === to && (one.contract ?? null) === contract &&
      toUnits(one.amount, one.decimals) === amount
    );
    const at = waiting.findIndex((one) => {
      if (ours !== undefined && found.stated === undefined) return false;
      const [payment] = (one.request as unknown as PaymentRequest & { kind: "pay" }).payments;
      return payment.to === to && one.contract === (contract ?? "") &&
        payment.amount === `${amount}`;
    });
    const isCalled = said.has(called[paid]?.id) && !said.has(waiting[at]?.reference_id ?? "");
    const order = at < 0 || isCalled ? null : waiting.splice(at, 1)[0];
    const sent = order === null ? undefined : lost.get(order);
    if (order !== null) await assertMayGiveUp(tx, order.batch_order_id ?? order.id, found);
    if (sent !== undefined) await giveUpSent(tx, actor, sent, found);
    else if (order?.batch_order_id) await undoBatch(tx, actor, order.batch_order_id);
    else if (order?.state === "planned") await unplanOrder(tx, actor, order);
    else if (order?.state === "signed") await yieldOrder(tx, order, found);
    const withdrawal = order !== null || paid < 0 ? null : called.splice(paid, 1)[0].id;
    const cost = ours === undefined
      ? { amount: `${amount}` }
      : { amount: `${ours}`, whole: `${amount}` };
    parts.push({ to, contract, ...cost, order: order?.id ?? null, withdrawal });
  }
  return sharedWith(found, external, parts);
}

/**
 * Selects the withdrawals whose own transactions were sent, and can never be mined because a found one spent inputs of
 * all of them; each with the order that paid it, which is a batch's where it was in one.
 */
export async function selectLost(
  db: Db,
  place: NetworkKey,
  { inputs, deep }: Pick<FoundTransaction, "inputs" | "deep">,
): Promise<ReadonlyMap<OrderRow, OrderRow>> {
  const sent = deep
    ? (await selectSpending(db, place, inputs)).filter(({ state }) => state === "sent")
    : [];
  const replaced = await selectReplaced(db, sent.map(({ id }) => id), inputs);
  const lost = new Map<OrderRow, OrderRow>();
  for (const order of sent) {
    if (!replaced.includes(order.id)) continue;
    const paying = order.purpose === "batch" ? await selectBatched(db, order.id) : [order];
    for (const one of paying) if (one.purpose === "withdrawal") lost.set(one, order);
  }
  return lost;
}

/**
 * Makes sure that nothing else of an order may still be mined where one of its transactions was mined that it had given
 * up. What is in flight decides whether that one has paid its withdrawal. Bytes that do not expire and never left are
 * asked about instead: nothing sends them before that.
 *
 * @throws {DomainError} chain.quarantined until then
 */
export async function assertAlone(tx: Tx, { id, withdrawals }: LateOrder): Promise<void> {
  const order = withdrawals.length === 0 ? null : await lockOrder(tx, id);
  if (order === null || !["signed", "sent", "mined"].includes(order.state)) return;
  const living = (await selectAttemptSummaries(tx, id)).filter(({ dropped }) => !dropped);
  const waits = living.every(({ expires, sent_at }) => expires === null && sent_at === null);
  if (order.state === "signed" && waits) return;
  // One that failed in its block pays nobody, and its order ends when the quarantine has.
  if (order.state === "mined" && order.succeeded === false) return;
  const why =
    "another transaction of its order may still be mined: run it again when it is, or has expired";
  throw new DomainError("chain.quarantined", why);
}

/** Gives up what was sent for an order; what else it was to pay is asked about. */
async function giveUpSent(
  tx: LedgerTx,
  actor: Actor,
  { id }: OrderRow,
  { hash, height }: FoundTransaction,
): Promise<void> {
  const order = await lockOrder(tx, id);
  if (order?.state !== "sent") return; // of a batch, given up for another of its payments
  await renewOrder(tx, actor, order, { proof: "consumed", by: hash, height });
}

/**
 * Where others' coins are spent beside ours, payments that nobody is known to have ordered are cut to what ours
 * brought in, less what came back and what withdrawals were paid. One that others paid all of stays: it may be that of
 * a withdrawal which is called paid later.
 */
function sharedWith(
  { brought, payments }: Pick<FoundTransaction, "brought" | "payments">,
  external: readonly FoundPayment[],
  parts: readonly Part[],
): readonly Part[] {
  if (brought === null) return parts;
  const sum = (of: readonly { amount: bigint | string }[]) =>
    of.reduce((all, { amount }) => all + BigInt(amount), 0n);
  const isKnown = (one: Part) => one.order !== null || one.withdrawal !== null;
  let left = brought - (sum(payments) - sum(external)) - sum(parts.filter(isKnown));
  return parts.map((part) => {
    const whole = BigInt(part.amount);
    if (isKnown(part) || whole <= left) {
      if (!isKnown(part)) left -= whole;
      return part;
    }
    const share = left > 0n ? left : 0n;
    left -= share;
    return { ...part, amount: `${share}`, whole: part.amount };
  });
}

/**
 * Makes sure that the bytes of an order may be given up for a found transaction: where they are signed, a
 * newer database may have sent them, and they are mined after all where the found one loses its block.
 *
 * @throws {DomainError} chain.quarantined while it is not deep enough
 */
export async function assertMayGiveUp(
  tx: Tx,
  id: string,
  { hash, deep }: Pick<FoundTransaction, "hash" | "deep">,
): Promise<void> {
  if (deep || (await selectOrder(tx, id))?.state !== "signed") return;
  const why =
    `${hash} took the place of what order ${id} has signed, and may still lose its block: ` +
    "run it again when more blocks lie above it";
  throw new DomainError("chain.quarantined", why);
}
