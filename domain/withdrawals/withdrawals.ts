/**
 * Withdrawals: value that leaves the ledger for a chain. Creation reserves the value and orders the
 * payment; no node is asked here.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { selectAccount } from "../../db/accounts/accounts.ts";
import type { Db, Tx } from "../../db/database.ts";
import { type OrderRow, selectOrder } from "../../db/sending/chain_orders.ts";
import { selectMayDiscard } from "../../db/sending/nonces.ts";
import { selectMayCancel } from "../../db/sending/quarantine.ts";
import {
  type HistoryEntry,
  insertWithdrawal,
  updateWithdrawal,
  updateWithdrawalData,
  type WithdrawalRow,
} from "../../db/withdrawals/withdrawals.ts";
import type { Actor, RequestActor } from "../actor.ts";
import { type ChainId, transactionsExpire } from "../assets.ts";
import { sendingRamp } from "../chains/onchain_assets.ts";
import { DomainError } from "../errors.ts";
import { newIds } from "../ids.ts";
import { openBlock } from "../ledger/blocks.ts";
import { postMove } from "../ledger/posting.ts";
import { toUnits } from "../money.ts";
import { cancelOrder, createOrderWithGas, mayCancelOrder } from "../sending/chain_orders.ts";
import { budgetFor } from "../sending/cost_budget.ts";
import type { Speed } from "../sending/fees.ts";
import { cappedBudgets } from "../sending/holder_losses.ts";
import { sponsorshipOf } from "../sending/token_gas.ts";
import {
  type CheckedWithdrawal,
  checkWithdrawal,
  type NewWithdrawal,
} from "./withdrawal_checks.ts";
import { reachWithdrawal } from "./withdrawal_reach.ts";
import { announce, returnCharge } from "./withdrawal_settlement.ts";

/** Pause before a refused cancellation may be tried again: the limit counts by days. */
const DISCARDED_RETRY_S = 3_600;

/**
 * Reserves funds for a withdrawal and orders its payment. Runs under the ledger lock.
 *
 * @param input.value a decimal in whole units of the asset
 * @throws {DomainError} account.*, balance.insufficient, ramp.*, address.invalid, asset.*, chain.*,
 *   withdrawal.below_fee, condition.failed, stop.active, rate.limited where others have paid for too many,
 *   request.invalid
 */
export async function createWithdrawal(
  tx: LedgerTx,
  actor: RequestActor,
  input: NewWithdrawal,
): Promise<WithdrawalRow> {
  const checked = await checkWithdrawal(tx, actor, input);
  const { ramp, asset, sender, price } = checked;
  const paying = sendingRamp(asset, ramp.id);
  const sponsor = { ramp: paying, sender, user: actor.user, asset, fee: price.fee };
  const sponsored = await sponsorshipOf(tx, sponsor);
  const { ids: [id], at } = newIds(actor.at, 1);
  const reserved = await reserveFunds(tx, actor, { ...checked, id });
  const order = await orderPayment(tx, actor, {
    ...{ ...checked, id, speed: input.fee.speed, maxFee: input.max_fee ?? null },
  });
  const row = await insertWithdrawal(tx, {
    ...requested(input, checked),
    ...reserved,
    id,
    sponsored,
    order_id: order,
    history: [{ at, event: "created" }],
    owner: actor.user,
    created_at: at,
  });
  await announce(tx, actor, row);
  return row;
}

/** The columns of a withdrawal that follow from the request and its checks. */
function requested(input: NewWithdrawal, checked: CheckedWithdrawal) {
  const { account, ramp, asset, place, price } = checked;
  return {
    account: account.id,
    ramp: ramp.id,
    chain: place.chain,
    network: place.network,
    sender: checked.sender,
    destination: checked.destination,
    asset: asset.code,
    contract: asset.contract,
    value: input.value,
    amount: checked.amount,
    fee: price.fee,
    charged: checked.charged,
    paid_by: input.fee.paid_by,
    speed: input.fee.speed,
    max_fee: input.max_fee ?? null,
    gas_asset: price.gas?.asset ?? null,
    gas: price.gas?.value ?? null,
    data: input.data,
  };
}

/** Moves the charge to the ramp's account, where it is not there already, and blocks it there. */
async function reserveFunds(
  tx: LedgerTx,
  actor: Actor,
  { id, account, ramp, charged }: CheckedWithdrawal & { id: string },
): Promise<{ transaction: string | null; block: string }> {
  const moved = account.id === ramp.id ? null : await postMove(tx, actor, {
    type: "withdrawal",
    source: account.id,
    destination: ramp.id,
    amount: charged,
    data: { withdrawal: id },
  });
  const block = await openBlock(tx, actor, {
    account: moved === null ? ramp : (await selectAccount(tx, ramp.id))!,
    amount: charged,
    reason: "withdrawal",
    reference: id,
  });
  return { transaction: moved?.id ?? null, block: block.id };
}

/** Orders the payment on the chain. */
async function orderPayment(
  tx: LedgerTx,
  actor: RequestActor,
  payment: CheckedWithdrawal & { id: string; speed: Speed; maxFee: string | null },
): Promise<string> {
  const { asset, ramp, amount, maxFee, price } = payment;
  const factor = actor.settings.hotFeeMaxFactor;
  const cost = budgetFor(price, { asset, amount, maxFee, factor });
  const rampPaysGas = asset.token !== null && cost.contract === null;
  return await createOrderWithGas(tx, actor, {
    place: payment.place,
    ramp: sendingRamp(asset, ramp.id),
    purpose: "withdrawal",
    reference_id: payment.id,
    speed: payment.speed,
    request: {
      kind: "pay",
      from: payment.sender,
      contract: asset.contract,
      payments: [{ to: payment.destination, amount: `${toUnits(amount, asset.decimals)}` }],
    },
    cost,
    ...(rampPaysGas ? { gas: cost.budget } : {}),
  });
}

/**
 * Refuses to cancel too many signed withdrawals: filling the nonce of each costs the house a fee. A
 * withdrawal that is not canceled continues unchanged.
 *
 * @throws {DomainError} rate.limited
 */
async function assertMayDiscard(
  db: Db,
  actor: Actor,
  row: WithdrawalRow,
  order: OrderRow | null,
): Promise<void> {
  if (order?.state !== "signed" || order.nonce === null) return;
  const few = await selectMayDiscard(db, { ramp: order.ramp, reference_id: row.id });
  if (few && (await cappedBudgets(db, actor.realm, [order])).size === 0) return;
  const why = "too many signed withdrawals were canceled today: this one continues";
  throw new DomainError("rate.limited", why, { retryAfterS: DISCARDED_RETRY_S });
}

/** Refuses to cancel a withdrawal that ended, or that a newer database may have paid, or one too many. */
async function assertMayCancel(
  db: Db,
  actor: Actor,
  row: WithdrawalRow,
  order: OrderRow | null,
): Promise<void> {
  if (row.status !== "PROCESSING") throw notCancelable(row);
  if (!await selectMayCancel(db, row.order_id)) {
    const why = "it may have been paid: nothing is canceled before the ramp is reconciled and a" +
      " worker has confirmed the database";
    throw new DomainError("chain.quarantined", why);
  }
  await assertMayDiscard(db, actor, row, order);
}

function notCancelable({ status, chain }: WithdrawalRow): DomainError {
  const expires = status === "PROCESSING" && transactionsExpire(chain as ChainId);
  const until = ": its transaction is mined or expires within minutes, and only after its expiry" +
    " the withdrawal can be canceled";
  const why = expires ? `it has been sent${until}` : "it has been sent, or has ended";
  return new DomainError("withdrawal.not_cancelable", why);
}

/**
 * Refuses what {@link cancelWithdrawal} would refuse, by the same checks, without a lock.
 *
 * @param order its own order
 * @throws {DomainError} withdrawal.not_cancelable, rate.limited, chain.quarantined
 */
export async function assertCancelable(
  db: Db,
  actor: Actor,
  row: WithdrawalRow,
  order: OrderRow | null,
): Promise<void> {
  await assertMayCancel(db, actor, row, order);
  if (order === null || !await mayCancelOrder(db, order)) throw notCancelable(row);
}

/**
 * Cancels a withdrawal that was not broadcast, and gives value and fee back. Runs under the ledger
 * lock.
 *
 * @throws {DomainError} withdrawal.not_found, withdrawal.not_cancelable, permission.owner,
 *   rate.limited where it is signed and too many such were canceled, chain.quarantined where a
 *   newer database may have paid it
 */
export async function cancelWithdrawal(
  tx: LedgerTx,
  actor: Actor,
  id: string,
): Promise<WithdrawalRow> {
  const row = await reachWithdrawal(tx, actor, id);
  await assertMayCancel(tx, actor, row, await selectOrder(tx, row.order_id));
  if (await cancelOrder(tx, actor, row.order_id) === null) throw notCancelable(row);
  await returnCharge(tx, actor, row);
  const entry: HistoryEntry = { at: actor.at, event: "canceled" };
  const change = { status: "CANCELED" as const };
  const canceled = await updateWithdrawal(tx, row.id, change, entry, actor.at);
  await announce(tx, actor, canceled);
  return canceled;
}

/**
 * Replaces the free-form part of a withdrawal.
 *
 * @throws {DomainError} withdrawal.not_found, permission.owner
 */
export async function changeWithdrawal(
  tx: Tx,
  actor: Actor,
  { id, data }: { id: string; data: Record<string, unknown> },
): Promise<WithdrawalRow> {
  const row = await reachWithdrawal(tx, actor, id);
  return await updateWithdrawalData(tx, row.id, data, actor.at);
}
