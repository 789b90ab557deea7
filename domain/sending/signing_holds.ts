/**
 * Signing holds: reasons that keep a worker from signing an order. They are quarantines, stops, frozen
 * accounts, suspended assets, insolvency, and orders that differ from their request. They are checked
 * when an order is planned and again when its bytes are stored. A held order waits until no hold is
 * left, or is canceled. Signed bytes continue to be sent.
 * @module
 */
import type { Db, Tx } from "../../db/database.ts";
import { lockOrder } from "../../db/sending/chain_orders.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import { selectSigning, type SigningRow } from "../../db/stops/stops.ts";
import type { Actor, RealmDefaults } from "../actor.ts";
import { type ChainId, findAsset, nativeAsset, takesWithdrawals } from "../assets.ts";
import { findUnjustified } from "./order_reasons.ts";
import { type OrderRow, releaseInputs, renewOrder, undoBatch } from "./chain_orders.ts";
import { isOpen, noteError } from "./order_states.ts";
import { costHold, tellCostHold } from "./ramp_costs.ts";
import { PURPOSE_RULES } from "./order_purposes.ts";

/**
 * Gives the reason why an order may not be signed now; null if it may. A batch is held with any of the
 * withdrawals that it pays.
 *
 * @param cancels whether it is a replacement that moves nothing; only holds of its ramp apply to that
 */
export async function signingHold(
  db: Db,
  realm: RealmDefaults,
  order: OrderRow,
  cancels = false,
): Promise<string | null> {
  const { isBatch } = PURPOSE_RULES[order.purpose];
  const paying = isBatch ? await selectBatched(db, order.id) : [];
  const orders = paying.length > 0 ? paying : [order]; // one that was found may pay none
  const [held] = (await signingHolds(db, realm, orders, cancels)).values();
  return held ?? null;
}

/** Gives the reasons why some orders may not be signed now, by their ids. */
export async function signingHolds(
  db: Db,
  realm: RealmDefaults,
  orders: readonly OrderRow[],
  cancels = false,
): Promise<Map<string, string>> {
  if (orders.length === 0) return new Map();
  const named = orders.map(({ id, chain }) => {
    return { id, coin: nativeAsset(chain as ChainId).code, cancels };
  });
  const rows = await selectSigning(db, named);
  const holds = new Map(rows.flatMap((row) => {
    const reason = reasonOf(row);
    return reason === null ? [] : [[row.id, reason] as const];
  }));
  for (const [id, why] of await findUnjustified(db, orders)) if (!holds.has(id)) holds.set(id, why);
  if (cancels) return holds;
  // All leave by the same ramp, so a hold of one of them holds all.
  const costly = await costHold(db, realm, orders[0], orders);
  if (costly === null) return holds;
  for (const { id } of orders) if (!holds.has(id)) holds.set(id, costly);
  return holds;
}

function reasonOf(row: SigningRow): string | null {
  if (row.quarantined !== null) return `chain.quarantined: ${row.quarantined}`;
  if (row.stop !== null) return `stop ${row.stop} is in force: nothing is signed`;
  if (row.frozen !== null) return `the ${row.frozen} is frozen`;
  const asset = row.asset === null ? null : findAsset(row.asset);
  const suspended = asset !== null &&
    (row.purpose === "withdrawal" ? !takesWithdrawals(asset) : asset.state === "suspended");
  if (suspended) return `${asset.code} is suspended: ${asset.reason ?? "by the operator"}`;
  if (!row.insolvent) return null;
  return `less of ${row.asset} is on the chain than is owed: withdrawals wait for the operator`;
}

/**
 * Releases the plan of an order that may not be signed: its coins are free for others, its nonce is
 * filled. A batch is dissolved, and each of its withdrawals is sent alone.
 *
 * @returns whether it has no plan left
 */
export async function unplanOrder(tx: Tx, actor: Actor, given: OrderRow): Promise<boolean> {
  const { isBatch, isReplanned } = PURPOSE_RULES[given.purpose];
  if (isBatch) return await undoBatch(tx, actor, given.id);
  const order = await lockOrder(tx, given.id);
  if (order?.state !== "planned" || !isReplanned) return false;
  await releaseInputs(tx, actor, order);
  await renewOrder(tx, actor, order, { proof: "unsigned", by: null, height: null });
  return true;
}

/** Records why an order waits. Gives the order as it is now. */
export async function noteHold(
  tx: Tx,
  actor: Actor,
  id: string,
  reason: string,
): Promise<OrderRow | null> {
  const order = await lockOrder(tx, id);
  if (order === null || !isOpen(order)) return order;
  const noted = await noteError(tx, order.id, reason);
  await tellCostHold(tx, actor, order, reason);
  return noted;
}
