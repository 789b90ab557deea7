/**
 * What is seen to when an order lingers: gaps in front of its nonce, a price that was overtaken, a
 * parent that nobody mines.
 * @module
 */
import { countFills, selectBlocking, selectDone, selectGaps } from "../db/nonces.ts";
import { selectCandidates, updateOrder } from "../db/orders.ts";
import { reading } from "../db/transaction.ts";
import { fillNonce, type OrderRow } from "../domain/orders.ts";
import { ChainError } from "./chains/chain.ts";
import { type Plan, readPlan } from "./chains/order.ts";
import { bearChild } from "./children.ts";
import { surveyFor } from "./order_plans.ts";
import { type OrderWork, signedOf, stepInTurn } from "./order_work.ts";

/** What is not mined so long may wait behind a nonce that nobody will use. */
const GAP_MS = 60_000;
/** What nobody can hasten by hand is replaced when it has lingered so long. */
const LINGERS_MS = 600_000;
/** What others wait behind is replaced, whatever it is, when nothing was made for it for so long. */
const BLOCKS_MS = 180_000;
/** Transactions that fill nonces of a sender, at a time. */
const FILLS_MAX = 5;
/** With more gaps than that something is wrong, and filling them is no way out. */
const GAPS_MAX = 100;
/** What somebody hastens, or leaves as it is. */
const BY_HAND: ReadonlySet<OrderRow["purpose"]> = new Set([
  "withdrawal",
  "payout",
  "consolidation",
]);

/**
 * Sees to what lingers: fills the gaps in front of it, and replaces it, or has a child pay for it,
 * where nobody would do so by hand, or others wait behind it.
 */
export async function unblock(work: OrderWork, order: OrderRow): Promise<void> {
  const age = work.bench.actor.at - order.created_at;
  if (age > GAP_MS) await fillGaps(work, order);
  const forgotten = age > LINGERS_MS && !BY_HAND.has(order.purpose) && order.speed !== "fast";
  if (!forgotten && !await isOvertaken(work, order)) return;
  if (!work.chain.traits.replaceable) return await bearChild(work, order);
  await stepInTurn(work, (tx) => updateOrder(tx, order.id, { speed: "fast", replace: true }));
}

/**
 * Whether all others of a sender wait for an order that pays less than is asked for now. The house
 * bears what a replacement costs beyond what was charged, as far as the order's budget goes.
 */
async function isOvertaken(work: OrderWork, order: OrderRow): Promise<boolean> {
  const { bench, chain } = work;
  if (!chain.traits.nonces || order.nonce === null || order.state !== "sent") return false;
  const since = bench.actor.at - BLOCKS_MS;
  if (order.created_at > since) return false;
  if (!await reading(bench.pool, (db) => selectBlocking(db, order, since))) return false;
  const made = await reading(bench.pool, (db) => selectCandidates(db, order.id));
  const last = made.findLast((one) => !one.dead);
  if (last === undefined) return false;
  try {
    const { draft } = await surveyFor(work, { ...order, speed: "fast" });
    return draft.fee.base > readPlan<Plan>(last.plan).fee;
  } catch (error) {
    if (!(error instanceof ChainError) || error.fault === "unavailable") throw error;
    return false;
  }
}

/**
 * Sees to the nonces in front of an order that no living order will use. What was mined with one of
 * them, and the chain has lost since, is sent again, the same bytes; only where there is nothing of the
 * kind a transaction that moves nothing takes its place, a few at a time.
 */
export async function fillGaps(work: OrderWork, order: OrderRow): Promise<void> {
  const { bench, chain } = work;
  if (order.purpose === "fill" || order.nonce === null) return;
  const nonces = await chain.nonces(order.sender);
  if (nonces === null) return;
  const between = { mined: nonces.mined, below: order.nonce };
  const lost = await stepInTurn(work, async (tx) => {
    const gaps = await selectGaps(tx, order, between);
    if (gaps.length > GAPS_MAX) {
      const many = `${gaps.length} nonces before ${order.nonce} were never used`;
      throw new ChainError("unavailable", `${many}: they are not filled, it waits for an operator`);
    }
    const done = await selectDone(tx, order, gaps);
    const known = new Set(done.map(({ nonce }) => nonce));
    const room = Math.max(0, FILLS_MAX - await countFills(tx, order));
    for (const nonce of gaps.filter((one) => !known.has(one)).slice(0, room)) {
      await fillNonce(tx, bench.actor, order, nonce);
    }
    return done.slice(0, FILLS_MAX);
  });
  for (const one of lost) await chain.broadcast(signedOf(one));
}
