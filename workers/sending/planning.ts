/**
 * Planning of orders: a node tries and prices an order, then the plan is stored together with
 * the inputs that it reserves, so that no other order can use them.
 * @module
 */
import { type CoinRow, COINS_MAX, lockFreeCoins } from "../../db/sending/utxos.ts";
import type { Tx } from "../../db/database.ts";
import { selectDatabaseTime } from "../../db/health.ts";
import { takeNonce } from "../../db/sending/nonces.ts";
import { sumInFlight } from "../../db/sending/chain_orders.ts";
import {
  insertAttempt,
  insertReservedInputs,
  selectAttempts,
} from "../../db/sending/order_attempts.ts";
import { reading } from "../../db/transaction.ts";
import { BORNE, cappedBudgets } from "../../domain/sending/holder_losses.ts";
import type { OrderRow, PaymentRequest } from "../../domain/sending/chain_orders.ts";
import { ChainError } from "../chains/chain.ts";
import {
  type Budget,
  type Coin,
  type Draft,
  type Inputs,
  type Plan,
  type SendRequest,
  writePlan,
} from "../chains/outgoing.ts";
import type { Balances } from "../chains/observations.ts";
import type { WorkerContext } from "../worker_context.ts";
import { assertKnown } from "./found_transactions.ts";
import { assertMaySign } from "./signing.ts";
import { type OrderWork, stepInTurn } from "./order_work.ts";
import { planBeside, rivalsOf } from "./rivals.ts";
import { needsConsolidation } from "./waiting_orders.ts";
import { assertToken } from "../tokens/token_verification.ts";
import { selectAccount } from "../../db/accounts/accounts.ts";
import { findAsset } from "../../domain/assets.ts";
import { markPlanned, noteReplacement } from "../../domain/sending/order_states.ts";
import { PURPOSE_RULES } from "../../domain/sending/order_purposes.ts";

/** Answers of the nodes for a plan. */
export interface Quote {
  readonly draft: Draft;
  readonly head: number;
  /** Transactions of the sender that are mined; null on chains without nonces. */
  readonly mined: number | null;
  /** The sender's balances of the moved asset and of the chain's own coin; null on UTXO chains. */
  readonly held: Balances | null;
  /** When it was asked for by the database's clock; null where nothing that is signed expires. */
  readonly askedAt: number | null;
}

/** The reason why an order ends before anything is reserved. */
export interface Refusal {
  readonly refused: string;
  /** The fault code that callers see, where there is one. */
  readonly fault: OrderRow["fault"];
}

/**
 * Plans a new order. An order that cannot work is refused before anything is reserved; an order that only
 * lacks funds waits.
 *
 * @throws {ChainError} `insufficient` while the sender has too little, `refused` above a price cap, `held`
 *   where the house bears no further cost for the customer
 */
export async function planOrder(
  work: OrderWork,
  order: OrderRow,
): Promise<{ order: OrderRow } | Refusal> {
  const { context } = work;
  const caps = await reading(context.pool, (db) => cappedBudgets(db, context.actor.realm, [order]));
  const cap = caps.get(order.id);
  let quote: Quote;
  try {
    quote = await quoteFor(work, cap === undefined ? order : { ...order, budget: `${cap}` });
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    if (error.fault === "exceeded" && cap !== undefined) throw new ChainError("held", BORNE);
    const fails = error.fault === "refused" || error.fault === "exceeded" ||
      await isEmptied(work, order, error);
    if (!fails) throw error;
    return refusalOf(error);
  }
  await work.onCheckpoint("drafted");
  await assertKnown(work, order, quote);
  try {
    const planned = await stepInTurn(work, async (tx, current) => {
      if (current.state !== "new") return current;
      await assertMaySign(tx, work.context, current);
      const inputs = await availableInputs(work, tx, current, quote);
      const rivals = await rivalsOf(work, tx, { orders: [current], head: quote.head });
      const plan = planBeside(rivals, inputs, (some) => makePlan(work, quote.draft, some));
      if (!PURPOSE_RULES[current.purpose].fillsNonce) await assertFunded(tx, current, quote, plan);
      return await keepPlan(work, tx, current, plan, quote);
    });
    await work.onCheckpoint("planned");
    return { order: planned };
  } catch (error) {
    const exceeded = error instanceof ChainError && error.fault === "exceeded";
    if (exceeded && cap !== undefined) throw new ChainError("held", BORNE);
    if (exceeded) return refusalOf(error);
    if (!(error instanceof ChainError)) throw error;
    const fails = work.handlers[order.purpose].failsUnplanned
      ? error.fault !== "unavailable" && error.fault !== "held"
      : await isEmptied(work, order, error);
    if (!fails) throw error;
    return refusalOf(error);
  }
}

/** Whether an order that was signed before finds less than it was to move: one of its own that was given up may have. */
async function isEmptied(
  { context, handlers }: OrderWork,
  order: OrderRow,
  error: ChainError,
): Promise<boolean> {
  if (error.fault !== "insufficient" || !handlers[order.purpose].failsEmptied) return false;
  const made = await reading(context.pool, (db) => selectAttempts(db, order.id));
  return made.some(({ raw }) => raw !== null);
}

function refusalOf(error: ChainError): Refusal {
  return { refused: error.message, fault: error.fault === "exceeded" ? "fee_exceeded" : null };
}

/**
 * Makes the nodes try and price an order; nothing is reserved.
 *
 * @throws {ChainError} `refused` if it would fail, `insufficient` while the sender has too little,
 * `exceeded` if it would cost more than its budget
 */
export async function quoteFor(
  { context, chain }: OrderWork,
  order: Pick<
    OrderRow,
    "request" | "speed" | "sender" | "ramp" | "contract" | "budget" | "budget_contract"
  >,
): Promise<Quote> {
  const askedAt = chain.traits.validity === null
    ? null
    : await reading(context.pool, selectDatabaseTime);
  await assertToken(context, chain, order.contract);
  const request = await orderOf(context, order);
  const draft = await chain.draft(request, order.speed, budgetOf(order));
  assertPaid(draft);
  const head = await chain.head();
  const nonces = await chain.nonces?.count(order.sender);
  const contracts = [...new Set([order.contract, draft.fee.contract ?? ""])];
  const held = chain.traits.coins ? null : await chain.funds(
    contracts.map((contract) => ({ address: order.sender, contract: contract || null })),
  );
  return { draft, head: head.height, mined: nonces?.mined ?? null, held, askedAt };
}

/**
 * Makes sure that the payer holds the fee of a draft.
 *
 * @throws {ChainError} `insufficient`
 */
export function assertPaid({ lacking, feePayer }: Draft): void {
  if (lacking === 0n) return;
  throw new ChainError("insufficient", `${feePayer} lacks ${lacking} for the fee`);
}

async function availableInputs(
  work: OrderWork,
  tx: Tx,
  order: OrderRow,
  quote: Quote,
): Promise<Inputs> {
  if (work.chain.nonces === null) return { coins: await coinsFor(work, tx, order, quote) };
  if (PURPOSE_RULES[order.purpose].fillsNonce) {
    return order.nonce === null ? {} : { nonce: order.nonce };
  }
  const mined = quote.mined ?? 0;
  const nonce = await takeNonce(tx, order, mined);
  if (nonce === null) throw suspectNonce(order, mined);
  return { nonce };
}

/**
 * Makes the error for a sender with more mined transactions than this database made: the node errs, or
 * somebody else has the key. A count proves nothing, so no order is planned on it; the block that
 * shows such a transaction puts the ramp into quarantine.
 */
function suspectNonce({ sender }: OrderRow, mined: number): ChainError {
  const why = `a node counts ${mined} transactions of ${sender}, more than were made here`;
  return new ChainError("unavailable", why);
}

/** Reads and locks the coins that an order may spend. */
export async function coinsFor(
  work: OrderWork,
  tx: Tx,
  order: OrderRow,
  { head, draft }: Quote,
): Promise<readonly Coin[]> {
  if (!work.chain.traits.coins) return [];
  const settled = head - work.context.chains.depth(work.place) + 1;
  const of = { chain: order.chain, network: order.network, address: order.sender, head, settled };
  const { selectInputs } = work.handlers[order.purpose];
  const rows = selectInputs === undefined
    ? await lockFreeCoins(tx, of, COINS_MAX)
    : await selectInputs(tx, order, { ...of, perInput: `${draft.fee.perInput}` });
  return rows.map(coinOf);
}

/** Converts a stored coin to the chain's form. */
export function coinOf(coin: CoinRow): Coin {
  return {
    hash: coin.hash,
    index: coin.index,
    address: coin.address,
    amount: BigInt(coin.amount),
    height: coin.height,
    parent: coin.height === null && coin.parent_fee !== null && coin.parent_vsize !== null
      ? { fee: BigInt(coin.parent_fee), vsize: coin.parent_vsize }
      : null,
  };
}

/**
 * Makes a plan. Where the largest coins do not suffice and there may be more, its error advises a
 * consolidation.
 */
function makePlan({ chain }: OrderWork, draft: Draft, inputs: Inputs): Plan {
  try {
    return chain.plan(draft, inputs);
  } catch (error) {
    const many = error instanceof ChainError && error.fault === "insufficient" &&
      inputs.coins?.length === COINS_MAX && !needsConsolidation(error);
    if (!many) throw error;
    const why =
      `${error.message}; no more than ${COINS_MAX} coins are spent at once: consolidate them`;
    throw new ChainError("insufficient", why);
  }
}

/** Refuses an order whose sender's balance is already due to other orders on their way. */
async function assertFunded(
  tx: Tx,
  order: OrderRow,
  { draft, held }: Quote,
  plan: Plan,
): Promise<void> {
  if (held === null) return;
  const contracts = [...new Set([order.contract, draft.fee.contract ?? ""])];
  const moved = plan.amounts.reduce((sum, amount) => sum + amount, 0n);
  for (const [at, contract] of contracts.entries()) {
    const since = { height: held.height, waiting: false };
    const flying = BigInt(await sumInFlight(tx, { ...order, contract }, since));
    const needed = (contract === order.contract ? moved : 0n) +
      (contract === (plan.feeContract ?? "") ? plan.fee : 0n);
    const there = contract === order.contract && draft.held !== undefined &&
        draft.held < held.amounts[at]
      ? draft.held
      : held.amounts[at];
    if (flying > 0n && flying + needed > there) {
      const what = contract || "coins";
      throw new ChainError("insufficient", `other orders of ${order.sender} come first: ${what}`);
    }
  }
}

/**
 * Stores a plan of an order, and reserves its inputs.
 *
 * @throws {ChainError} `unavailable` if another order has reserved some of them
 */
export async function keepPlan(
  { context, chain, handlers }: OrderWork,
  tx: Tx,
  order: OrderRow,
  plan: Plan,
  { head, askedAt }: Pick<Quote, "head" | "askedAt">,
): Promise<OrderRow> {
  const attempts = await selectAttempts(tx, order.id);
  await handlers[order.purpose].admitPlan?.(tx, context.actor, order, plan);
  if (!await insertReservedInputs(tx, order, plan.inputs, context.actor.at)) {
    throw new ChainError("unavailable", "another order has reserved an input of it");
  }
  await insertAttempt(tx, {
    order_id: order.id,
    attempt: attempts.length + 1,
    plan: writePlan(plan),
    inputs: [...plan.inputs],
    // Whoever signs it asks whether it is too old: by the database's clock, and nodes may keep answers back.
    created_at: askedAt ?? context.actor.at,
  });
  const claimed = chain.nonces === null ? null : plan.inputs[0].split(":").at(-1)!;
  const columns = {
    nonce: claimed === null ? null : parseInt(claimed, 10),
    since: order.since ?? (order.state === "new" ? head : null),
    // One that was found may move another asset than its ramp's.
    amount: plan.amounts.length === 0 || order.purpose === "recovered"
      ? order.amount
      : `${leaving(plan)}`,
    fee: `${plan.fee}`,
    fee_contract: plan.feeContract,
    creates: plan.creates,
  };
  return order.state === "new"
    ? await markPlanned(tx, order, columns)
    : await noteReplacement(tx, order.id, columns);
}

/** Sums the payments to other addresses, in base units. */
function leaving({ order, amounts }: Plan): bigint {
  if (order.kind !== "pay") return 0n;
  const gone = amounts.filter((_, at) => order.payments[at].to !== order.from);
  return gone.reduce((sum, amount) => sum + amount, 0n);
}

/** The most that an order may cost; null where only the market limits it. */
export function budgetOf(order: Pick<OrderRow, "budget" | "budget_contract">): Budget | null {
  if (order.budget === null) return null;
  return { contract: order.budget_contract, units: BigInt(order.budget) };
}

/** Converts a stored request to the chain's form. */
async function orderOf(
  context: WorkerContext,
  of: Pick<OrderRow, "request" | "ramp">,
): Promise<SendRequest> {
  const request = of.request as unknown as PaymentRequest;
  switch (request.kind) {
    case "pay":
      return {
        ...request,
        payments: request.payments.map(({ to, amount }) => ({
          to,
          amount: amount === "all" ? "all" : BigInt(amount),
        })),
      };
    case "deploy":
      return { ...request, token: { ...request.token, supply: BigInt(request.token.supply) } };
    case "noop": {
      // A ramp of a token that pays its own fees may never have had a coin.
      const ramp = await reading(context.pool, (db) => selectAccount(db, of.ramp));
      return { ...request, contract: findAsset(ramp?.asset ?? "")?.contract ?? null };
    }
  }
}
