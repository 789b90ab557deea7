/**
 * Sweeps on chains with nonces that were sent, and for which another sweep of their account has left nothing: that one
 * was given up, and was mined all the same. Nobody can pay for them, and they would wait until the next deposit.
 * @module
 */
import { type EmptiedRow, selectEmptied } from "../../db/deposits/emptied_sweeps.ts";
import { reading } from "../../db/transaction.ts";
import { TOP_UPS_MAX, topUpEmptied } from "../../domain/deposits/emptied_sweeps.ts";
import { WAITS } from "../../domain/deposits/sweeps.ts";
import { DomainError } from "../../domain/errors.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { noteError } from "../../domain/sending/order_states.ts";
import type { Plan } from "../chains/outgoing.ts";
import { type OrderWork, stepInTurn } from "./order_work.ts";
import { priorOf } from "./replacements.ts";

/**
 * Decides about a sent order that it is a sweep for which nothing is left: `cancel` where nothing takes its place yet,
 * `wait` where gas for that is on its way; null for any other order, and where its address can pay for it.
 */
export async function endOfEmptied(
  work: OrderWork,
  order: OrderRow,
): Promise<"cancel" | "wait" | null> {
  const { context, chain, handlers } = work;
  if (chain.nonces === null || !handlers[order.purpose].failsEmptied) return null;
  const emptied = await reading(context.pool, (db) => selectEmptied(db, order));
  if (emptied === null) return null;
  const prior = await priorOf(work, order);
  if (prior === null || prior.attempt.raw === null) return null;
  const lacking = await lackingFor(work, order, prior.plan);
  if (lacking === 0n) return null;
  if (!prior.attempt.cancels) return "cancel";
  await topUp(work, order, emptied, { units: lacking, contract: prior.plan.feeContract });
  return "wait";
}

/** What the sender lacks for a plan, of the asset that pays its fee, as the nodes agree on it. */
async function lackingFor(
  { chain }: OrderWork,
  { sender }: OrderRow,
  { order, amounts, fee, feeContract }: Plan,
): Promise<bigint> {
  const moved = order.kind === "pay" && order.contract === feeContract ? amounts : [];
  const needed = moved.reduce((sum, amount) => sum + amount, fee);
  const { height } = await chain.head();
  const held = await chain.balance({ address: sender, contract: feeContract }, height);
  return held < needed ? needed - held : 0n;
}

async function topUp(
  work: OrderWork,
  order: OrderRow,
  { topping, top_ups }: EmptiedRow,
  gas: { units: bigint; contract: string | null },
): Promise<void> {
  if (topping || top_ups >= TOP_UPS_MAX) return;
  const { actor } = work.context;
  try {
    await stepInTurn(work, (tx, current) => topUpEmptied(tx, actor, current, gas), {
      lockLedger: true,
    });
  } catch (error) {
    if (!(error instanceof DomainError) || !WAITS.has(error.code)) throw error;
    await stepInTurn(work, (tx) => noteError(tx, order.id, error.message));
  }
}
