/**
 * Withdrawal batches: several new withdrawals of a ramp in one transaction, where the chain allows
 * several payments and one is cheaper. Withdrawals that cannot be paid together are sent alone.
 * @module
 */
import { COINS_MAX, sumFreeCoins } from "../../db/sending/utxos.ts";
import type { Tx } from "../../db/database.ts";
import { lockOrder, selectOrder } from "../../db/sending/chain_orders.ts";
import { lockNewOrders, selectSiblings } from "../../db/withdrawals/withdrawal_batches.ts";
import { reading } from "../../db/transaction.ts";
import { cappedBudgets } from "../../domain/sending/holder_losses.ts";
import {
  createOrder,
  type OrderRow,
  type PaymentRequest,
} from "../../domain/sending/chain_orders.ts";
import { signingHolds } from "../../domain/sending/signing_holds.ts";
import { ChainError } from "../chains/chain.ts";
import { type Draft, feeOf, type Plan } from "../chains/outgoing.ts";
import { assertKnown } from "./found_transactions.ts";
import { coinsFor, keepPlan, type Quote, quoteFor } from "./planning.ts";
import { lockInTurn, type OrderWork } from "./order_work.ts";
import { rivalsOf } from "./rivals.ts";
import { joinBatch } from "../../domain/sending/order_states.ts";

/** The ledger lock is held while all payments of a batch are booked, so their number is limited. */
const BATCH_MAX = 25;

/** Result of planning a new order: a batch order carries it, or it is no longer new. */
export interface Batched {
  readonly order: OrderRow;
}

/**
 * Plans one transaction for a new withdrawal and others that wait beside it; if that fails, with half
 * as many.
 *
 * @returns null where the order is sent alone
 */
export async function planBatch(work: OrderWork, order: OrderRow): Promise<Batched | null> {
  const { coins, paymentsMax } = work.chain.traits;
  if (!coins || await hasRivals(work, [order])) return null;
  const full = Math.min(paymentsMax, BATCH_MAX);
  for (let most = full - 1; most > 0; most = Math.floor(most / 2)) {
    const siblings = await siblingsOf(work, order, most);
    if (siblings.length === 0) return null;
    const planned = await planTogether(work, order, siblings);
    if (planned !== null) return planned;
    most = siblings.length;
  }
  return null;
}

/** Whether bytes of some orders may be mined that were given up: each of these goes alone, with coins of those bytes. */
async function hasRivals(work: OrderWork, orders: readonly OrderRow[]): Promise<boolean> {
  const head = 0; // however deep a coin of theirs is spent
  const rivals = await reading(work.context.pool, (db) => rivalsOf(work, db, { orders, head }));
  return rivals.length > 0;
}

/** Finds the orders that wait beside an order, as many as the sender's free coins can pay. */
async function siblingsOf(work: OrderWork, order: OrderRow, most: number): Promise<OrderRow[]> {
  const { context } = work;
  const waiting = await reading(context.pool, async (db) => {
    const siblings = await selectSiblings(db, order, most);
    const held = await signingHolds(db, context.actor.realm, siblings);
    const rivals = await rivalsOf(work, db, { orders: siblings, head: 0 });
    const alone = new Set([...held.keys(), ...rivals.map((one) => one.order)]);
    return siblings.filter(({ id }) => !alone.has(id));
  });
  if (waiting.length === 0) return [];
  const of = { chain: order.chain, network: order.network, address: order.sender };
  const free = await reading(context.pool, (db) => sumFreeCoins(db, of, COINS_MAX));
  let left = BigInt(free.units) - BigInt(order.amount!);
  return waiting.filter(({ amount }) => {
    if (BigInt(amount!) > left) return false;
    left -= BigInt(amount!);
    return true;
  });
}

/** Plans them together; null if they cannot be paid together, or one of them has changed. */
async function planTogether(
  work: OrderWork,
  order: OrderRow,
  siblings: readonly OrderRow[],
): Promise<Batched | null> {
  const drafted = [order, ...siblings].toSorted((one, other) => one.id < other.id ? -1 : 1);
  try {
    const request = requestOf(drafted);
    const { pool, actor: { realm } } = work.context;
    const caps = await reading(pool, (db) => cappedBudgets(db, realm, drafted));
    const most = (one: OrderRow) => caps.get(one.id) ?? BigInt(one.budget!);
    const budget = `${drafted.reduce((sum, one) => sum + most(one), 0n)}`;
    const quote = await quoteFor(work, { ...order, request, budget });
    await assertKnown(work, order, quote);
    await work.onCheckpoint("drafted");
    const planned = await work.context.step(async (tx): Promise<Batched | null> => {
      const batched = await lockNewOrders(tx, drafted.map(({ id }) => id));
      const current = await lockInTurn(tx, work.turn);
      if (current.state === "new") {
        const asPriced = batched.filter(({ speed }) => speed === order.speed);
        if (asPriced.length < drafted.length) return null;
        if ((await signingHolds(tx, work.context.actor.realm, batched)).size > 0) return null;
        if (!await createBatch(work, tx, { batched, request, quote })) return null;
      }
      return { order: (await selectOrder(tx, order.id))! };
    });
    await work.onCheckpoint("planned");
    return planned;
  } catch (error) {
    const alone = error instanceof ChainError &&
      ["refused", "insufficient", "exceeded"].includes(error.fault);
    if (!alone) throw error;
    return null;
  }
}

/** Creates the batch order; false where single transactions cost less. */
async function createBatch(
  work: OrderWork,
  tx: Tx,
  of: { batched: readonly OrderRow[]; request: PaymentRequest & { kind: "pay" }; quote: Quote },
): Promise<boolean> {
  const { batched, request, quote } = of;
  const { place: { chain }, context } = work;
  const [first] = batched;
  const coins = await coinsFor(work, tx, first, quote);
  const plan = work.chain.plan(quote.draft, { coins });
  if (plan.fee >= feeApart(quote.draft, plan)) return false;
  const id = await createOrder(tx, context.actor, {
    place: { chain, network: work.chain.network },
    ramp: first.ramp,
    purpose: "batch",
    reference_id: null,
    request,
    speed: first.speed,
    cost: {
      charged: sumOf(batched, "charged"),
      budget: sumOf(batched, "budget"),
      contract: first.budget_contract,
    },
  });
  await keepPlan(work, tx, (await lockOrder(tx, id))!, plan, quote);
  await joinBatch(tx, batched.map((member) => member.id), id);
  return true;
}

function sumOf(batched: readonly OrderRow[], what: "charged" | "budget"): bigint {
  return batched.reduce((sum, member) => sum + BigInt(member[what] ?? 0), 0n);
}

/** Computes the least cost of single transactions, which spend at least as many coins in total. */
function feeApart({ fee }: Draft, plan: Plan): bigint {
  const count = plan.amounts.length;
  const inputs = Math.max(count, plan.inputs.length);
  return feeOf({ ...fee, base: fee.base * BigInt(count) }, inputs, count);
}

function requestOf(batched: readonly OrderRow[]): PaymentRequest & { kind: "pay" } {
  const requests = batched.map(({ request }) =>
    request as unknown as PaymentRequest & { kind: "pay" }
  );
  const payments = requests.flatMap((request) => request.payments);
  return { kind: "pay", from: requests[0].from, contract: requests[0].contract, payments };
}
