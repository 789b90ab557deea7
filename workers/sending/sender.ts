/**
 * The state machine that sends every chain order. A run advances an order as far as possible: the
 * node drafts it, then it is planned with its inputs reserved, signed, stored, broadcast, followed
 * until it is final, and settled. A run may stop at any point and be repeated, also by two workers at
 * once: only stored bytes are sent, and another payment is made only after the first is dropped.
 * @module
 */
import { deleteUnmadeCoins, keepCoins, markSpent, selectOrphaned } from "../../db/sending/utxos.ts";
import type { Tx } from "../../db/database.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import {
  markAttemptOutcome,
  markAttemptSent,
  selectAttempts,
} from "../../db/sending/order_attempts.ts";
import { lockQuarantine } from "../../db/sending/quarantine.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainId } from "../../domain/assets.ts";
import {
  type AttemptRow,
  type DropProof,
  type OrderRow,
  releaseInputs,
  renewOrder,
} from "../../domain/sending/chain_orders.ts";
import { reviveOrders } from "../../domain/sending/forgotten_orders.ts";
import {
  dropOrder,
  failOrder,
  finishOrder,
  type Inclusion,
  isOpen,
  markMined,
  markSent,
  markUnmined,
  noteError,
  refuseOrder,
} from "../../domain/sending/order_states.ts";
import { PURPOSE_RULES } from "../../domain/sending/order_purposes.ts";
import { doubtRestart } from "../../domain/sending/quarantine.ts";
import { noteRampCost } from "../../domain/sending/ramp_costs.ts";
import { ORDER_HANDLERS } from "./order_handlers.ts";
import type { WorkerContext } from "../worker_context.ts";
import { ChainError } from "../chains/chain.ts";
import type { Broadcast, TransactionStatus } from "../chains/outgoing.ts";
import { assertMayLeave, endInTurn } from "./departures.ts";
import { takeReplacement } from "./found_transactions.ts";
import { assertProven, type Drop, earlierDropOf, lossOf } from "./dropped_orders.ts";
import { giveUpOvertaken } from "./overtaken_plans.ts";
import { planOrder, type Refusal } from "./planning.ts";
import { replaceOrder } from "./replacements.ts";
import { holdOf, signedAttempts, signedOf, signPending } from "./signing.ts";
import {
  type OnCheckpoint,
  type OrderWork,
  Outdated,
  stepInTurn,
  type Turn,
} from "./order_work.ts";
import { bidAnew, fillGaps, unblock } from "./stuck_orders.ts";
import { WAIT_MS, waitFor } from "./waiting_orders.ts";
import { rescheduleWaiting, wakeBeside, wakeNoteOf } from "./woken_orders.ts";

const POLL_MS = 5_000;
/** After an hour an order runs less often. */
const OLD_MS = 3_600_000;
const OLD_POLL_MS = 60_000;
/** Longest pause before bytes that no node takes are sent again. */
const UNTAKEN_POLL_MS = 600_000;
const NOT_FINAL = "its block is deep enough, and nodes do not call it final yet";
const CANCELED =
  "a transaction that moves nothing took its place: no node took it, it held up others, or nothing was left";

/** Runs an order once; of a canceled one, those that wait beside it. It writes nothing more once another run was scheduled. */
export async function advanceOrder(
  context: WorkerContext,
  seen: Turn,
  onCheckpoint: OnCheckpoint = () => {},
): Promise<void> {
  const order = await reading(context.pool, (db) => selectOrder(db, seen.order));
  if (order === null || order.schedule_version !== seen.version) return;
  if (order.state === "canceled") return await wakeBeside(context, order);
  if (!isOpen(order)) return;
  const note = await wakeNoteOf(context, order, seen);
  try {
    const delayMs = await advance(context, order, { turn: seen, onCheckpoint });
    if (delayMs === null) return;
    await rescheduleWaiting(context, seen, { note, delayMs });
  } catch (error) {
    if (!(error instanceof Outdated)) throw error;
    context.log("debug", "outdated run of an order", { order: seen.order, version: seen.version });
  }
}

/** Schedules the orders again whose jobs were lost. */
export async function reviveForgotten(context: WorkerContext): Promise<void> {
  await context.step((tx) => reviveOrders(tx, context.actor));
}

/** Advances an order. Gives milliseconds until its next run; null if it has ended. */
async function advance(
  context: WorkerContext,
  order: OrderRow,
  how: Pick<OrderWork, "turn" | "onCheckpoint">,
): Promise<number | null> {
  const place = { chain: order.chain as ChainId, testnet: order.network !== "main" };
  try {
    const chain = await context.chains.open(place);
    return await carryOn({ context, chain, place, handlers: ORDER_HANDLERS, ...how }, order);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    return await waitFor({ context, turn: how.turn }, order, error);
  }
}

async function carryOn(work: OrderWork, given: OrderRow): Promise<number | null> {
  let order = given;
  if (order.state === "new") {
    const held = await holdOf(work.context, given);
    if (held !== null) throw new ChainError("held", held);
    const planned = await ORDER_HANDLERS[order.purpose].planBatch?.(work, order) ??
      await planOrder(work, order);
    if ("refused" in planned) return await refuse(work, planned);
    order = planned.order;
  } else if (order.state === "sent" && order.replace) {
    order = await replaceOrder(work, order);
  }
  if (order.state === "mined") return await follow(work, order);
  order = await giveUpOvertaken(work, order) ?? await signPending(work, order);
  if (!isOpen(order)) return null;
  if (order.state === "new") return 0; // its plan was too old to be signed, or overtaken
  return await sendPending(work, order) ? POLL_MS : await follow(work, order);
}

/** Ends an order that cannot work, unless it was planned meanwhile: then it continues. */
async function refuse(work: OrderWork, { refused, fault }: Refusal): Promise<number | null> {
  const { context, onCheckpoint } = work;
  const ended = await endInTurn(work, "failed", async (tx, current) => {
    if (current.state !== "new") return false;
    const failed = await refuseOrder(tx, current, refused, fault);
    await releaseInputs(tx, context.actor, failed);
    await ORDER_HANDLERS[failed.purpose].settle(tx, context.actor, failed);
    return true;
  });
  if (!ended) return POLL_MS;
  await onCheckpoint("settled");
  return null;
}

/** Broadcasts stored bytes that have not been sent, or perhaps not; false where there are none. */
async function sendPending(work: OrderWork, order: OrderRow): Promise<boolean> {
  const { context, onCheckpoint } = work;
  const attempt = (await livingOf(context, order)).findLast((one) => one.raw !== null);
  if (attempt === undefined || attempt.outcome !== null) return false;
  await assertMayLeave(work, order, attempt);
  const leaving = await stepInTurn(work, async (tx, current) => {
    if (!["signed", "sent"].includes(current.state)) return false;
    await markAttemptSent(tx, { order: order.id, attempt: attempt.attempt }, context.actor.at);
    const next = await markSent(tx, current, attempt.hash!);
    await ORDER_HANDLERS[next.purpose].progress?.(tx, context.actor, next);
    return true;
  });
  if (!leaving) return true;
  await onCheckpoint("sending");
  await broadcast(work, order, attempt);
  return true;
}

/** Sends bytes. The nodes' answers are recorded, and prove nothing. */
async function broadcast(
  work: OrderWork,
  order: OrderRow,
  attempt: AttemptRow,
): Promise<Broadcast> {
  const { chain, onCheckpoint } = work;
  const answer = await chain.broadcast(signedOf(attempt));
  await onCheckpoint("broadcast");
  await stepInTurn(work, async (tx) => {
    const name = { order: order.id, attempt: attempt.attempt };
    await markAttemptOutcome(tx, name, answer.obstacle ?? answer.outcome);
    const detail = answer.obstacle === null ? null : answer.detail ?? answer.obstacle;
    await noteError(tx, order.id, detail);
  });
  return answer;
}

/** Asks the nodes for the status of a sent order and acts on it. */
async function follow(work: OrderWork, order: OrderRow): Promise<number | null> {
  const { context, chain, place, onCheckpoint } = work;
  const living = await livingOf(context, order);
  const attempts = await signedAttempts(work, order, living);
  const depth = context.chains.depth(place);
  const status = await chain.status({ attempts, since: order.since ?? 0, depth });
  await onCheckpoint("seen");
  // One node may report for ever that a transaction waits or is mined although the others dropped it.
  if ("lacking" in status && status.lacking && attempts.length > 0) {
    await chain.broadcast(attempts.at(-1)!);
  }
  switch (status.state) {
    case "mined":
      return await mined(work, living, status, depth);
    case "dropped":
      return await buried(work, order, status, living);
    case "pending":
      await unmine(work, order);
      await unblock(work, order);
      return pauseOf(work, order);
    case "unseen": {
      const latest = living.findLast((one) => one.raw !== null);
      if (latest === undefined) return WAIT_MS;
      await unmine(work, order);
      if (chain.traits.coins && await reading(context.pool, (db) => selectOrphaned(db, order.id))) {
        const proof: DropProof = { proof: "orphaned", by: null, height: null };
        const drop = { error: "its input will never exist", again: true, proof };
        return await dropOrRestart(work, drop, living);
      }
      const answer = await broadcast(work, order, latest);
      if (answer.obstacle === "early") await fillGaps(work, order);
      else await unblock(work, order, answer.obstacle === "malformed");
      if (answer.obstacle === "underpriced") await bidAnew(work, order);
      if (chain.traits.coins && answer.obstacle === "consumed") {
        const old = await earlierDropOf(work, order, living, depth);
        if (old !== null) return await buried(work, order, old, living);
      }
      return pauseOf(work, order, answer);
    }
  }
}

async function mined(
  work: OrderWork,
  living: readonly AttemptRow[],
  status: TransactionStatus & { state: "mined" },
  depth: number,
): Promise<number | null> {
  const { context } = work;
  if (status.confirmations < 1) return POLL_MS; // one node reports it, too few agree
  const canceled = living.some(({ hash, cancels }) => cancels && hash === status.hash);
  const succeeded = status.success && !canceled;
  const block: Inclusion = {
    hash: status.hash,
    height: status.block.height,
    block_hash: status.block.hash,
    confirmations: status.confirmations,
    succeeded,
    fee: `${status.fee}`,
    fee_contract: status.feeContract,
    refund: `${status.refund ?? 0n}`,
  };
  if (status.confirmations >= depth && isSettled(status, living)) {
    if (succeeded) return await finish(work, { state: "done", block });
    const error = canceled ? CANCELED : "the chain took the fee and moved nothing";
    return await finish(work, { state: "failed", block, error });
  }
  const waits = status.confirmations < depth ? null : NOT_FINAL;
  const current = await stepInTurn(work, async (tx, given) => {
    const next = await markMined(tx, given, block, waits);
    await ORDER_HANDLERS[next.purpose].progress?.(tx, context.actor, next);
    return next;
  });
  return pauseOf(work, current);
}

/**
 * Tells whether an order is settled. A payment is settled by its depth: if its block is lost after
 * all, its bytes are sent again. An end that returns money, or that could let a rival transaction win,
 * needs a final block.
 */
function isSettled(
  status: TransactionStatus & { state: "mined" },
  living: readonly AttemptRow[],
): boolean {
  return status.final || (status.success && !living.some(({ cancels }) => cancels));
}

/** Records that the block of an order's transaction is no longer on the chain. */
async function unmine(work: OrderWork, order: OrderRow): Promise<void> {
  const { context } = work;
  if (order.state !== "mined") return;
  await stepInTurn(work, async (tx, current) => {
    if (current.state !== "mined") return;
    const next = await markUnmined(tx, current);
    await ORDER_HANDLERS[next.purpose].progress?.(tx, context.actor, next);
  });
}

/** Ends or restarts an order that another transaction made impossible, unless that is its own replacement. */
async function buried(
  work: OrderWork,
  order: OrderRow,
  status: TransactionStatus & { state: "dropped" },
  living: readonly AttemptRow[],
): Promise<number | null> {
  await unmine(work, order); // its own block is gone: only a sent order can be replaced
  if (await takeReplacement(work, order, { status, living })) return POLL_MS;
  return await dropOrRestart(work, await lossOf(work, order, status, living), living);
}

/** Ends or restarts an order of which no attempt can be mined; what may be paid is asked about. */
async function dropOrRestart(
  work: OrderWork,
  { error, again, proof }: Drop,
  living: readonly AttemptRow[],
): Promise<number | null> {
  const { actor, log } = work.context;
  const renewed = await stepInTurn(work, async (tx, current) => {
    await assertProven(tx, current, living);
    const { endsDropped, giveUp } = ORDER_HANDLERS[current.purpose];
    if (endsDropped) return false; // no parent is left to pay for
    if (isFilled(current, proof)) return false;
    const detail = await (giveUp ?? doubtRestart)(tx, actor, current, proof);
    // In quarantine nothing ends unpaid, and a reconciliation waits for what may still be mined.
    const isHeld = proof.proof === "expired" && await lockQuarantine(tx, current.ramp) !== null;
    if (!again && !isHeld && detail === null && giveUp === undefined) return false;
    if (detail !== null) log("error", "a ramp is in quarantine", { detail });
    if (giveUp === undefined) await renewOrder(tx, actor, current, proof);
    return true;
  });
  if (renewed) return 0;
  return await finish(work, { state: "dropped", error, proof, living });
}

/** Whether the nonce that an order was to use up is used by another: it is not made anew, as it would be the same bytes. */
function isFilled({ purpose }: OrderRow, { proof }: DropProof): boolean {
  return proof === "consumed" && PURPOSE_RULES[purpose].fillsNonce;
}

/** The end of an order whose bytes were sent. */
type Ending =
  | { state: "done"; block: Inclusion }
  | { state: "failed"; block: Inclusion; error: string }
  | { state: "dropped"; error: string; proof: DropProof; living: readonly AttemptRow[] };

async function endOrder(tx: Tx, order: OrderRow, end: Ending): Promise<OrderRow> {
  switch (end.state) {
    case "done":
      return await finishOrder(tx, order, end.block);
    case "failed":
      return await failOrder(tx, order, end.block, end.error);
    case "dropped":
      await assertProven(tx, order, end.living);
      return await dropOrder(tx, order, end.error, end.proof);
  }
}

/** Records the end of an order, and books its consequences. */
async function finish(work: OrderWork, end: Ending): Promise<null> {
  const { context, onCheckpoint } = work;
  const { ended, doubt } = await endInTurn(work, end.state, async (tx, current) => {
    const ended = await endOrder(tx, current, end);
    await settleCoins(tx, ended);
    await releaseInputs(tx, context.actor, ended);
    await ORDER_HANDLERS[ended.purpose].settle(tx, context.actor, ended);
    await noteRampCost(tx, ended);
    const asks = end.state === "dropped" && isFilled(ended, end.proof); // once, as it has ended
    return { ended, doubt: asks ? await doubtRestart(tx, context.actor, ended, end.proof) : null };
  });
  if (doubt !== null) context.log("error", "a ramp is in quarantine", { detail: doubt });
  await onCheckpoint("settled");
  await wakeBeside(context, ended);
  return null;
}

/** Marks coins as spent that the mined attempt spent, and deletes change of attempts that were not mined. */
async function settleCoins(tx: Tx, order: OrderRow): Promise<void> {
  const attempts = await selectAttempts(tx, order.id);
  const losers = attempts.flatMap(({ hash }) =>
    hash === null || (order.height !== null && hash === order.hash) ? [] : [hash]
  );
  if (losers.length > 0) await deleteUnmadeCoins(tx, order, losers);
  const winner = attempts.find(({ hash }) => hash === order.hash);
  if (winner === undefined || order.height === null) return;
  const by = {
    chain: order.chain,
    network: order.network,
    hash: order.hash!,
    height: order.height,
  };
  await markSpent(tx, by, winner.inputs);
  if (order.state === "done" && order.nonce === null) await keepCoins(tx, by, winner.inputs);
}

async function livingOf(context: WorkerContext, order: OrderRow): Promise<AttemptRow[]> {
  const all = await reading(context.pool, (db) => selectAttempts(db, order.id));
  return all.filter((one) => !one.dropped);
}

/**
 * Gives the pause until the next run; it grows for bytes that no node takes. Bytes that expire are sent
 * again until then, also those of an order that has waited for hours.
 */
function pauseOf({ context, chain }: OrderWork, order: OrderRow, answer?: Broadcast): number {
  if (chain.traits.validity !== null) return POLL_MS;
  const age = context.actor.at - order.created_at;
  const untaken = answer?.obstacle === "malformed" || answer?.obstacle === "other";
  if (untaken) return Math.min(UNTAKEN_POLL_MS, Math.max(POLL_MS, age / 10));
  return age > OLD_MS ? OLD_POLL_MS : POLL_MS;
}
