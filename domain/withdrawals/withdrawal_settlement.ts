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
import { type AttemptRow, selectAllSummaries } from "../../db/sending/order_attempts.ts";
import {
  type HistoryEntry,
  selectWithdrawal,
  selectWithdrawals,
  updateWithdrawal,
  updateWithdrawals,
  type WithdrawalRow,
  type WithdrawalUpdate,
} from "../../db/withdrawals/withdrawals.ts";
import type { Actor } from "../actor.ts";
import { freeBlock, freeBlocks } from "../ledger/blocks.ts";
import { resolveChainAsset, resolveChainAssets } from "../chains/onchain_assets.ts";
import { emitAll } from "../events.ts";
import { add, fromUnits, subtract } from "../money.ts";
import {
  cancelOrder,
  dependantsOf,
  mayCancelOrder,
  type OrderRow,
} from "../sending/chain_orders.ts";
import { unplanOrder } from "../sending/signing_holds.ts";
import { isOpen } from "../sending/order_states.ts";
import { isHouseCost, releaseAllGas } from "../sending/token_gas.ts";
import { viewWithdrawal } from "./withdrawal_views.ts";
import { bookGas } from "../sending/network_fees.ts";
import {
  bookFailed,
  bookPaidElsewhere,
  bookReturn,
  bookSent,
  type Cost,
  costOf,
  newBookings,
  postBookings,
} from "./withdrawal_bookings.ts";

/** Records the progress of a withdrawal on its chain. */
export async function progressWithdrawal(tx: Tx, actor: Actor, order: OrderRow): Promise<void> {
  await progressWithdrawals(tx, actor, [order]);
}

/** Records the progress of withdrawals that one transaction pays. */
export async function progressWithdrawals(
  tx: Tx,
  actor: Actor,
  orders: readonly OrderRow[],
): Promise<void> {
  const updates = (await openOf(tx, orders)).map(({ row, order }) => ({
    id: row.id,
    change: {
      hash: order.hash,
      nonce: order.nonce,
      height: order.height,
      confirmations: order.confirmations,
    },
    entry: entryOf(actor, row, order),
  }));
  const changed = await updateWithdrawals(tx, updates, actor.at);
  const told = new Set(updates.flatMap(({ id, entry }) => entry === null ? [] : [id]));
  await announceAll(tx, actor, changed.filter(({ id }) => told.has(id)));
}

function entryOf(actor: Actor, row: WithdrawalRow, order: OrderRow): HistoryEntry | null {
  const { hash, height } = order;
  if (height !== null && (row.height !== height || row.hash !== hash)) {
    return { at: actor.at, event: "mined", hash, block: height };
  }
  if (row.hash === hash) return null;
  return { at: actor.at, event: row.hash === null ? "sent" : "replaced", hash };
}

/** A withdrawal that has not ended, and its order. */
interface Open {
  row: WithdrawalRow;
  order: OrderRow;
}

/** Reads those withdrawals of orders that have not ended, in the order of the orders. */
async function openOf(tx: Tx, orders: readonly OrderRow[]): Promise<Open[]> {
  const ids = orders.flatMap(({ reference_id }) => reference_id ?? []);
  const rows = ids.length === 0 ? [] : await selectWithdrawals(tx, ids);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return orders.flatMap((order) => {
    const row = byId.get(order.reference_id!);
    return row?.status === "PROCESSING" ? [{ row, order }] : [];
  });
}

/** Books the end of a withdrawal. The transaction holds the ledger lock. */
export async function settleWithdrawal(tx: LedgerTx, actor: Actor, order: OrderRow): Promise<void> {
  await settleWithdrawals(tx, actor, [order]);
}

/**
 * Books the end of withdrawals that end together, each as its order did. What was booked of one is booked of all, or
 * nothing is: they end with one transaction. Those that have ended already are left as they are. The transaction holds
 * the ledger lock.
 *
 * @param how.spared of each order the base units of its amount that no address of ours lost by its payment: `fees` gets
 *   them; none unless given
 */
export async function settleWithdrawals(
  tx: LedgerTx,
  actor: Actor,
  orders: readonly OrderRow[],
  { spared }: { spared?: ReadonlyMap<string, bigint> } = {},
): Promise<void> {
  const found = await openOf(tx, orders);
  await releaseAllGas(tx, orders);
  if (found.length === 0) return;
  const assets = await resolveChainAssets(tx, found.map(({ row }) => row.asset));
  const ends = found.map(({ row, order }) => {
    const asset = assets.get(row.asset)!;
    const cost = order.height === null ? null : costOf(row, order, asset);
    return { row, order, asset, cost, done: order.state === "done" };
  });
  const attempts = await attemptsOf(tx, ends);
  for (const { order, cost } of ends) {
    // Coins beside tokens: their charge depends on what the one before has left. Batches are made of coins alone.
    if (cost !== null && !cost.own) await bookGas(tx, actor, order);
  }
  await freeBlocks(tx, ends.map(({ row }) => row.block));
  const bookings = newBookings();
  const updates: WithdrawalUpdate[] = [];
  for (const end of ends) {
    const { row, order, cost, done } = end;
    const made = attempts.get(order.batch_order_id ?? order.id) ?? [];
    const returned = done ? unusedOf(row, order, made) : "0";
    if (done) {
      const charged = { ...row, fee: subtract(row.fee, returned) };
      const others = fromUnits(spared?.get(order.id) ?? 0n, end.asset.decimals);
      await bookSent(tx, actor, bookings, { ...end, row: charged, cost: cost!, others });
    } else if (cost === null) bookReturn(bookings, row, row.charged);
    else {
      const isBorne = isHouseCost(order, made);
      await bookFailed(tx, actor, bookings, { ...end, cost, isHouseCost: isBorne });
    }
    bookReturn(bookings, row, returned);
    updates.push(endOf(actor, end, returned));
  }
  await postBookings(tx, actor, bookings);
  await announceAll(tx, actor, await updateWithdrawals(tx, updates, actor.at));
}

/** The change of a withdrawal that ends. */
function endOf(
  actor: Actor,
  { row, order, cost, done }: Open & { cost: Cost | null; done: boolean },
  returned: string,
): WithdrawalUpdate {
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
  const entry: HistoryEntry = {
    at: actor.at,
    event: done ? "done" : "failed",
    ...(returned === "0" ? {} : { returned }),
    ...(failure === null ? {} : { reason: failure.detail }),
  };
  return { id: row.id, change, entry };
}

/** What was made for a transaction: the part of an attempt that tells who bears its cost, and which charges it used. */
type Made = Pick<AttemptRow, "hash" | "attempt" | "borne_by">;

/** Reads the attempts that ends depend on, by the order of their transaction. */
async function attemptsOf(
  tx: Tx,
  ends: readonly (Open & { cost: Cost | null; done: boolean })[],
): Promise<ReadonlyMap<string, Made[]>> {
  const asked = ends.filter(({ row, cost, done }) =>
    done ? chargesOf(row).length > 0 : cost !== null
  );
  const ids = new Set(asked.map(({ order }) => order.batch_order_id ?? order.id));
  const made = ids.size === 0 ? [] : await selectAllSummaries(tx, [...ids]);
  return Map.groupBy(made, (one) => one.order_id);
}

/** The fees of speed-ups, each with the transaction that it was to replace. */
function chargesOf({ history }: WithdrawalRow): { fee: string; hash: string }[] {
  return history.flatMap(({ event, fee, hash }) =>
    event === "sped_up" && typeof fee === "string" && typeof hash === "string"
      ? [{ fee, hash }]
      : []
  );
}

/** The fees of speed-ups without effect: a transaction made before them was mined. */
function unusedOf(row: WithdrawalRow, order: OrderRow, made: readonly Made[]): string {
  const attempts = new Map(made.map(({ hash, attempt }) => [hash, attempt]));
  const mined = attempts.get(order.hash) ?? Infinity;
  return chargesOf(row)
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
  await freeBlock(tx, row.block);
  const bookings = newBookings();
  const paid = { row, asset: await resolveChainAsset(tx, row.asset) };
  if (like !== undefined) await bookPaidElsewhere(tx, actor, bookings, paid);
  else await bookSent(tx, actor, bookings, { ...paid, cost: { amount: "0", own: true } });
  await postBookings(tx, actor, bookings);
  const entry: HistoryEntry = {
    at: actor.at,
    event: "done",
    by: "operator",
    reason: "known to be paid",
  };
  // That of a transaction which can never be mined may still stand there.
  const block = { hash: like?.hash ?? null, height: like?.height ?? null, nonce: null };
  const ended = await updateWithdrawal(tx, row.id, { status: "DONE", ...block }, entry, actor.at);
  if (like !== undefined) {
    await claimFound(tx, like.order, [{ withdrawal: row.id, payment: like.payment }]);
  }
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

/** Gives back the charge. */
export async function returnCharge(tx: LedgerTx, actor: Actor, row: WithdrawalRow): Promise<void> {
  await freeBlock(tx, row.block);
  const bookings = newBookings();
  bookReturn(bookings, row, row.charged);
  await postBookings(tx, actor, bookings);
}

/** Pause before a reason of waiting is told a second time; as much longer before each further time. */
const TOLD_AGAIN_MS = 3_600_000;

/**
 * Records in the history why an order waits: what stands there last is not told again, nor is, for a while, what was
 * told before since it waits, so that reasons that alternate do not fill the history.
 *
 * @returns the history as it stands now; none of what is no open withdrawal
 */
export async function noteWaiting(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  reason: string,
): Promise<readonly HistoryEntry[]> {
  if (!isOpen(order) || order.purpose !== "withdrawal" || order.reference_id === null) return [];
  const row = await selectWithdrawal(tx, order.reference_id);
  if (row === null || row.status !== "PROCESSING") return [];
  if (isTold(row.history, reason, actor.at)) return row.history;
  const entry: HistoryEntry = { at: actor.at, event: "waiting", reason };
  const changed = await updateWithdrawal(tx, row.id, {}, entry, actor.at);
  await announce(tx, actor, changed);
  return changed.history;
}

function isTold(history: readonly HistoryEntry[], reason: string, now: number): boolean {
  const since = history.findLastIndex(({ event }) => event !== "waiting") + 1;
  const told = history.slice(since).filter((one) => one.reason === reason);
  const last = told.at(-1);
  if (last === undefined) return false;
  return last === history.at(-1) || now - last.at < told.length * TOLD_AGAIN_MS;
}

/** Emits `withdrawal.updated`. */
export async function announce(tx: Tx, actor: Actor, row: WithdrawalRow): Promise<void> {
  await announceAll(tx, actor, [row]);
}

/** Emits `withdrawal.updated` of each of some withdrawals, in their order. */
export async function announceAll(
  tx: Tx,
  actor: Actor,
  rows: readonly WithdrawalRow[],
): Promise<void> {
  const told = rows.map((row) => ({ id: row.id, owner: row.owner, view: viewWithdrawal(row) }));
  await emitAll(tx, actor, "withdrawal.updated", told);
}
