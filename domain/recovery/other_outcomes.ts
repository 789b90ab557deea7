/**
 * Orders that have ended with a transaction in a block, which the chain has lost since, and whose transaction did something
 * else in another block: one that failed has succeeded, or the reverse. Nothing is booked, as the next reorganisation may
 * turn it round: their users and an operator are told, and the ramp goes into quarantine.
 * @module
 */
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Tx } from "../../db/database.ts";
import {
  type DisplacedRow,
  forgetSeenAgain,
  lockDisplaced,
  markReturned,
} from "../../db/recovery/displaced_orders.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import type { Actor } from "../actor.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { isUnsettled, type News, tell } from "./displaced_orders.ts";
import { paidBy } from "./payers.ts";

/** A block that has a transaction of an order whose own the chain had lost. */
export interface SeenAgain {
  /** The transaction that the order had ended with. */
  hash: string;
  seen: string;
  height: number;
}

/**
 * Tells that a block has a transaction of an order that is done, and that it failed there. Where its loss was told before,
 * nothing is told now.
 *
 * @returns the reason of the quarantine; null where nothing was told
 */
export async function tellFailed(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  again: SeenAgain,
): Promise<string | null> {
  const row = await lockDisplaced(tx, again.hash);
  if (row === null || !isUnsettled(row, again.height)) return null;
  if (row.state !== "lost") {
    if (row.seen_height !== null) await forgetSeenAgain(tx, row.hash, row.seen_height);
    return null;
  }
  const order = (await selectOrder(tx, row.order))!;
  const withdrawals = await paidBy(tx, order);
  const what = `${again.seen} failed in block ${again.height}, where it had succeeded before`;
  return await tell(tx, actor, place, [{
    ...newsOf(order, row, withdrawals),
    state: "displaced",
    seen: null,
    what,
    so: withdrawals.length > 0
      ? `no transaction pays ${withdrawals.join(", ")}, which is done`
      : `what order ${order.id} (${order.purpose}) has booked did not happen`,
    entry: {
      ...{ hash: again.seen, paid: false, block: again.height },
      reason: `${what}: no transaction pays it`,
    },
  }]);
}

/**
 * Tells that a block has the transaction of an order that has failed with it, and that it succeeded there. Where that was
 * told last, nothing is told now.
 *
 * @returns the reason of the quarantine; null where nothing was told
 */
export async function tellSucceeded(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  again: SeenAgain,
): Promise<string | null> {
  const row = await lockDisplaced(tx, again.hash);
  if (row === null || !isUnsettled(row, again.height)) return null;
  if (row.told === "succeeded") {
    await markReturned(tx, again, "succeeded");
    return null;
  }
  const order = (await selectOrder(tx, row.order))!;
  const withdrawals = await paidBy(tx, order);
  const what = `${again.seen} succeeded in block ${again.height}, where it had failed before`;
  return await tell(tx, actor, place, [{
    ...newsOf(order, row, withdrawals),
    state: "succeeded",
    seen: { hash: again.seen, height: again.height },
    what,
    so: withdrawals.length > 0
      ? `it pays ${withdrawals.join(", ")}, which has failed, beside what was given back`
      : `order ${order.id} (${order.purpose}), which has failed, did what it was to do, and nothing is booked of that`,
    entry: {
      ...{ hash: again.seen, paid: true, block: again.height },
      reason: `${what}: it is paid by it, beside what was given back`,
    },
  }]);
}

/**
 * Tells that the transaction of an order that has failed does nothing after all: it failed again, or no block has it any
 * more. Where nobody was told that it had succeeded, nothing is told now either.
 *
 * @param again the block in which it failed; null where no block has it
 * @returns the reason of the quarantine; null where nothing was told
 */
export async function tellFailedAgain(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  hash: string,
  again: SeenAgain | null,
): Promise<string | null> {
  const row = await lockDisplaced(tx, hash);
  if (row === null) return null;
  const height = again?.height ?? row.seen_height;
  if (again === null ? row.state !== "lost" || height !== null : !isUnsettled(row, again.height)) {
    return null;
  }
  if (row.told !== "succeeded") {
    if (again !== null) await markReturned(tx, again);
    return null;
  }
  const order = (await selectOrder(tx, row.order))!;
  const withdrawals = await paidBy(tx, order);
  const what = again === null
    ? `the chain has lost ${hash}, which had succeeded`
    : `${again.seen} failed again in block ${again.height}`;
  return await tell(tx, actor, place, [{
    ...newsOf(order, row, withdrawals),
    state: "returned",
    seen: again === null ? null : { hash: again.seen, height: again.height },
    what,
    so: withdrawals.length > 0
      ? `it does not pay ${withdrawals.join(", ")}, beside whatever was done about that`
      : `order ${order.id} (${order.purpose}) did nothing, beside whatever was done about that`,
    entry: { hash, paid: false, reason: `${what}: it is not paid by it` },
  }]);
}

function newsOf(
  { id, ramp }: OrderRow,
  { hash, since, lost_height }: DisplacedRow,
  withdrawals: readonly string[],
): Omit<News, "state" | "seen" | "what" | "so" | "entry"> {
  return { hash, order: id, ramp, by: null, since, lost_height, withdrawals };
}
