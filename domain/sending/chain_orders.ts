/**
 * Chain orders: transactions to be sent on a chain, from the request to their end. The database
 * transaction that causes an order inserts it, and a worker advances it in runs. Each schedule raises
 * the order's schedule version, and a run with an older version does nothing.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { deleteUnmadeCoins, selectDependants } from "../../db/sending/utxos.ts";
import type { Db, Tx } from "../../db/database.ts";
import { insertJob } from "../../db/jobs.ts";
import {
  insertOrder,
  lockOrder,
  nextScheduleVersion,
  nextScheduleVersions,
  type OrderRow,
  selectOrder,
} from "../../db/sending/chain_orders.ts";
import {
  deleteReservedInputs,
  type DropProof,
  insertReservedInputs,
  markAttemptsDropped,
  selectAttemptSummaries,
  selectReservedInputs,
} from "../../db/sending/order_attempts.ts";
import { selectSeenOwn } from "../../db/sending/late_attempts.ts";
import { selectWaiting } from "../../db/sending/nonces.ts";
import { selectDependantOrders } from "../../db/sending/unsent_bytes.ts";
import type { Actor } from "../actor.ts";
import { newId } from "../ids.ts";
import { enqueueAll, jobOf } from "../jobs.ts";
import type { ChainNetwork } from "../chains/networks.ts";
import {
  isOpen,
  leaveBatch,
  markCanceled,
  requestReplacement,
  restartOrder,
} from "./order_states.ts";
import { holdGas, passGasOn } from "./token_gas.ts";
import { PURPOSE_RULES } from "./order_purposes.ts";
import type { Speed } from "../speeds.ts";

export { type OrderRow } from "../../db/sending/chain_orders.ts";
export { type AttemptRow, type DropProof } from "../../db/sending/order_attempts.ts";

/**
 * The payment or other effect of an order; amounts are base units as text, addresses in canonical
 * form.
 */
export type PaymentRequest =
  | {
    kind: "pay";
    from: string;
    /** The token's contract; null is the chain's own coin. */
    contract: string | null;
    /** "all" is the whole balance of the sender, less the fee where the fee is paid in it. */
    payments: { to: string; amount: string }[];
    /** The address that pays the fee, where the chain allows another than the sender. */
    feePayer?: string;
    /** Whether token accounts that it empties stay open. */
    closesNothing?: boolean;
  }
  | {
    kind: "deploy";
    from: string;
    token: { name: string; symbol: string; decimals: number; supply: string };
  }
  | { kind: "noop"; from: string };

/** A request for an order. */
export interface NewOrder {
  place: ChainNetwork;
  /** The ramp account below which the sender's key lies. */
  ramp: string;
  purpose: OrderRow["purpose"];
  /** The entity that it is for, which follows its progress. */
  reference_id: string | null;
  request: PaymentRequest;
  speed: Speed;
  /** The nonce that it must use. */
  nonce?: number;
  /**
   * Its charge to users and its budget (null: only the market limits it); without, the house bears
   * the cost.
   */
  cost?: Omit<OrderCost, "budget"> & { budget: bigint | null };
}

/** The charge of an order to users, and its budget. */
export interface OrderCost {
  /** Base units. */
  charged: bigint;
  /** Base units. */
  budget: bigint;
  /** The asset of both; null is the chain's own coin. */
  contract: string | null;
}

/** The schedule version of an order's first run. */
const FIRST_VERSION = 1;

/** Inserts an order that blocks no gas, and schedules its first run after the commit. */
export async function createOrder(
  tx: Tx,
  actor: Actor,
  order: NewOrder & { gas?: never },
): Promise<string> {
  return await addOrder(tx, actor, order, { id: newId(actor.at), gas_block: null });
}

/**
 * Inserts an order as {@link createOrder} does, and blocks its gas on the account of its ramp.
 *
 * @param order.gas the amount to block, in base units of the chain's own coin; nothing unless given
 * @throws {DomainError} ramp.gas_insufficient
 */
export async function createOrderWithGas(
  tx: LedgerTx,
  actor: Actor,
  { gas, ...order }: NewOrder & { gas?: bigint },
): Promise<string> {
  const id = newId(actor.at);
  const gas_block = gas === undefined
    ? null
    : await holdGas(tx, actor, { order: id, ramp: order.ramp, units: gas });
  return await addOrder(tx, actor, order, { id, gas_block });
}

async function addOrder(
  tx: Tx,
  actor: Actor,
  order: NewOrder,
  { id, gas_block }: { id: string; gas_block: string | null },
): Promise<string> {
  const { request, place } = order;
  await insertOrder(tx, {
    id,
    chain: place.chain,
    network: place.network,
    ramp: order.ramp,
    purpose: order.purpose,
    reference_id: order.reference_id,
    sender: request.from,
    request: request as unknown as Record<string, unknown>,
    contract: request.kind === "pay" ? request.contract ?? "" : "",
    amount: amountOf(request),
    speed: order.speed,
    schedule_version: FIRST_VERSION,
    nonce: order.nonce ?? null,
    charged: `${order.cost?.charged ?? 0n}`,
    budget: order.cost?.budget?.toString() ?? null,
    budget_contract: order.cost?.contract ?? null,
    gas_block,
    created_at: actor.at,
  }, runOf(actor, id, FIRST_VERSION));
  return id;
}

/** Makes the job of one run of an order. */
function runOf(actor: Actor, id: string, version: number, runAt?: number) {
  const dedupe = `${id} ${version}`;
  return jobOf(actor, "order.advance", { order: id, version }, { dedupe, runAt });
}

function amountOf(request: PaymentRequest): string | null {
  if (request.kind !== "pay") return "0";
  if (request.payments.some((payment) => payment.amount === "all")) return null;
  return `${request.payments.reduce((sum, payment) => sum + BigInt(payment.amount), 0n)}`;
}

/** Schedules a run of an order, at once or later. Runs that were scheduled before do nothing. */
export async function scheduleOrder(
  tx: Tx,
  actor: Actor,
  id: string,
  runAt?: number,
): Promise<void> {
  const version = await nextScheduleVersion(tx, id);
  if (version === null) return;
  await insertJob(tx, runOf(actor, id, version, runAt));
}

/** Schedules runs of orders at once, with as many statements for all of them as for one. */
export async function scheduleOrders(tx: Tx, actor: Actor, ids: readonly string[]): Promise<void> {
  const runs = (await nextScheduleVersions(tx, ids)).map(({ id, schedule_version: version }) => ({
    payload: { order: id, version },
    dedupe: `${id} ${version}`,
  }));
  await enqueueAll(tx, actor, "order.advance", runs);
}

/** Schedules the next run of an order, unless another was scheduled since this one. */
export async function rescheduleOrder(
  tx: Tx,
  actor: Actor,
  seen: { order: string; version: number },
  runAt: number,
): Promise<void> {
  const order = await lockOrder(tx, seen.order);
  if (order === null || order.schedule_version !== seen.version || !isOpen(order)) return;
  await scheduleOrder(tx, actor, order.id, runAt);
}

/**
 * Cancels an order none of whose bytes was sent, and fills the nonce that it had taken. A batch
 * that carries it is dissolved, and its other orders are scheduled again.
 *
 * @param how.orphans whether also where other orders spend its outputs: they are made anew then
 * @returns the order as it is now; null if bytes may have been sent, or it has ended
 */
export async function cancelOrder(
  tx: LedgerTx,
  actor: Actor,
  id: string,
  how: Orphans = {},
): Promise<OrderRow | null> {
  // The batch is locked before its members, here as everywhere.
  const batch = (await selectOrder(tx, id))?.batch_order_id ?? null;
  if (batch !== null && !await undoBatch(tx, actor, batch, how)) return null;
  const order = await lockOrder(tx, id);
  const withdrawn = order === null ? null : await withdrawBytes(tx, actor, order, how);
  if (withdrawn === null) return null;
  await passGasOn(tx, actor, withdrawn.order, withdrawn.fill);
  return withdrawn.order;
}

/**
 * Dissolves a batch none of whose bytes can be mined: its members are new again. It has no gas
 * blocked.
 */
export async function undoBatch(
  tx: Tx,
  actor: Actor,
  id: string,
  how: Orphans = {},
): Promise<boolean> {
  const batch = await lockOrder(tx, id);
  if (batch === null || await withdrawBytes(tx, actor, batch, how) === null) return false;
  await scheduleOrders(tx, actor, await leaveBatch(tx, id));
  return true;
}

/** Whether {@link cancelOrder} would cancel an order now, as far as its rows tell without a lock. */
export async function mayCancelOrder(db: Db, order: OrderRow): Promise<boolean> {
  const { batch_order_id } = order;
  const paying = batch_order_id === null ? order : await selectOrder(db, batch_order_id);
  return paying !== null && await hashesToWithdraw(db, paying) !== null;
}

/**
 * Lists the open orders that spend outputs of an order's transactions, or of what spends these, where none of its own
 * bytes was sent; null where some may have been.
 */
export async function dependantsOf(db: Db, order: OrderRow): Promise<OrderRow[] | null> {
  const { batch_order_id } = order;
  const paying = batch_order_id === null ? order : await selectOrder(db, batch_order_id);
  const made = paying === null ? null : await hashesNotSent(db, paying);
  return made === null ? null : await selectDependantOrders(db, order, made);
}

/** Whether an order is canceled whose outputs other orders spend. */
export interface Orphans {
  /** False unless given. */
  readonly orphans?: boolean;
}

async function hashesNotSent(db: Db, order: OrderRow): Promise<string[] | null> {
  if (!["new", "planned", "signed"].includes(order.state)) return null;
  const living = (await selectAttemptSummaries(db, order.id)).filter((one) => !one.dropped);
  if (living.some((one) => one.sent_at !== null)) return null;
  const made = living.flatMap(({ hash }) => hash ?? []);
  // Somebody else has sent what a scanned block shows.
  return made.length > 0 && await selectSeenOwn(db, order.id) !== null ? null : made;
}

/**
 * Gives the hashes of an order's transactions that would never be sent if it were canceled; null if it cannot be,
 * because bytes may have been sent or other orders spend its outputs.
 */
async function hashesToWithdraw(db: Db, order: OrderRow): Promise<string[] | null> {
  const made = await hashesNotSent(db, order);
  if (made === null) return null;
  return made.length > 0 && await selectDependants(db, order, made) ? null : made;
}

/**
 * Cancels a locked order, unless bytes may have been sent or other orders spend its outputs.
 *
 * @returns the order after that, and the order that fills its nonce
 */
async function withdrawBytes(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  { orphans = false }: Orphans,
): Promise<{ order: OrderRow; fill: string | null } | null> {
  const made = orphans ? await hashesNotSent(tx, order) : await hashesToWithdraw(tx, order);
  if (made === null) return null;
  if (made.length > 0) await deleteUnmadeCoins(tx, order, made);
  // What a plan had taken is free for others, whom its last run wakes.
  if (order.state !== "new") await scheduleOrder(tx, actor, order.id);
  const canceled = await markCanceled(tx, order);
  return { order: canceled, fill: await releaseInputs(tx, actor, canceled) };
}

/**
 * Restarts an order all of whose transactions are proven never to be mined. The members of a batch
 * are scheduled one by one.
 */
export async function renewOrder(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  proof: DropProof,
): Promise<void> {
  const made = (await selectAttemptSummaries(tx, order.id)).flatMap(({ hash }) => hash ?? []);
  await restartOrder(tx, order, proof);
  await deleteUnmadeCoins(tx, order, made);
  await deleteReservedInputs(tx, order.id);
  if (PURPOSE_RULES[order.purpose].isBatch) await undoBatch(tx, actor, order.id);
}

/**
 * Gives up the bytes of a signed order, which were never sent, because a transaction that was found spent
 * inputs of all of them: only that one can be mined. The ramp is in quarantine.
 */
export async function yieldOrder(
  tx: Tx,
  order: Pick<OrderRow, "id" | "chain" | "network">,
  { hash, height }: { hash: string; height: number },
): Promise<void> {
  const made = (await selectAttemptSummaries(tx, order.id)).flatMap((one) => one.hash ?? []);
  await markAttemptsDropped(tx, order.id, { proof: "consumed", by: hash, height });
  await deleteUnmadeCoins(tx, order, made);
  await deleteReservedInputs(tx, order.id);
}

/**
 * Releases the inputs that an order had reserved. An unused nonce blocks all later ones, so a
 * filler takes it if a transaction was signed with it, or an order waits behind it.
 *
 * @returns the order that fills it, if there is one
 */
export async function releaseInputs(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
): Promise<string | null> {
  const inputs = await selectReservedInputs(tx, order.id);
  await deleteReservedInputs(tx, order.id);
  const { fillsNonce } = PURPOSE_RULES[order.purpose];
  const used = order.height !== null || order.state === "dropped" || fillsNonce;
  if (order.nonce === null || used || inputs.length === 0) return null;
  const signed = (await selectAttemptSummaries(tx, order.id)).some(({ hash }) => hash !== null);
  if (!signed && !await selectWaiting(tx, order)) return null; // the next plan takes it
  return await fillNonce(tx, actor, order, order.nonce);
}

/** Orders a transaction without value that uses up a nonce. Gives its id. */
export async function fillNonce(
  tx: Tx,
  actor: Actor,
  beside: Pick<OrderRow, "chain" | "network" | "ramp" | "sender">,
  nonce: number,
): Promise<string> {
  const place = { chain: beside.chain, network: beside.network } as ChainNetwork;
  const id = await createOrder(tx, actor, {
    place,
    ramp: beside.ramp,
    purpose: "fill",
    reference_id: null,
    request: { kind: "noop", from: beside.sender },
    speed: "medium",
    nonce,
  });
  await insertReservedInputs(tx, { id, ...place }, [`${beside.sender}:${nonce}`], actor.at);
  return id;
}

/**
 * Requests a replacement of the sent transaction at another speed. If a batch carries the order, the
 * whole batch is replaced.
 *
 * @returns the order as it is now; null if it is mined or has ended
 */
export async function speedUpOrder(
  tx: Tx,
  actor: Actor,
  id: string,
  speed: Speed,
): Promise<OrderRow | null> {
  const batch = (await selectOrder(tx, id))?.batch_order_id ?? null;
  const order = await lockOrder(tx, batch ?? id);
  if (order === null || !isOpen(order) || order.state === "mined") return null;
  const replaced = await requestReplacement(tx, order, speed);
  await scheduleOrder(tx, actor, order.id);
  return replaced;
}
