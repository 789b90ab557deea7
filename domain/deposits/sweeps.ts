/**
 * Sweeps: a transaction carries the value of a deposit address to its ramp's address. A sweep waits
 * while the value is below its fee. Where another coin pays the fee, gas is sent ahead. When the
 * sweep is final, the ledger books deposit account → ramp → the target account.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { Tx } from "../../db/database.ts";
import { isTakenBeside, sumGasArrived } from "../../db/deposits/emptied_sweeps.ts";
import { holdWaiting } from "../../db/jobs.ts";
import { type DepositRow, selectDeposits } from "../../db/deposits/deposits.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import {
  joinSweep,
  leaveSweep,
  lockAhead,
  lockOpenSweep,
  lockSweep,
  markSweepFailed,
  selectForgotten,
  selectResting,
  selectSweepable,
  selectSwept,
  selectUnsettled,
  type SweepableRow,
  type SweepRow,
  takeOverDeposits,
  touchSweeps,
  updateSweep,
} from "../../db/deposits/sweeps.ts";
import type { Actor } from "../actor.ts";
import type { Network } from "../chains/addresses.ts";
import type { ChainId } from "../assets.ts";
import { noteDeposits, settleApp } from "./deposit_apps.ts";
import { tellDeposits } from "./deposit_views.ts";
import { DomainError, errorField } from "../errors.ts";
import { emit } from "../events.ts";
import { newId } from "../ids.ts";
import { enqueue, enqueueAll } from "../jobs.ts";
import { add, compare, fromUnits, subtract } from "../money.ts";
import { feeUnits, recentQuote } from "../sending/fees.ts";
import {
  createOrder,
  createOrderWithGas,
  type NewOrder,
  type OrderRow,
} from "../sending/chain_orders.ts";
import type { ChainNetwork } from "../chains/networks.ts";
import { bookAhead, bookCarried, bookFee, contractOf } from "./sweep_bookings.ts";
import { isBorneByHouse, releaseGas } from "../sending/token_gas.ts";
import { bookGas } from "../sending/network_fees.ts";

/** The next step of a sweep, decided by balances and prices; amounts in base units. */
export type SweepStep =
  | { do: "wait" }
  | { do: "give up"; why: string }
  | { do: "top up"; amount: bigint }
  | {
    do: "sweep";
    amount: bigint | "all";
    feePayer?: string;
    /** Whether token accounts that it empties stay open. */
    closesNothing?: boolean;
    /** Gas at the address: the sweep costs at most that. */
    gas?: bigint;
  };

/** Pause before a sweep is tried again after a temporary failure. */
const RETRY_MS = 60_000;
/** Age from which waiting sweeps, and credited deposits without a sweep, are taken up again. */
const RESUMED_AFTER_S = 600;
const REVIVED_AT_ONCE = 20;
/** Factor by which prices may rise before a top-up of gas is signed. */
const TOP_UP_FACTOR = 3n;
const SWEEP = "deposit.sweep";
/** Refusals that a sweep waits out. */
export const WAITS: ReadonlySet<string> = new Set(["ramp.gas_insufficient", "chain.stale"]);

/** Schedules the sweep of a deposit account. */
async function scheduleSweep(
  tx: Tx,
  actor: Actor,
  account: string,
  runAt?: number,
): Promise<void> {
  const serialKey = keyOf(account);
  const waiting = await holdWaiting(tx, SWEEP, { serialKeys: [serialKey], by: runAt ?? null });
  if (waiting.size > 0) return;
  await enqueue(tx, actor, SWEEP, { account }, { serialKey, runAt });
}

/** Schedules the sweeps of some deposit accounts at once. However many deposits arrive, one sweep of an account waits. */
export async function scheduleSweeps(
  tx: Tx,
  actor: Actor,
  accounts: readonly string[],
): Promise<void> {
  const jobs = accounts.map((account) => ({ payload: { account }, serialKey: keyOf(account) }));
  const serialKeys = jobs.map(({ serialKey }) => serialKey);
  const waiting = await holdWaiting(tx, SWEEP, { serialKeys, by: null });
  await enqueueAll(tx, actor, SWEEP, jobs.filter(({ serialKey }) => !waiting.has(serialKey)));
}

function keyOf(account: string): string {
  return `sweep ${account}`;
}

/** Schedules sweeps that wait, and those whose job was lost. */
export async function reviveSweeps(tx: Tx, actor: Actor, place: ChainNetwork): Promise<void> {
  const of = { seconds: RESUMED_AFTER_S, limit: REVIVED_AT_ONCE };
  const unsettled = await selectUnsettled(tx, place, of);
  const settles = unsettled.map((sweep) => ({ payload: { sweep }, dedupe: sweep }));
  await enqueueAll(tx, actor, "deposit.swept", settles);
  const accounts = await selectForgotten(tx, place, of);
  if (accounts.length === 0) return;
  await touchSweeps(tx, place, accounts);
  const sweeps = accounts.map((account) => ({ payload: { account }, dedupe: account }));
  await enqueueAll(tx, actor, "deposit.sweep", sweeps);
}

/** The account of a sweep, and its next step as a worker decided it. */
export interface SweepTurn {
  sweepable: SweepableRow;
  step: SweepStep;
}

type Ordered = NewOrder & { gas?: bigint };

/**
 * Takes the next step of an account's sweep, unless one is on its way already. Not for tokens of
 * the realm's own.
 */
export async function stepSweep(tx: Tx, actor: Actor, turn: SweepTurn): Promise<void> {
  await takeStep(tx, actor, turn, async ({ gas, ...order }) => {
    if (gas !== undefined) throw new TypeError("gas is blocked under the ledger lock alone");
    return await createOrder(tx, actor, order);
  });
}

/**
 * Takes the next step of the sweep of a token of the realm's own: the ramp's account pays for it.
 */
export async function stepTokenSweep(tx: LedgerTx, actor: Actor, turn: SweepTurn): Promise<void> {
  await takeStep(tx, actor, turn, (order) => createOrderWithGas(tx, actor, order));
}

async function takeStep(
  tx: Tx,
  actor: Actor,
  { sweepable, step }: SweepTurn,
  create: (order: Ordered) => Promise<string>,
): Promise<void> {
  const { chain, network, account, ramp } = sweepable;
  // The last one may have failed since the step was decided.
  if (await selectResting(tx, account)) return;
  const sweep = await lockOpenSweep(tx, {
    id: newId(actor.at),
    chain,
    network,
    account,
    ramp,
    created_at: actor.at,
  });
  if (sweep.state === "topping" || sweep.state === "sweeping") return;
  await joinSweep(tx, account, sweep.id);
  if (step.do === "wait") return void await updateSweep(tx, sweep.id, { state: "waiting" });
  if (step.do === "give up") {
    return await failSweep(tx, actor, sweep, { why: step.why, struck: false });
  }
  // A deposit application that failed before is PROCESSING again.
  await noteDeposits(tx, actor, [account]);
  const place = { chain: chain as ChainId, network: network as Network };
  const common = { place, ramp, reference_id: sweep.id, speed: "medium" as const };
  try {
    const cost = await costOf(tx, sweepable, step);
    const made = await create(orderOf(sweepable, { step, order: { ...common, ...cost } }));
    const next = step.do === "top up"
      ? { state: "topping" as const, gas_order: made }
      : { state: "sweeping" as const, order_id: made };
    await updateSweep(tx, sweep.id, { ...next, error: null });
  } catch (error) {
    const waits = sweepable.token !== null && error instanceof DomainError && WAITS.has(error.code);
    if (!waits) throw error;
    await holdSweep(tx, actor, sweep, error.message);
  }
}

function orderOf(
  sweepable: SweepableRow,
  { step, order }: {
    step: SweepStep & { do: "top up" | "sweep" };
    order: Omit<Ordered, "purpose" | "request">;
  },
): Ordered {
  const topsUp = step.do === "top up";
  const [from, to] = topsUp
    ? [sweepable.to_address, sweepable.from_address]
    : [sweepable.from_address, sweepable.to_address];
  const request = {
    kind: "pay" as const,
    from,
    contract: topsUp ? null : contractOf(sweepable),
    payments: [{ to, amount: `${step.amount}` }],
    ...(topsUp || step.feePayer === undefined ? {} : { feePayer: step.feePayer }),
    ...(topsUp || !step.closesNothing ? {} : { closesNothing: true }),
  };
  return { ...order, purpose: topsUp ? "gas" : "sweep", request };
}

/**
 * The budget of a step and, for tokens of the realm's own, the gas that the ramp's account blocks
 * for it.
 */
async function costOf(
  tx: Tx,
  sweepable: SweepableRow,
  step: SweepStep & { do: "top up" | "sweep" },
): Promise<Pick<Ordered, "cost" | "gas">> {
  const own = sweepable.token !== null;
  const budget = step.do === "sweep" ? step.gas : own ? await topUpCost(tx, sweepable) : null;
  if (budget === undefined || budget === null) return {};
  const cost = { charged: 0n, budget, contract: null };
  return { cost, ...(own ? { gas: budget + (step.do === "top up" ? step.amount : 0n) } : {}) };
}

/** Reads the highest cost of sending gas ahead, in base units. */
export async function topUpCost(tx: Tx, sweepable: SweepableRow): Promise<bigint> {
  const place = { chain: sweepable.chain as ChainId, network: sweepable.network as Network };
  const quote = await recentQuote(tx, { ...place, contract: "", speed: "medium" });
  return feeUnits(quote, { payments: 1, inputs: 0n }) * TOP_UP_FACTOR;
}

/** Records why a sweep waits for the ramp's account, and emits the event once. */
async function holdSweep(tx: Tx, actor: Actor, sweep: SweepRow, reason: string): Promise<void> {
  const error = errorField("ramp.gas_insufficient", reason);
  await updateSweep(tx, sweep.id, { state: "waiting", error });
  if (sweep.error !== null) return;
  const { account, ramp, chain, network } = sweep;
  const view = { account, ramp, chain, network, reason };
  await emit(tx, actor, "ramp.gas_insufficient", { id: ramp, owner: null, view });
}

/** Records the transaction of a sweep's order, which deposits show. */
export async function progressSweep(tx: Tx, _actor: Actor, order: OrderRow): Promise<void> {
  if (order.reference_id === null || order.purpose !== "sweep") return;
  await updateSweep(tx, order.reference_id, { hash: order.hash });
}

/** Books the end of a sweep's order, in a transaction that holds the ledger lock. */
export async function settleSweep(tx: LedgerTx, actor: Actor, order: OrderRow): Promise<void> {
  const sweep = order.reference_id === null ? null : await lockSweep(tx, order.reference_id);
  await releaseGas(tx, order);
  if (sweep === null) return;
  if (order.purpose === "gas") return await settleGas(tx, actor, sweep, order);
  if (sweep.state === "done" || sweep.state === "failed") return;
  if (sweep.order_id !== order.id) return;
  const sweepable = (await selectSweepable(tx, sweep.account))!;
  // Where nothing was left to sweep the house pays for the cancellation, by gas that the ramp sent for it, or by a deposit
  // that came while none had arrived: its account is given back what the cancellation took of it.
  const isGasSent = sweep.gas_order !== null && sweep.gas_order > order.id;
  const isSpared = (isGasSent || await isTakenBeside(tx, sweep)) &&
    await isBorneByHouse(tx, order);
  const paying = isSpared ? { ...sweepable, free: "0" } : sweepable;
  const { fee, borne } = await bookFee(tx, actor, paying, order);
  if (borne !== "0" && !isSpared) await updateSweep(tx, sweep.id, { borne });
  if (borne !== "0" && isSpared) await noteLent(tx, sweepable, { sweep, order });
  if (order.state === "done" && order.contract === "") {
    const moved = BigInt(order.amount ?? 0);
    return await settleDone(tx, actor, sweep, { order, fee, arrived: moved });
  }
  if (order.state === "done") {
    // A token may keep a part of a transfer: the received amount is measured before anything is
    // booked.
    await updateSweep(tx, sweep.id, { fee, hash: order.hash });
    return await enqueue(tx, actor, "deposit.swept", { sweep: sweep.id }, { dedupe: sweep.id });
  }
  const why = order.error ?? "the transaction failed";
  await failSweep(tx, actor, sweep, { why, struck: order.height !== null && !isSpared });
  // A transaction that the chain refused would fail again and cost gas; one that was never mined
  // may pass.
  const passes = order.state !== "failed" || order.fault === "fee_exceeded" || isSpared;
  if (passes) await scheduleSweep(tx, actor, sweep.account, actor.at + RETRY_MS);
}

/** Records what a deposit paid for a cancellation: the part of its fee for which no gas had arrived. */
async function noteLent(
  tx: LedgerTx,
  { decimals }: SweepableRow,
  { sweep, order }: { sweep: SweepRow; order: OrderRow },
): Promise<void> {
  const lent = BigInt(order.fee!) - await sumGasArrived(tx, order);
  if (lent > 0n) await updateSweep(tx, sweep.id, { ahead: fromUnits(lent, decimals) });
}

/**
 * Marks a sweep as failed. The next one waits, longer with each failure in a row for which the
 * chain took a fee.
 */
async function failSweep(
  tx: Tx,
  actor: Actor,
  sweep: SweepRow,
  { why, struck }: { why: string; struck: boolean },
): Promise<void> {
  const error = errorField("upstream.failed", why);
  await leaveSweep(tx, sweep.id);
  await markSweepFailed(tx, sweep.id, { error, struck });
  await settleApp(tx, actor, sweep.account, { status: "FAILED", error });
}

async function settleGas(
  tx: LedgerTx,
  actor: Actor,
  sweep: SweepRow,
  order: OrderRow,
): Promise<void> {
  await bookGas(tx, actor, order); // also where the sweep was found meanwhile, and waits for no gas
  if (sweep.gas_order !== order.id || sweep.state !== "topping") return;
  const arrived = order.state === "done";
  await updateSweep(tx, sweep.id, { state: arrived ? "topped" : "waiting" });
  const runAt = arrived ? undefined : actor.at + RETRY_MS;
  await scheduleSweep(tx, actor, sweep.account, runAt);
}

/**
 * Books a token's sweep by the amount that reached the ramp, in a transaction that holds the ledger
 * lock.
 *
 * @param found.arrived base units
 */
export async function settleSwept(
  tx: LedgerTx,
  actor: Actor,
  found: { sweep: string; arrived: bigint },
): Promise<void> {
  const sweep = await lockSweep(tx, found.sweep);
  if (sweep === null || sweep.state !== "sweeping" || sweep.order_id === null) return;
  const order = await selectOrder(tx, sweep.order_id);
  if (order?.state !== "done") return;
  const { arrived } = found;
  if (arrived === 0n) {
    return await failSweep(tx, actor, sweep, { why: "the token moved nothing", struck: true });
  }
  await settleDone(tx, actor, sweep, { order, fee: sweep.fee, arrived });
}

async function settleDone(
  tx: LedgerTx,
  actor: Actor,
  sweep: SweepRow,
  of: { order: OrderRow; fee: string | null; arrived: bigint },
): Promise<void> {
  const { order, fee } = of;
  // It was booked before, and is not booked twice.
  if (sweep.amount !== null) return void await updateSweep(tx, sweep.id, { state: "done" });
  const sweepable = (await selectSweepable(tx, sweep.account))!;
  const sent = fromUnits(BigInt(order.amount ?? 0), sweepable.decimals);
  const arrived = fromUnits(of.arrived, sweepable.decimals);
  const carried = { sweep, hash: order.hash, sent, arrived };
  const { amount, ahead } = await bookCarried(tx, actor, sweepable, carried);
  const change = { state: "done" as const, amount, ahead, arrived, fee, hash: order.hash };
  const done = await updateSweep(tx, sweep.id, change);
  const rest = subtract(sweepable.free, amount);
  if (compare(rest, "0") <= 0) {
    await joinSweep(tx, sweep.account, sweep.id);
    if (sweep.beside) await takeOverDeposits(tx, sweep);
  }
  const swept = await selectDeposits(tx, await selectSwept(tx, sweep.id));
  await tellDeposits(tx, actor, "deposit.forwarded", inOrder(swept), done);
  // Further deposits may have been credited meanwhile.
  if (compare(rest, "0") > 0) await scheduleSweep(tx, actor, sweep.account);
  else await settleApp(tx, actor, sweep.account, { status: "DONE", error: null });
}

/**
 * Books value that was credited after a sweep had carried it to the ramp: a sweep of everything
 * takes the whole balance of the address. Runs in a transaction that holds the ledger lock.
 */
export async function settleAhead(tx: LedgerTx, actor: Actor, account: string): Promise<void> {
  for (const sweep of await lockAhead(tx, account)) {
    const sweepable = (await selectSweepable(tx, account))!;
    if (compare(sweepable.free, "0") <= 0) return;
    const { amount, ahead, borne } = await bookAhead(tx, actor, sweepable, sweep);
    const change = { amount: add(sweep.amount ?? "0", amount), ahead, borne };
    const settled = await updateSweep(tx, sweep.id, change);
    const { free } = (await selectSweepable(tx, account))!;
    // What a failed sweep cost takes is forwarded by none.
    if (compare(free, "0") > 0 || settled.state !== "done") continue;
    const further = await selectDeposits(tx, await joinSweep(tx, account, sweep.id));
    await tellDeposits(tx, actor, "deposit.forwarded", inOrder(further), settled);
    await settleApp(tx, actor, account, { status: "DONE", error: null });
  }
}

function inOrder(rows: readonly DepositRow[]): DepositRow[] {
  return rows.toSorted((a, b) => a.id < b.id ? -1 : 1);
}
