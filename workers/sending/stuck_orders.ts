/**
 * Unblocks stuck orders: fills gaps in front of a nonce, replaces a transaction whose fee is too low
 * by now, and creates CPFP transactions.
 * @module
 */
import { countFills, selectBlocking, selectDone, selectGaps } from "../../db/sending/nonces.ts";
import { insertAttempt, selectAttempts } from "../../db/sending/order_attempts.ts";
import { reading } from "../../db/transaction.ts";
import { selectWithdrawal } from "../../db/withdrawals/withdrawals.ts";
import { resolveChainAsset } from "../../domain/chains/onchain_assets.ts";
import { type AttemptRow, fillNonce, type OrderRow } from "../../domain/sending/chain_orders.ts";
import { ChainError } from "../chains/chain.ts";
import { feeOf, type Plan, writePlan } from "../chains/outgoing.ts";
import { createCpfp } from "./cpfp.ts";
import { endOfEmptied } from "./emptied_sweeps.ts";
import { keepPlan, type Quote } from "./planning.ts";
import {
  cappedReplacement,
  foundFor,
  type Prior,
  priorOf,
  quoteAgain,
  quoteCancellation,
} from "./replacements.ts";
import { holdOf, signedOf } from "./signing.ts";
import { type OrderWork, stepInTurn } from "./order_work.ts";
import {
  endReplacement,
  noteError,
  requestReplacement,
} from "../../domain/sending/order_states.ts";
import { isBoundBySender } from "../../domain/sending/cost_budget.ts";
import { PURPOSE_RULES } from "../../domain/sending/order_purposes.ts";

/**
 * An order that others wait behind is replaced, whatever its purpose, after this time without a new
 * attempt.
 */
const BLOCKING_AFTER_MS = 180_000;
/** A transaction that is not mined for this long may wait behind a gap. */
const GAP_MS = 60_000;
/** Orders that no user can speed up are replaced after this time. */
const STUCK_AFTER_MS = 600_000;
/** Most open fillers of a sender. */
const FILLS_MAX = 5;
/** With more gaps than this the count is wrong, and fillers would not help. */
const GAPS_MAX = 100;
/** Why a sent order is canceled, and who bears the cost. */
interface Cancellation {
  readonly error: string;
  readonly borneBy: AttemptRow["borne_by"];
  /** Whether it is signed although its sender cannot pay for it yet. */
  readonly isUnpaid?: boolean;
}
const UNTAKEN: Cancellation = { error: "no node takes it", borneBy: "house" };
const OVERTAKEN: Cancellation = { error: "others wait behind it", borneBy: "house" };
const UNDERBID: Cancellation = {
  error: "its sender pays less than the price, and others wait behind it",
  borneBy: "sender",
};
const EMPTIED: Cancellation = {
  error: "nothing is left for it",
  borneBy: "house",
  isUnpaid: true,
};
const REFUSED: Cancellation = {
  error: "it would fail, and others wait behind it",
  borneBy: "sender",
};

/**
 * Unblocks a stuck order: fills the gaps in front of it, and replaces it or creates a CPFP transaction
 * if no user can speed it up or other orders wait behind it. An order that cannot be replaced then, or
 * that no node takes, is canceled by a replacement that moves nothing.
 *
 * @param untaken whether all nodes answer that the bytes can never be valid
 */
export async function unblock(work: OrderWork, order: OrderRow, untaken = false): Promise<void> {
  const age = work.context.actor.at - order.created_at;
  await relieve(work, order, { age, untaken });
  if (age > GAP_MS) await fillGaps(work, order);
}

async function relieve(
  work: OrderWork,
  order: OrderRow,
  { age, untaken }: { age: number; untaken: boolean },
): Promise<void> {
  if (untaken && age > STUCK_AFTER_MS) return await cancelSent(work, order, UNTAKEN);
  const emptied = age > STUCK_AFTER_MS ? await endOfEmptied(work, order) : null;
  if (emptied === "cancel") return await cancelSent(work, order, EMPTIED);
  if (emptied === "wait") return;
  const forgotten = age > STUCK_AFTER_MS && await isForgotten(work, order);
  const need = forgotten ? "haste" : await needOf(work, order, age);
  if (need === null) return;
  if (!work.chain.traits.replaceable) return await createCpfp(work, order);
  if (need === "refused") return await cancelSent(work, order, REFUSED);
  if (need === "underbid") return await cancelSent(work, order, UNDERBID);
  if (need === "cancel") return await cancelSent(work, order, OVERTAKEN);
  await stepInTurn(work, (tx, current) => requestReplacement(tx, current, "fast"));
}

/**
 * Tells whether an old order is to be replaced because nobody else can ask for it. A payment that was found, and
 * that no open withdrawal waits for, is replaced whenever the present fee is above its own.
 */
async function isForgotten(work: OrderWork, order: OrderRow): Promise<boolean> {
  if (order.purpose !== "recovered") {
    const { spedUpByUser } = work.handlers[order.purpose];
    return !spedUpByUser && order.speed !== "fast" && !await isHeldAlone(work, order);
  }
  const { context, chain } = work;
  if (!chain.traits.replaceable || (await foundFor(context, order)).length > 0) return false;
  try {
    const prior = await priorOf(work, order);
    const due = prior !== null && prior.attempt.created_at < context.actor.at - STUCK_AFTER_MS;
    return due && isDearer(await quoteAgain(work, { ...order, speed: "fast" }, prior), prior.plan);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    if (error.fault === "unsupported") {
      await stepInTurn(work, (tx) => noteError(tx, order.id, error.message));
    }
    return false; // it is sent again as it is
  }
}

/**
 * Decides about an order that all later orders of its sender wait for, or that was canceled: a speed-up, if it pays less
 * than the present fee, or a cancellation, if it cannot be planned again at that fee. The house bears
 * the cost of a replacement beyond the charged fee, within the order's budget and the limit for the
 * customer, and the cost of a cancellation that only the fee causes. If the destination refuses by
 * now, or the sender stakes less than the fee, the sender bears that cost.
 */
async function needOf(
  work: OrderWork,
  order: OrderRow,
  age: number,
): Promise<"haste" | "refused" | "underbid" | "cancel" | null> {
  const { context, chain } = work;
  if (chain.nonces === null || order.nonce === null || order.state !== "sent") return null;
  const since = context.actor.at - BLOCKING_AFTER_MS;
  if (order.created_at > since) return null;
  const isBlocking = await reading(context.pool, (db) => selectBlocking(db, order, since));
  if (!isBlocking && !(age > STUCK_AFTER_MS && await isOldCancellation(work, order))) return null;
  try {
    const prior = await priorOf(work, order);
    if (prior === null) return null;
    const { attempt, plan } = prior;
    if (attempt.cancels) {
      const dearer = isDearer(await quoteCancellation(work, prior), plan);
      return !dearer ? null : attempt.borne_by === "sender" ? "refused" : "cancel";
    }
    const faster = { ...await cappedReplacement(context, order), speed: "fast" as const };
    const quote = await quoteAgain(work, faster, prior);
    if (!isDearer(quote, plan)) return null;
    assertAffordable(work, quote, plan);
    if (!await isHeldAlone(work, order)) return "haste";
    return age > STUCK_AFTER_MS ? "cancel" : null;
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    if (error.fault === "insufficient" || error.fault === "unsupported") return null;
    if (error.fault !== "refused" && error.fault !== "exceeded") throw error;
    if (age <= STUCK_AFTER_MS) return null;
    if (error.fault === "refused") return "refused";
    return await isUnderbid(work, order) ? "underbid" : "cancel";
  }
}

/** Whether what was to cancel an order was made long ago: nobody can speed that up, also where nothing waits behind it. */
async function isOldCancellation(
  { context: { pool, actor } }: OrderWork,
  order: OrderRow,
): Promise<boolean> {
  const last = lastOf(await reading(pool, (db) => selectAttempts(db, order.id)));
  return last !== undefined && last.cancels && last.created_at < actor.at - STUCK_AFTER_MS;
}

/** Whether the fee is above what the sender of a withdrawal stakes, by its own bound or for lack of more. */
async function isUnderbid({ context: { pool } }: OrderWork, order: OrderRow): Promise<boolean> {
  if (order.purpose !== "withdrawal" || order.reference_id === null) return false;
  return await reading(pool, async (db) => {
    const row = await selectWithdrawal(db, order.reference_id!);
    if (row === null) return false;
    return isBoundBySender(row, BigInt(order.budget!), await resolveChainAsset(db, row.asset));
  });
}

/**
 * Tells whether an order may not be signed because of its own customer, not because of its ramp: a
 * customer who freezes an account of his own must not delay the orders behind it.
 */
async function isHeldAlone({ context, chain }: OrderWork, order: OrderRow): Promise<boolean> {
  if (chain.nonces === null || await holdOf(context, order) === null) return false;
  return await holdOf(context, order, true) === null;
}

/**
 * Plans a replacement for an order whose price no node takes, because one node may have reported too
 * low a price: at the present price, and for no more than was charged for it.
 */
export async function bidAnew(work: OrderWork, order: OrderRow): Promise<void> {
  const { context, chain } = work;
  if (chain.nonces === null || order.state !== "sent") return;
  const bid = await cappedReplacement(context, order);
  if (bid.charged === "0" || await holdOf(context, order) !== null) return; // a held order is not planned
  try {
    const prior = await priorOf(work, order);
    if (prior === null || prior.attempt.raw === null || prior.attempt.cancels) return;
    const quote = await quoteAgain(work, { ...bid, budget: bid.charged }, prior);
    if (!isDearer(quote, prior.plan)) return;
    const plan = chain.plan(quote.draft, {}, prior.plan);
    await stepInTurn(work, async (tx, current) => {
      const made = lastOf(await selectAttempts(tx, order.id));
      if (current.state !== "sent" || made?.attempt !== prior.attempt.attempt) return;
      await keepPlan(work, tx, current, plan, quote);
    });
  } catch (error) {
    // A higher price is the sender's decision, by a speed-up.
    if (!(error instanceof ChainError)) throw error;
  }
}

/**
 * Makes sure that a replacement can be planned: nodes demand an eighth more than before, which may exceed
 * the order's budget or the market, although the price itself does not.
 *
 * @throws {ChainError} `exceeded`
 */
function assertAffordable({ chain }: OrderWork, { draft }: Quote, replaces: Plan): void {
  try {
    chain.plan(draft, {}, replaces);
  } catch (error) {
    if (!(error instanceof ChainError) || error.fault !== "refused") throw error;
    throw new ChainError("exceeded", error.message);
  }
}

function lastOf(made: readonly AttemptRow[]): AttemptRow | undefined {
  return made.findLast((one) => !one.dropped);
}

function isDearer({ draft: { fee } }: Quote, replaces: Plan): boolean {
  return feeOf(fee, replaces.inputs.length, replaces.amounts.length) > replaces.fee;
}

/**
 * Plans a transaction without value with an order's nonce. Either may be mined, and the order ends with
 * the mined one. A payment that was found, and that no open withdrawal waits for, is not canceled: somebody may
 * have been told that it was made.
 */
async function cancelSent(
  work: OrderWork,
  order: OrderRow,
  { error, borneBy, isUnpaid }: Cancellation,
): Promise<void> {
  const { context, chain } = work;
  if (chain.nonces === null) return;
  if (order.purpose === "recovered" && (await foundFor(context, order)).length === 0) return;
  const prior: Prior | null = await priorOf(work, order);
  if (prior === null) return;
  const quote = await quoteCancellation(work, prior, isUnpaid);
  await work.onCheckpoint("drafted");
  await stepInTurn(work, async (tx, current) => {
    const made = await selectAttempts(tx, order.id);
    const last = lastOf(made);
    if (current.state !== "sent" || last?.attempt !== prior.attempt.attempt) return;
    if (last.raw === null || last.cancels && !isDearer(quote, prior.plan)) return;
    const plan = chain.plan(quote.draft, {}, prior.plan);
    await insertAttempt(tx, {
      order_id: order.id,
      attempt: made.length + 1,
      plan: writePlan(plan),
      inputs: [...plan.inputs],
      cancels: true,
      borne_by: borneBy,
      created_at: context.actor.at,
    });
    // The known cost of the order stays: the payment, or the small cost of this one instead.
    await endReplacement(tx, order.id, last.cancels ? current.error ?? error : error);
  });
  await work.onCheckpoint("planned");
}

/**
 * Fills the nonces in front of an order that no open order will use. A transaction that was mined with
 * one of them, and whose block the chain has lost since, is sent again with the same bytes; only where
 * there is none, a filler takes the nonce, a few at a time.
 */
export async function fillGaps(work: OrderWork, order: OrderRow): Promise<void> {
  const { context, chain } = work;
  if (PURPOSE_RULES[order.purpose].fillsNonce || order.nonce === null) return;
  if (chain.nonces === null) return;
  const { mined } = await chain.nonces.count(order.sender);
  const between = { mined, below: order.nonce };
  const lost = await stepInTurn(work, async (tx) => {
    const gaps = await selectGaps(tx, order, between);
    const done = await selectDone(tx, order, gaps);
    const known = new Set(done.map(({ nonce }) => nonce));
    // A node that counts too few turns no nonce that was mined long ago into a gap.
    const unused = gaps.length - known.size;
    if (unused > GAPS_MAX) {
      const many = `${unused} nonces before ${order.nonce} were never used`;
      throw new ChainError("unavailable", `${many}: they are not filled, it waits for an operator`);
    }
    const room = Math.max(0, FILLS_MAX - await countFills(tx, order));
    for (const nonce of gaps.filter((one) => !known.has(one)).slice(0, room)) {
      await fillNonce(tx, context.actor, order, nonce);
    }
    return done.slice(0, FILLS_MAX);
  });
  for (const one of lost) await chain.broadcast(signedOf(one));
}
