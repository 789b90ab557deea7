/**
 * Replacements of sent transactions: the same payment, or nothing, from the same nonce or coins at a higher
 * price. Either may be mined, never both.
 * @module
 */
import { selectDependants } from "../../db/sending/utxos.ts";
import { isFound, markAttemptUnreadable, selectAttempts } from "../../db/sending/order_attempts.ts";
import { reading } from "../../db/transaction.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import { cappedBudgets } from "../../domain/sending/holder_losses.ts";
import type { AttemptRow, OrderRow } from "../../domain/sending/chain_orders.ts";
import { endReplacement } from "../../domain/sending/order_states.ts";
import { ChainError } from "../chains/chain.ts";
import { type Draft, type Plan, readPlan } from "../chains/outgoing.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type OrderWork, stepInTurn } from "./order_work.ts";
import { assertPaid, budgetOf, coinsFor, keepPlan, type Quote, quoteFor } from "./planning.ts";
import { holdInTurn, holdOf, signedAttempts } from "./signing.ts";

/** The attempt that a replacement takes the place of. */
export interface Prior {
  readonly attempt: AttemptRow;
  readonly plan: Plan;
  /** Whether the order itself was found on the chain: nothing here has its request. */
  readonly found: boolean;
}

/**
 * Reads the last attempt of an order, and its plan. One that was found has none here: its bytes tell it, so that
 * it is replaced by the same payment. Null where there is no attempt.
 *
 * @throws {ChainError} `unsupported` where the bytes do not tell it
 */
export async function priorOf(work: OrderWork, order: OrderRow): Promise<Prior | null> {
  const made = await reading(work.context.pool, (db) => selectAttempts(db, order.id));
  const attempt = made.findLast((one) => !one.dropped);
  if (attempt === undefined) return null;
  const found = isFound(made[0]);
  if (!isFound(attempt)) return { attempt, found, plan: readPlan<Plan>(attempt.plan) };
  const [signed] = await signedAttempts(work, order, [attempt]);
  const plan = await work.chain.planOf(signed, { all: order.purpose === "sweep" });
  if (plan !== null) return { attempt, found, plan };
  if (!attempt.unreadable) {
    const name = { order: order.id, attempt: attempt.attempt };
    await stepInTurn(work, (tx) => markAttemptUnreadable(tx, name)); // so that nobody is charged for a speed-up
  }
  const by = attempt.inputs.join(", ");
  throw new ChainError(
    "unsupported",
    "it was found on the chain, does what nothing here makes, and is sent again as it is: if no block takes it" +
      ` for long, send another transaction with ${by} by hand, with the realm's seed, and reconcile`,
  );
}

/**
 * Plans a replacement of the last sent attempt. An attempt that cannot be replaced stays; a replacement
 * gets a signature of its own, so it waits while the order may not be signed.
 */
export async function replaceOrder(work: OrderWork, order: OrderRow): Promise<OrderRow> {
  const { context, chain, onCheckpoint } = work;
  const held = await holdOf(context, order);
  if (held !== null) return await holdInTurn(work, held);
  try {
    if (!chain.traits.replaceable) throw new ChainError("unsupported", "it cannot be replaced");
    const prior = await priorOf(work, order);
    if (prior === null || prior.attempt.raw === null) return order; // it lacks only its signature
    const quote = await quoteAgain(work, await cappedReplacement(context, order), prior);
    await onCheckpoint("drafted");
    const planned = await stepInTurn(work, async (tx, current) => {
      if (current.state !== "sent" || !current.replace) return current;
      const attempts = (await selectAttempts(tx, order.id)).filter((one) => !one.dropped);
      if (attempts.at(-1)?.attempt !== prior.attempt.attempt) return current;
      const made = attempts.flatMap(({ hash }) => hash ?? []);
      if (chain.traits.coins && await selectDependants(tx, current, made)) {
        throw new ChainError("unsupported", "its change is being spent: it cannot be replaced");
      }
      const inputs = { coins: await coinsFor(work, tx, current, quote) };
      const plan = chain.plan(quote.draft, inputs, prior.plan);
      return await keepPlan(work, tx, current, plan, quote);
    });
    await onCheckpoint("planned");
    return planned;
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    if (error.fault === "unavailable" || error.fault === "held") {
      // The sent attempt is followed all the same, and the next run tries the replacement again.
      context.log("warn", "a replacement waits", { order: order.id, error });
      return order;
    }
    return await stepInTurn(work, (tx) => endReplacement(tx, order.id, error.message));
  }
}

/**
 * Makes the nodes try and price a sent order once more. Where they disagree on whether it would work now,
 * it is priced as it stands: its nonce must be used up for the orders behind it, and the signed payment
 * may be mined anyway. So is an order that was found: nothing but its bytes says what it pays.
 */
export async function quoteAgain(
  work: OrderWork,
  order: OrderRow,
  prior: Prior,
): Promise<Quote> {
  if (!prior.found) {
    try {
      return await quoteFor(work, order);
    } catch (error) {
      const undecided = error instanceof ChainError &&
        (error.fault === "unavailable" || error.fault === "held");
      if (!undecided || work.chain.nonces === null || prior.attempt.cancels) throw error;
    }
  }
  const how = { speed: order.speed, budget: budgetOf(order), cancels: false };
  return await repricedQuote(work, await work.chain.redraft(prior.plan, how));
}

/**
 * Prices a transaction without value in place of a sent one.
 *
 * @param isUnpaid whether its sender may lack the fee
 */
export async function quoteCancellation(
  work: OrderWork,
  { plan }: Prior,
  isUnpaid = false,
): Promise<Quote> {
  const how = { speed: "fast" as const, budget: null, cancels: true };
  return await repricedQuote(work, await work.chain.redraft(plan, how), isUnpaid);
}

/** Makes the quote of an order that has its inputs: only the price is needed, and coins for it. */
async function repricedQuote(
  { chain }: OrderWork,
  draft: Draft,
  isUnpaid = false,
): Promise<Quote> {
  if (!isUnpaid) assertPaid(draft);
  const head = chain.traits.coins ? (await chain.head()).height : 0;
  return { draft, head, mined: null, held: null, askedAt: null };
}

/**
 * Limits the cost of a replacement. It runs the destination's code again, which may take more gas by
 * now. For a customer who has cost the house too much, the house bears no more of it than the first
 * time, also if other orders wait behind this one. One that was found costs what the withdrawals that it pays
 * may cost; where it pays none that is open here, the market limits it.
 */
export async function cappedReplacement(
  context: WorkerContext,
  order: OrderRow,
): Promise<OrderRow> {
  const { pool, actor: { realm } } = context;
  const paying = order.purpose === "recovered" ? await foundFor(context, order) : [order];
  const caps = await reading(pool, (db) => cappedBudgets(db, realm, paying));
  if (order.purpose !== "recovered") {
    const cap = caps.get(order.id);
    return cap === undefined ? order : { ...order, budget: `${cap}` };
  }
  if (paying.length === 0) return order;
  const budget = paying.reduce((sum, one) => sum + (caps.get(one.id) ?? BigInt(one.budget!)), 0n);
  const charged = paying.reduce((sum, one) => sum + BigInt(one.charged), 0n);
  const { budget_contract } = paying[0];
  return { ...order, budget: `${budget}`, charged: `${charged}`, budget_contract };
}

/** Lists the orders of the open withdrawals that a transaction which was found pays. */
export async function foundFor({ pool }: WorkerContext, order: OrderRow): Promise<OrderRow[]> {
  return await reading(pool, (db) => selectBatched(db, order.id));
}
