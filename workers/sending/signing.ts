/** Signs the plans of chain orders, unless something holds the order. @module */
import { insertChange, selectAmounts } from "../../db/sending/utxos.ts";
import type { Db } from "../../db/database.ts";
import { selectDatabaseTime } from "../../db/health.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import { selectKeyPositions } from "../../db/accounts/ramps.ts";
import { isFound, markAttemptSigned, selectAttempts } from "../../db/sending/order_attempts.ts";
import { reading } from "../../db/transaction.ts";
import { type Network, scriptOf } from "../../domain/chains/addresses.ts";
import type { AttemptRow, OrderRow } from "../../domain/sending/chain_orders.ts";
import { markSigned } from "../../domain/sending/order_states.ts";
import { noteHold, signingHold, unplanOrder } from "../../domain/sending/signing_holds.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import { type Plan, readPlan, type Signed } from "../chains/outgoing.ts";
import { noteWaiting } from "../../domain/withdrawals/withdrawal_settlement.ts";
import { type OrderWork, Outdated, stepInTurn } from "./order_work.ts";
import { wakeBeside } from "./woken_orders.ts";

/**
 * Refuses to continue with an order that may not be signed now.
 *
 * @throws {ChainError} `held`
 */
export async function assertMaySign(
  db: Db,
  { actor }: WorkerContext,
  order: OrderRow,
): Promise<void> {
  const held = await signingHold(db, actor.realm, order);
  if (held !== null) throw new ChainError("held", held);
}

/** Gives the reason why this order, or any order, may not be signed now; null if it may. */
export async function holdOf(
  context: WorkerContext,
  order: OrderRow,
  cancels = false,
): Promise<string | null> {
  const { realm } = context.actor;
  const held = await reading(context.pool, (db) => signingHold(db, realm, order, cancels));
  return held ?? await context.signer.fault();
}

/**
 * Signs a plan and stores the bytes. Of two workers that sign at once the first to store wins. Holds are
 * read before the signature, and again under the ledger lock when the bytes are stored, so
 * that nothing is signed after a stop or a freeze was answered.
 *
 * @returns the order after that
 * @throws {ChainError} `held`
 */
export async function signPending(work: OrderWork, order: OrderRow): Promise<OrderRow> {
  const { context, onCheckpoint } = work;
  const all = await reading(context.pool, (db) => selectAttempts(db, order.id));
  const pending = all.find((one) => one.raw === null && !one.dropped);
  if (pending === undefined) return order;
  const held = await holdOf(context, order, pending.cancels);
  if (held !== null) return await holdBack(work, order, held);
  if (await isTooOld(work, pending)) return await giveUpPlan(work);
  const plan = readPlan(pending.plan);
  const signed = await sign(work, order, plan);
  await onCheckpoint("signed");
  const stored = await stepInTurn(work, async (tx, current) => {
    const stopped = await signingHold(tx, context.actor.realm, current, pending.cancels);
    if (stopped !== null) return stopped;
    const first = await markAttemptSigned(tx, { order: order.id, attempt: pending.attempt }, {
      hash: signed.hash,
      raw: signed.raw,
      expires: signed.expires,
      fee: signed.fee === undefined ? null : `${signed.fee}`,
    });
    if (!first && current.state === "planned") {
      throw new Outdated("the plan was given up meanwhile");
    }
    if (first && plan.change !== null) {
      await insertChange(tx, {
        chain: order.chain,
        network: order.network,
        hash: signed.hash,
        index: plan.change.index,
        address: plan.change.to,
        ramp: order.ramp,
        amount: `${plan.change.amount}`,
        parent_fee: `${plan.fee}`,
        parent_vsize: plan.vsize ?? null,
        created_at: context.actor.at,
      });
    }
    if (current.state !== "planned") return current;
    return await markSigned(tx, current, signed.hash);
  }, { lockLedger: true });
  if (typeof stored === "string") return await holdBack(work, order, stored);
  await onCheckpoint("stored");
  return stored;
}

/**
 * Tells whether a plan waited for so long that its transaction would expire too soon, after a stop of the
 * process for example, or while a node kept its answers back. By the database's clock, which dated the plan too.
 */
async function isTooOld(
  { context, chain }: OrderWork,
  { created_at }: AttemptRow,
): Promise<boolean> {
  const { validity } = chain.traits;
  if (validity === null) return false;
  const now = await reading(context.pool, selectDatabaseTime);
  return now - created_at > validity.signWithinMs;
}

/** Gives up a plan that was never signed: the order is new again, and planned at once. */
async function giveUpPlan(work: OrderWork): Promise<OrderRow> {
  return await stepInTurn(work, async (tx, current) => {
    await unplanOrder(tx, work.context.actor, current);
    return (await selectOrder(tx, current.id))!;
  });
}

/**
 * Leaves an order unsigned. The inputs of its plan are released, so that it delays no other order;
 * a replacement waits beside the sent attempt, which is followed as before.
 */
async function holdBack(work: OrderWork, order: OrderRow, reason: string): Promise<OrderRow> {
  if (order.state !== "planned") return await holdInTurn(work, reason);
  await stepInTurn(work, (tx, current) => unplanOrder(tx, work.context.actor, current));
  await wakeBeside(work.context, order);
  throw new ChainError("held", reason);
}

/** Records the reason why the order of a run waits. */
export async function holdInTurn(
  work: Pick<OrderWork, "context" | "turn">,
  reason: string,
): Promise<OrderRow> {
  return await stepInTurn(work, async (tx, { id }) => {
    const { actor } = work.context;
    const order = (await noteHold(tx, actor, id, reason))!;
    await noteWaiting(tx, actor, order, reason);
    return order;
  });
}

async function sign({ context, chain }: OrderWork, order: OrderRow, plan: Plan): Promise<Signed> {
  const rows = await reading(context.pool, (db) => selectKeyPositions(db, order, plan.signers));
  const network = order.network as Network;
  const paths = rows.map((row) => ({ chain: chain.id, network, ...row }));
  const store = { realm: context.realm.id, pool: context.pool };
  return await context.signer.withKeys(store, paths, (keys) => chain.sign(plan, keys));
}

/**
 * Converts the signed ones of some attempts of an order to the chain's form. Those that were found have no
 * plan: the amounts of their coins, which prove who spent these instead, are the stored ones.
 */
export async function signedAttempts(
  { context, chain }: OrderWork,
  order: OrderRow,
  attempts: readonly AttemptRow[],
): Promise<Signed[]> {
  const made: Signed[] = [];
  for (const attempt of attempts.filter(({ raw }) => raw !== null)) {
    const signed = signedOf(attempt);
    const of = { chain: order.chain, network: order.network, address: order.sender };
    made.push(isFound(attempt) ? await withAmounts(context, chain, of, signed) : signed);
  }
  return made;
}

/** Adds to bytes that were found the stored amounts of those coins that they spend of an address of ours. */
export async function withAmounts(
  { pool }: WorkerContext,
  chain: Chain,
  of: { chain: string; network: string; address: string },
  signed: Signed,
): Promise<Signed> {
  if (!chain.traits.coins) return signed;
  const inputs = await reading(pool, (db) => selectAmounts(db, of, signed.inputs));
  const script = await scriptOf(chain.id, of.network as Network, of.address);
  return { ...signed, body: JSON.stringify({ inputs, source: script.toHex() }) };
}

/** Converts a stored attempt to the chain's form. */
export function signedOf(attempt: AttemptRow): Signed {
  return {
    hash: attempt.hash!,
    raw: attempt.raw!,
    inputs: attempt.inputs,
    expires: attempt.expires as Signed["expires"],
    body: readPlan(attempt.plan).body,
    ...(attempt.fee === null ? {} : { fee: BigInt(attempt.fee) }),
  };
}
