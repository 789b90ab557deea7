/** Orders whose jobs were lost. @module */
import type { Tx } from "../../db/database.ts";
import { selectForgottenOrders } from "../../db/sending/chain_orders.ts";
import type { Actor } from "../actor.ts";
import { scheduleOrders } from "./chain_orders.ts";

/** Seconds without a run after which an order has lost its job, and is scheduled again. */
const FORGOTTEN_S = 900;

/** Schedules the orders again whose jobs were lost. Returns their number. */
export async function reviveOrders(tx: Tx, actor: Actor): Promise<number> {
  const ids = await selectForgottenOrders(tx, FORGOTTEN_S);
  await scheduleOrders(tx, actor, ids);
  return ids.length;
}
