/**
 * Settlement of withdrawals: a withdrawal follows its chain order, and the ledger books its end.
 * The user is charged the fee of creation and of speed-ups. The difference to the chain's fee is
 * booked between the ramp and the account `fees`. The sender bears the chain's fee of a transaction
 * that moved nothing: less comes back.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { Db, Tx } from "../../db/database.ts";
import {
  claimFound,
  selectUnmatchedLike,
  type UnmatchedLike,
} from "../../db/recovery/found_payments.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import { selectAttemptSummaries } from "../../db/sending/order_attempts.ts";
import {
  type HistoryEntry,
  selectWithdrawal,
  updateWithdrawal,
  type WithdrawalRow,
} from "../../db/withdrawals/withdrawals.ts";
import type { Actor } from "../actor.ts";
import { freeBlock } from "../ledger/blocks.ts";
import { type ChainAsset, resolveChainAsset } from "../chains/onchain_assets.ts";
import { emit } from "../events.ts";
import { counterparty, type MoveType, postMove } from "../ledger/posting.ts";
import { add, compare, fromUnits, isNegative, negate, subtract, toUnits } from "../money.ts";
import {
  cancelOrder,
  dependantsOf,
  mayCancelOrder,
  type OrderRow,
} from "../sending/chain_orders.ts";
import { unplanOrder } from "../sending/signing_holds.ts";
import { isOpen } from "../sending/order_states.ts";
import { isBorneByHouse, releaseGas } from "../sending/token_gas.ts";
import { viewWithdrawal } from "./withdrawal_views.ts";
import { bookGas } from "../sending/network_fees.ts";

/** A chain's fee and whether it was paid in the asset itself. */
interface Cost {
  /** Whole units of the asset, or of its gas coin. */
  amount: string;
  own: boolean;
  /** What others paid of the withdrawal's amount, in whole units; nothing unless given. */
  others?: string;
}

/** Records the progress of a withdrawal on its chain. */
export async function progressWithdrawal(tx: Tx, actor: Actor, order: OrderRow): Promise<void> {
  const row = await selectWithdrawal(tx, order.reference_id!);
  if (row === null || row.status !== "PROCESSING") return;
  const entry = entryOf(actor, row, order);
  const change = {
    hash: order.hash,
    nonce: order.nonce,
    height: order.height,
    confirmations: order.confirmations,
  };
  const changed = await updateWithdrawal(tx, row.id, change, entry, actor.at);
  if (entry !== null) await announce(tx, actor, changed);
}

function entryOf(actor: Actor, row: WithdrawalRow, order: OrderRow): HistoryEntry | null {
  const { hash, height } = order;
  if (height !== null && (row.height !== height || row.hash !== hash)) {
    return { at: actor.at, event: "mined", hash, block: height };
  }
  if (row.hash === hash) return null;
  return { at: actor.at, event: row.hash === null ? "sent" : "replaced", hash };
}

/**
 * Books the end of a withdrawal. The transaction holds the ledger lock.
 *
 * @param how.spared base units of its amount that no address of ours lost by its payment: `fees` gets them; none unless
 *   given
 */
export async function settleWithdrawal(
  tx: LedgerTx,
  actor: Actor,
  order: OrderRow,
  { spared = 0n }: { spared?: bigint } = {},
): Promise<void> {
  const row = await selectWithdrawal(tx, order.reference_id!);
  await releaseGas(tx, order);
  if (row === null || row.status !== "PROCESSING") return;
  const asset = await resolveChainAsset(tx, row.asset);
  const cost = order.height === null ? null : costOf(row, order, asset);
  const done = order.state === "done";
  if (cost !== null && !cost.own) await bookGas(tx, actor, order);
  const returned = done ? await unusedOf(tx, row, order) : "0";
  if (done) {
    const others = fromUnits(spared, asset.decimals);
    await bookSent(tx, actor, { ...row, fee: subtract(row.fee, returned) }, { ...cost!, others });
  } else if (cost === null) await returnCharge(tx, actor, row);
  else await bookFailed(tx, actor, row, { order, cost, asset });
  const failure = done ? null : failureOf(order);
  const change = {
    status: done ? "DONE" as const : "FAILED" as const,
    hash: order.hash,
    nonce: order.nonce,
    height: order.height,
    confirmations: order.confirmations,
    cost: cost?.amount ?? null,
    returned,
    ...(failure === null ? {} : { error: failure }),
  };
  if (row.account !== row.ramp) {
    await bookFor(tx, actor, row)("return", row.ramp, row.account, returned);
  }
  const entry: HistoryEntry = {
    at: actor.at,
    event: done ? "done" : "failed",
    ...(returned === "0" ? {} : { returned }),
    ...(failure === null ? {} : { reason: failure.detail }),
  };
  await announce(tx, actor, await updateWithdrawal(tx, row.id, change, entry, actor.at));
}

/** The fees of speed-ups without effect: a transaction made before them was mined. */
async function unusedOf(tx: Tx, row: WithdrawalRow, order: OrderRow): Promise<string> {
  const charges = row.history.flatMap(({ event, fee, hash }) =>
    event === "sped_up" && typeof fee === "string" && typeof hash === "string"
      ? [{ fee, hash }]
      : []
  );
  if (charges.length === 0) return "0";
  const made = await selectAttemptSummaries(tx, order.batch_order_id ?? order.id);
  const attempts = new Map(made.map(({ hash, attempt }) => [hash, attempt]));
  const mined = attempts.get(order.hash) ?? Infinity;
  return charges
    .filter(({ hash }) => (attempts.get(hash) ?? 0) >= mined)
    .reduce((sum, { fee }) => add(sum, fee), "0");
}

/** What a withdrawal is at the time of an answer that has no effect on it any more. */
export interface Overtaken {
  status: WithdrawalRow["status"];
  /** The state of its chain order. */
  order: OrderRow["state"];
  /** Its transaction; null where it has none. */
  hash: string | null;
}

/**
 * Why a withdrawal that was called paid is not settled: a payment of the same is not final; orders spend the change of
 * its transaction, which was never sent; or it was sent, or has ended.
 */
export type Unsettled =
  | { early: UnmatchedLike; depended?: never; late?: never }
  | { depended: true; early?: never; late?: never }
  | { late: Overtaken | null; early?: never; depended?: never };

/** Reads what a withdrawal is now. */
export async function viewOvertaken(db: Db, order: OrderRow): Promise<Overtaken | null> {
  const now = await selectOrder(db, order.id);
  const row = now?.reference_id ? await selectWithdrawal(db, now.reference_id) : null;
  if (now === null || row === null) return null;
  return { status: row.status, order: now.state, hash: now.hash ?? row.hash };
}

/**
 * Ends a withdrawal that an operator knows to be paid although its transaction was not found. Where a payment
 * of the same was found that nobody is known to have ordered, it is that one, and no other withdrawal's any
 * more: `fees` bears it, and gets the amount. What spends the change of its own transaction, which is never sent,
 * is made anew. The transaction holds the ledger lock.
 *
 * @param unpaid the orders of withdrawals of which the operator knows that they are not paid
 * @returns why nothing was changed: `early`, that payment, which is not final, so that the chain may still lose it;
 *   `depended`: other withdrawals are to spend its change, and it is not known whether they were paid;
 *   `late`, what the withdrawal is, where it was sent or has ended since it was asked about
 */
export async function settlePaid(
  tx: LedgerTx,
  actor: Actor,
  order: OrderRow,
  unpaid: ReadonlySet<string> = new Set(),
): Promise<Unsettled | null> {
  const row = order.reference_id === null ? null : await selectWithdrawal(tx, order.reference_id);
  if (row === null) return null;
  const late = async () => ({ late: await viewOvertaken(tx, order) });
  const now = await selectOrder(tx, order.id);
  if (row.status !== "PROCESSING" || now === null) return await late();
  const dependants = await mayCancelOrder(tx, now) ? [] : await dependantsOf(tx, now);
  if (dependants === null) return await late();
  if (!await areUnpaid(tx, dependants, unpaid)) return { depended: true };
  const [like] = await selectUnmatchedLike(tx, order.id);
  if (like !== undefined && !like.final) return { early: like };
  for (const one of dependants) if (one.state === "planned") await unplanOrder(tx, actor, one);
  if (await cancelOrder(tx, actor, order.id, { orphans: true }) === null) return await late();
  if (like === undefined) await bookSent(tx, actor, row, { amount: "0", own: true });
  else {
    await freeBlock(tx, row.block);
    const { fees } = await systemAccountsOf(tx, actor, row);
    await bookFor(tx, actor, row)("fee", row.ramp, fees, add(row.amount, row.fee));
  }
  const entry: HistoryEntry = {
    at: actor.at,
    event: "done",
    by: "operator",
    reason: "known to be paid",
  };
  // That of a transaction which can never be mined may still stand there.
  const block = { hash: like?.hash ?? null, height: like?.height ?? null, nonce: null };
  const ended = await updateWithdrawal(tx, row.id, { status: "DONE", ...block }, entry, actor.at);
  if (like !== undefined) await claimFound(tx, row.id, like);
  await announce(tx, actor, ended);
  return null;
}

/**
 * Whether no withdrawal that some orders pay was paid, by an operator's word. Of those that were sent nobody is asked:
 * they are made anew, and asked about then.
 */
async function areUnpaid(
  tx: Tx,
  orders: readonly OrderRow[],
  unpaid: ReadonlySet<string>,
): Promise<boolean> {
  for (const order of orders) {
    if (!isUnsent(order)) continue;
    const paying = order.purpose === "batch" ? await selectBatched(tx, order.id) : [order];
    const withdrawals = paying.filter(({ purpose }) => purpose === "withdrawal");
    if (withdrawals.some(({ id }) => !unpaid.has(id))) return false;
  }
  return true;
}

function isUnsent({ state }: OrderRow): boolean {
  return state === "planned" || state === "signed";
}

function failureOf({ fault, error }: OrderRow) {
  if (fault === "fee_exceeded") {
    const detail = error ?? "the network fee would exceed the budget";
    return { code: "withdrawal.fee_exceeded", title: "Fee exceeded", status: 409, detail };
  }
  const detail = error ?? "the chain did not execute the transaction";
  return { code: "upstream.failed", title: "Not sent", status: 502, detail };
}

function costOf(row: WithdrawalRow, order: OrderRow, asset: ChainAsset): Cost {
  const own = (order.fee_contract ?? "") === (row.contract ?? "");
  const decimals = own ? asset.decimals : asset.gas.decimals;
  return { amount: fromUnits(BigInt(order.fee ?? "0"), decimals), own };
}

/**
 * Books a payment: ramp → world with the chain's fee; the rest of the fee is earned, and what others paid of the amount.
 */
async function bookSent(tx: LedgerTx, actor: Actor, row: WithdrawalRow, cost: Cost): Promise<void> {
  await freeBlock(tx, row.block);
  const system = await systemAccountsOf(tx, actor, row);
  const book = bookFor(tx, actor, row);
  const earned = cost.own ? subtract(row.fee, cost.amount) : row.fee;
  if (isNegative(earned)) await book("fee", system.fees, row.ramp, negate(earned));
  else await book("fee", row.ramp, system.fees, earned);
  const others = cost.others ?? "0";
  await book("withdrawal", row.ramp, system.world, subtract(row.amount, others));
  await book("fee", row.ramp, system.fees, others);
  if (cost.own) await book("fee", row.ramp, system.world, cost.amount);
}

/**
 * Books a failed transaction that cost a fee. The sender bears it up to the charge, unless the
 * house had canceled the payment. A fee in another coin is converted as it was at the charge.
 */
async function bookFailed(
  tx: LedgerTx,
  actor: Actor,
  row: WithdrawalRow,
  { order, cost, asset }: { order: OrderRow; cost: Cost; asset: ChainAsset },
): Promise<void> {
  const kept = await isBorneByHouse(tx, order) ? "0" : keptOf(row, cost, asset);
  await returnCharge(tx, actor, row, subtract(row.charged, kept));
  const system = await systemAccountsOf(tx, actor, row);
  const book = bookFor(tx, actor, row);
  if (!cost.own) return await book("fee", row.ramp, system.fees, kept); // the coins are booked
  await book("fee", system.fees, row.ramp, subtract(cost.amount, kept));
  await book("fee", row.ramp, system.world, cost.amount);
}

/**
 * The part of the charge that a failed transaction costs its sender, in whole units of the asset.
 */
function keptOf(row: WithdrawalRow, cost: Cost, asset: ChainAsset): string {
  const most = row.charged;
  const worth = cost.own ? cost.amount : convertedAsCharged(row, cost, asset);
  return compare(worth, most) < 0 ? worth : most;
}

/** Converts a cost in coins at the ratio of fee to gas that the user was charged; rounded up. */
function convertedAsCharged(row: WithdrawalRow, cost: Cost, asset: ChainAsset): string {
  const { decimals, gas } = asset;
  if (row.gas === null || compare(row.gas, "0") === 0) return row.fee;
  const above = toUnits(cost.amount, gas.decimals) * toUnits(row.fee, decimals);
  const below = toUnits(row.gas, gas.decimals);
  return fromUnits((above + below - 1n) / below, decimals);
}

/** Gives back the charge, or the rest of it. */
export async function returnCharge(
  tx: LedgerTx,
  actor: Actor,
  row: WithdrawalRow,
  left: string = row.charged,
): Promise<void> {
  await freeBlock(tx, row.block);
  if (row.account === row.ramp) return;
  await bookFor(tx, actor, row)("return", row.ramp, row.account, left);
}

function bookFor(tx: LedgerTx, actor: Actor, row: WithdrawalRow) {
  return async (type: MoveType, source: string, destination: string, amount: string) => {
    if (compare(amount, "0") === 0) return;
    const move = { type, source, destination, amount, data: { withdrawal: row.id } };
    await postMove(tx, actor, move, { force: type !== "return" }); // users cancel as well
  };
}

async function systemAccountsOf(
  tx: LedgerTx,
  actor: Actor,
  row: WithdrawalRow,
): Promise<{ world: string; fees: string }> {
  const { decimals, token } = await resolveChainAsset(tx, row.asset);
  // A token of the realm's own is one currency, wherever its contract lives.
  const testnet = token === null && row.network !== "main";
  const asset = { code: row.asset, decimals, testnet };
  return {
    world: await counterparty(tx, actor, "world", asset),
    fees: await counterparty(tx, actor, "fees", asset),
  };
}

/** Records in the history why an order waits, once for each reason. */
export async function noteWaiting(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  reason: string,
): Promise<void> {
  if (!isOpen(order) || order.purpose !== "withdrawal" || order.reference_id === null) return;
  const row = await selectWithdrawal(tx, order.reference_id);
  if (row === null || row.status !== "PROCESSING") return;
  const last = row.history.at(-1);
  if (last?.event === "waiting" && last.reason === reason) return;
  const entry: HistoryEntry = { at: actor.at, event: "waiting", reason };
  await announce(tx, actor, await updateWithdrawal(tx, row.id, {}, entry, actor.at));
}

/** Emits `withdrawal.updated`. */
export async function announce(tx: Tx, actor: Actor, row: WithdrawalRow): Promise<void> {
  const { id, owner } = row;
  await emit(tx, actor, "withdrawal.updated", { id, owner, view: viewWithdrawal(row) });
}
