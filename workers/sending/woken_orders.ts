/** Orders that wait for value, and are tried at once when some has come. @module */
import { markWaitingDue } from "../../db/sending/waiting_orders.ts";
import { writing } from "../../db/transaction.ts";
import type { OrderRow, PaymentRequest } from "../../domain/sending/chain_orders.ts";
import type { WorkerContext } from "../worker_context.ts";

/**
 * Orders of an address that are tried when value has come there, and seconds that each rests after its last try: anybody
 * may send dust every second. Each order that ends lets as many others try.
 */
const WOKEN_MAX = 25;
const REST_S = 15;

/**
 * Makes orders due that wait for value, where some has come to addresses, or is free there again. One that this does not
 * reach, as the process ends for example, is tried after its pause.
 */
export async function wakeWaiting(
  { pool }: Pick<WorkerContext, "pool">,
  place: { chain: string; network: string },
  addresses: readonly string[],
): Promise<void> {
  if (addresses.length === 0) return;
  const of = {
    senders: [...new Set(addresses)],
    most: WOKEN_MAX,
    seconds: REST_S,
  };
  await writing(pool, (db) => markWaitingDue(db, place, of));
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
