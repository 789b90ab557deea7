/**
 * Several new withdrawals of a ramp that leave in one transaction, where a transaction can pay
 * several and that is cheaper. What does not work together is left to each alone.
 * @module
 */
import { COINS_MAX, sumFreeCoins } from "../../db/sending/utxos.ts";
import type { Tx } from "../../db/database.ts";
import { lockOrder, selectOrder } from "../../db/sending/chain_orders.ts";
import { lockNewOrders, selectMates } from "../../db/withdrawals/withdrawal_batches.ts";
import { reading } from "../../db/transaction.ts";
import { cappedBudgets } from "../../domain/sending/holder_losses.ts";
import { createOrder, type OrderRow, type Wish } from "../../domain/sending/chain_orders.ts";
import { signingHolds } from "../../domain/sending/signing_holds.ts";
import { ChainError } from "../chains/chain.ts";
import { type Draft, feeOf, type Plan } from "../chains/outgoing.ts";
import { assertKnown } from "./found_transactions.ts";
import { coinsFor, keepPlan, type Survey, surveyFor } from "./planning.ts";
import { lockInTurn, type OrderWork } from "./order_work.ts";
import { joinBatch } from "../../domain/sending/order_states.ts";

/** The ledger lock is held while all that a payout carries is booked, so it is not too many. */
const MEMBERS_MAX = 25;

/** What came of a look at a new order: it is carried, or no longer new. */
export interface Joined {
  readonly order: OrderRow;
}

/**
 * Plans one transaction for a new withdrawal and others that wait beside it; with half as many where
 * that does not work.
 *
 * @returns null where the order goes alone
 */
export async function planPayout(work: OrderWork, order: OrderRow): Promise<Joined | null> {
  const { coins, paymentsMax } = work.chain.traits;
  if (!coins) return null;
  const full = Math.min(paymentsMax, MEMBERS_MAX);
  for (let most = full - 1; most > 0; most = Math.floor(most / 2)) {
    const mates = await matesOf(work, order, most);
    if (mates.length === 0) return null;
    const joined = await joinTogether(work, order, mates);
    if (joined !== null) return joined;
    most = mates.length;
  }
  return null;
}

/** Finds those that wait beside an order, as many as the sender's free coins can pay. */
async function matesOf(
  { context }: OrderWork,
  order: OrderRow,
  most: number,
): Promise<OrderRow[]> {
  const waiting = await reading(context.pool, async (db) => {
    const mates = await selectMates(db, order, most);
    const held = await signingHolds(db, context.actor.realm, mates);
    return mates.filter(({ id }) => !held.has(id));
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

/** Gives null if they cannot be paid together, or one of them is not what it was any more. */
async function joinTogether(
  work: OrderWork,
  order: OrderRow,
  mates: readonly OrderRow[],
): Promise<Joined | null> {
  const drafted = [order, ...mates].toSorted((one, other) => one.id < other.id ? -1 : 1);
  try {
    const wish = wishOf(drafted);
    const { pool, actor: { realm } } = work.context;
    const caps = await reading(pool, (db) => cappedBudgets(db, realm, drafted));
    const most = (one: OrderRow) => caps.get(one.id) ?? BigInt(one.budget!);
    const budget = `${drafted.reduce((sum, one) => sum + most(one), 0n)}`;
    const survey = await surveyFor(work, { ...order, wish, budget });
    await assertKnown(work, order, survey);
    await work.crossing("drafted");
    const joined = await work.context.step(async (tx): Promise<Joined | null> => {
      const members = await lockNewOrders(tx, drafted.map(({ id }) => id));
      const current = await lockInTurn(tx, work.turn);
      if (current.state === "new") {
        const asPriced = members.filter(({ speed }) => speed === order.speed);
        if (asPriced.length < drafted.length) return null;
        if ((await signingHolds(tx, work.context.actor.realm, members)).size > 0) return null;
        if (!await createPayout(work, tx, { members, wish, survey })) return null;
      }
      return { order: (await selectOrder(tx, order.id))! };
    });
    await work.crossing("planned");
    return joined;
  } catch (error) {
    const alone = error instanceof ChainError &&
      ["refused", "insufficient", "exceeded"].includes(error.fault);
    if (!alone) throw error;
    return null;
  }
}

/** Gives false where they cost less in a transaction each. */
async function createPayout(
  work: OrderWork,
  tx: Tx,
  of: { members: readonly OrderRow[]; wish: Wish & { kind: "pay" }; survey: Survey },
): Promise<boolean> {
  const { members, wish, survey } = of;
  const { place: { chain }, context } = work;
  const [first] = members;
  const coins = await coinsFor(work, tx, first, survey);
  const plan = work.chain.plan(survey.draft, { nonce: null, coins });
  if (plan.fee >= feeApart(survey.draft, plan)) return false;
  const id = await createOrder(tx, context.actor, {
    place: { chain, network: work.chain.network },
    ramp: first.ramp,
    purpose: "payout",
    subject: null,
    wish,
    speed: first.speed,
    cost: {
      charged: sumOf(members, "charged"),
      budget: sumOf(members, "budget"),
      contract: first.budget_contract,
    },
  });
  await keepPlan(work, tx, (await lockOrder(tx, id))!, plan, survey.head);
  await joinBatch(tx, members.map((member) => member.id), id);
  return true;
}

function sumOf(members: readonly OrderRow[], what: "charged" | "budget"): bigint {
  return members.reduce((sum, member) => sum + BigInt(member[what] ?? 0), 0n);
}

/** The least that the payments cost in a transaction each, which spend no fewer coins together. */
function feeApart({ fee }: Draft, plan: Plan): bigint {
  const count = plan.amounts.length;
  const inputs = Math.max(count, plan.claims.length);
  return feeOf({ ...fee, base: fee.base * BigInt(count) }, inputs, count);
}

function wishOf(members: readonly OrderRow[]): Wish & { kind: "pay" } {
  const wishes = members.map(({ wish }) => wish as unknown as Wish & { kind: "pay" });
  const payments = wishes.flatMap((wish) => wish.payments);
  return { kind: "pay", from: wishes[0].from, contract: wishes[0].contract, payments };
}
