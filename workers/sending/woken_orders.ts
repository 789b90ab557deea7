/** Orders that wait for value, and are tried at once when some has come. @module */
import {
  markRunningWoken,
  markWaitingDue,
  selectDueTime,
  selectSendersPaidBy,
} from "../../db/sending/waiting_orders.ts";
import { reading, writing } from "../../db/transaction.ts";
import { chainInfo } from "../../domain/assets.ts";
import type { ChainId } from "../../domain/chain_registry.ts";
import {
  type OrderRow,
  type PaymentRequest,
  rescheduleOrder,
} from "../../domain/sending/chain_orders.ts";
import type { WorkerContext } from "../worker_context.ts";
import type { Turn } from "./order_work.ts";

/**
 * Orders of an address that are tried when value has come there, and seconds that each rests after its last try: anybody
 * may send dust every second. Each order that ends lets as many others try.
 */
const WOKEN_MAX = 25;
const REST_S = 15;

/**
 * Makes orders due that wait for value, where some has come to addresses, or is free there again; also those of other
 * addresses whose fees these pay. One that this does not reach, as the process ends for example, is tried after its pause.
 */
export async function wakeWaiting(
  { pool }: Pick<WorkerContext, "pool">,
  place: { chain: string; network: string },
  addresses: readonly string[],
): Promise<void> {
  if (addresses.length === 0) return;
  const payers = [...new Set(addresses)];
  const paidFor = chainInfo(place.chain as ChainId).feePayers
    ? await reading(pool, (db) => selectSendersPaidBy(db, place, { payers, most: WOKEN_MAX }))
    : [];
  const of = {
    senders: [...new Set([...payers, ...paidFor])],
    most: WOKEN_MAX,
    seconds: REST_S,
  };
  // First those that run: each reads the note as it schedules its next run, or that is scheduled by then.
  await writing(pool, (db) => markRunningWoken(db, place, of));
  await writing(pool, (db) => markWaitingDue(db, place, of));
}

/** Reads what a run of an order that may wait for value compares at its end; null of any other order. */
export async function wakeNoteOf(
  { pool }: Pick<WorkerContext, "pool">,
  { state }: OrderRow,
  turn: Turn,
): Promise<string | null> {
  return state === "new" ? await reading(pool, (db) => selectDueTime(db, turn)) : null;
}

/**
 * Schedules the next run of an order after a pause; after the shortest where value has come since the run began.
 *
 * @param note as {@link wakeNoteOf} read it when the run began
 */
export async function rescheduleWaiting(
  { actor, step }: Pick<WorkerContext, "actor" | "step">,
  turn: Turn,
  { note, delayMs }: { note: string | null; delayMs: number },
): Promise<void> {
  await step(async (tx) => {
    const asks = note !== null && delayMs > REST_S * 1000;
    const isWoken = asks && await selectDueTime(tx, turn) !== note;
    await rescheduleOrder(tx, actor, turn, Date.now() + (isWoken ? REST_S * 1000 : delayMs));
  });
}

/** Makes orders due that wait for what an order has brought to an address of ours, or no longer takes. */
export async function wakeBeside(
  context: Pick<WorkerContext, "pool">,
  ended: Pick<OrderRow, "chain" | "network" | "sender" | "request">,
): Promise<void> {
  const request = ended.request as unknown as PaymentRequest;
  const paid = request.kind === "pay" ? request.payments.map(({ to }) => to) : [];
  await wakeWaiting(context, ended, [ended.sender, ...paid]);
}
