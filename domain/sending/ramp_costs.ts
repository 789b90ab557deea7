/**
 * What the network may cost a ramp in a day (UTC): what the realm has set for the coin that pays, or
 * else a multiple of what users were charged for it, and an allowance on top. Beyond it nothing is
 * signed for the ramp's withdrawals until the next day, or until the realm sets more.
 * @module
 */
import type { Db, Tx } from "../../db/database.ts";
import { selectQuote } from "../../db/sending/fee_quotes.ts";
import { addRampCost, markRampHeld, selectRampCost } from "../../db/sending/ramp_costs.ts";
import type { Actor, RealmDefaults } from "../actor.ts";
import { allAssets, type ChainId, nativeAsset } from "../assets.ts";
import { emit } from "../events.ts";
import { feeUnits } from "./fees.ts";
import { fromUnits, toUnits } from "../money.ts";
import type { OrderRow } from "./chain_orders.ts";
import { isBorneByHouse } from "./token_gas.ts";
import { PURPOSE_RULES } from "./order_purposes.ts";

/** What users are charged may be spent so many times over. */
const CHARGED_FACTOR = 2n;
/** So many typical payments may cost the house in a day on top. */
const ALLOWANCE = 250n;
const REASON = "the network has cost the ramp";

/** Counts what an order that has ended cost its ramp, where it was not the ramp's account that paid. */
export async function noteRampCost(tx: Tx, order: OrderRow): Promise<void> {
  const { countsToRamp } = PURPOSE_RULES[order.purpose];
  if (!countsToRamp || order.height === null || order.fee === null) return;
  if (order.gas_block !== null && !await isBorneByHouse(tx, order)) return;
  const contract = order.fee_contract ?? "";
  const charged = (order.budget_contract ?? "") === contract ? await paidFor(tx, order) : "0";
  await addRampCost(tx, { ramp: order.ramp, contract, cost: order.fee, charged });
}

/**
 * What users have paid of an order that ended: what was charged, or all that it cost where it moved
 * nothing and its sender bears that. So nobody uses up the day of others by failing at his own cost.
 */
async function paidFor(tx: Tx, order: OrderRow): Promise<string> {
  if (order.state !== "failed" || order.charged === "0") return order.charged;
  return await isBorneByHouse(tx, order) ? "0" : order.fee!;
}

/**
 * Says why a withdrawal may not be signed today, because of what its ramp has spent already; null if
 * it may.
 *
 * @param asked the orders that are asked about together; they do not count themselves
 */
export async function costHold(
  db: Db,
  realm: RealmDefaults,
  order: OrderRow,
  asked: readonly OrderRow[],
): Promise<string | null> {
  if (order.purpose !== "withdrawal" || order.gas_block !== null) return null;
  const contract = order.budget_contract ?? "";
  const { chain, network, sender, ramp } = order;
  const without = asked.flatMap(({ id, batch_order_id }) =>
    batch_order_id === null ? [id] : [id, batch_order_id]
  );
  const spent = await selectRampCost(db, { ramp, chain, network, sender, contract, without });
  const payer = payerOf(chain as ChainId, order.budget_contract);
  const set = realm.withdrawals?.[payer.code]?.daily_cost;
  const most = set === undefined
    ? BigInt(spent.charged) * CHARGED_FACTOR + await allowanceOf(db, order)
    : toUnits(set, payer.decimals);
  if (BigInt(spent.cost) < most) return null;
  const [cost, limit] = [BigInt(spent.cost), most].map((units) => fromUnits(units, payer.decimals));
  return `${REASON} ${cost} ${payer.code} today, of ${limit}: it waits for the next day (UTC), or ` +
    "for a higher daily_cost";
}

/** Tells once a day that a ramp's limit is met. */
export async function tellCostHold(
  tx: Tx,
  actor: Actor,
  order: OrderRow,
  reason: string,
): Promise<void> {
  if (!reason.startsWith(REASON)) return;
  const contract = order.budget_contract ?? "";
  if (!await markRampHeld(tx, { ramp: order.ramp, contract })) return;
  const view = { ramp: order.ramp, chain: order.chain, network: order.network, reason };
  await emit(tx, actor, "ramp.cost_limited", { id: order.ramp, owner: null, view });
}

async function allowanceOf(db: Db, order: OrderRow): Promise<bigint> {
  const { chain, network, contract } = order;
  const quote = await selectQuote(db, { chain, network, contract, speed: "medium" });
  return quote === null ? 0n : feeUnits(quote, { payments: 1, inputs: 1n }) * ALLOWANCE;
}

/** The asset that pays: the chain's own coin, or a token that pays its own fee. */
function payerOf(chain: ChainId, contract: string | null): { code: string; decimals: number } {
  if (contract === null) return nativeAsset(chain);
  const token = allAssets().find((one) => one.chain === chain && one.contract === contract);
  return token ?? nativeAsset(chain);
}
