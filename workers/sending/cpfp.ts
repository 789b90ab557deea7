/**
 * Child pays for parent (CPFP), for chains without replacement: spends the output of a stuck sweep
 * back to the ramp, at a fee that pays for both transactions.
 * @module
 */
import { insertChange } from "../../db/sending/utxos.ts";
import { lockOrder, selectCpfp } from "../../db/sending/chain_orders.ts";
import { isFound, selectAttempts } from "../../db/sending/order_attempts.ts";
import { reading } from "../../db/transaction.ts";
import {
  createOrder,
  type OrderRow,
  type PaymentRequest,
} from "../../domain/sending/chain_orders.ts";
import { ChainError } from "../chains/chain.ts";
import { type Coin, type Plan, readPlan } from "../chains/outgoing.ts";
import { keepPlan, quoteFor } from "./planning.ts";
import { type OrderWork, stepInTurn } from "./order_work.ts";
import { noteError } from "../../domain/sending/order_states.ts";

/** Creates a CPFP order for a stuck sweep: once, and only if that raises its fee rate. */
export async function createCpfp(work: OrderWork, parent: OrderRow): Promise<void> {
  const { context, chain, handlers } = work;
  if (!chain.traits.coins || !handlers[parent.purpose].paysRamp) return;
  if (await reading(context.pool, (db) => selectCpfp(db, parent.id)) !== null) return;
  try {
    await planCpfp(work, parent);
  } catch (error) {
    if (!(error instanceof ChainError) || error.fault === "unavailable") throw error;
    const why = `no child pays for it: ${error.message}`;
    await stepInTurn(work, (tx) => noteError(tx, parent.id, why));
  }
}

async function planCpfp(work: OrderWork, parent: OrderRow): Promise<void> {
  const { context, chain } = work;
  const [{ to }] = (parent.request as unknown as PaymentRequest & { kind: "pay" }).payments;
  const payments = [{ to, amount: "all" }];
  const request: PaymentRequest = { kind: "pay", from: to, contract: null, payments };
  const quote = await quoteFor(work, {
    ramp: parent.ramp,
    sender: to,
    contract: "",
    request: request as unknown as Record<string, unknown>,
    speed: "fast",
    budget: null,
    budget_contract: null,
  });
  await work.onCheckpoint("drafted");
  await stepInTurn(work, async (tx, current) => {
    if (current.state !== "sent") return;
    if (await selectCpfp(tx, parent.id) !== null) return;
    const made = (await selectAttempts(tx, parent.id)).find((one) => one.hash === current.hash);
    if (made === undefined || made.dropped || isFound(made)) return;
    const coin = coinOf(readPlan<Plan>(made.plan), made.hash!, to);
    const alone = { ...coin, height: quote.head, parent: null };
    const plan = chain.plan(quote.draft, { coins: [coin] });
    // The sweep already pays this rate, so its fee is not the reason why it waits.
    if (plan.fee <= chain.plan(quote.draft, { coins: [alone] }).fee) return;
    await insertChange(tx, {
      chain: current.chain,
      network: current.network,
      hash: coin.hash,
      index: coin.index,
      address: to,
      ramp: current.ramp,
      amount: `${coin.amount}`,
      parent_fee: `${coin.parent!.fee}`,
      parent_vsize: coin.parent!.vsize,
      created_at: context.actor.at,
    });
    const id = await createOrder(tx, context.actor, {
      place: { chain: chain.id, network: chain.network },
      ramp: current.ramp,
      purpose: "cpfp",
      reference_id: parent.id,
      request,
      speed: "fast",
    });
    await keepPlan(work, tx, (await lockOrder(tx, id))!, plan, quote);
  });
  await work.onCheckpoint("planned");
}

/** Gives the output of a sweep as a future coin. */
function coinOf(plan: Plan, hash: string, address: string): Coin & { parent: object } {
  return {
    hash,
    index: plan.outputs![0],
    address,
    amount: plan.amounts[0],
    height: null,
    parent: { fee: plan.fee, vsize: plan.vsize! },
  };
}
