/**
 * Limits of a ramp's network costs in a day (UTC): the realm's setting for the coin that pays, or
 * else a multiple of the charges to users, and an allowance on top. Beyond the limit nothing is
 * signed for the ramp's withdrawals until the next day, or until the realm raises the limit.
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

/** Multiple of the charges to users that may be spent. */
const CHARGED_FACTOR = 2n;
/** Typical payments that the house bears in a day on top. */
const ALLOWANCE = 250n;
const REASON = "the network has cost the ramp";

/** Adds the cost of an ended order to its ramp's day, unless the ramp's account paid it. */
export async function noteRampCost(tx: Tx, order: OrderRow): Promise<void> {
  const { countsToRamp } = PURPOSE_RULES[order.purpose];
  if (!countsToRamp || order.height === null || order.fee === null) return;
  if (order.gas_block !== null && !await isBorneByHouse(tx, order)) return;
  const contract = order.fee_contract ?? "";
  const charged = (order.budget_contract ?? "") === contract ? await paidFor(tx, order) : "0";
  await addRampCost(tx, { ramp: order.ramp, contract, cost: order.fee, charged });
}

/**
 * The part of an ended order that users have paid: the charge, or the cost within its budget where it
 * moved nothing and its sender bears that. So no customer uses up the day of others by failures at its
 * own cost.
 */
async function paidFor(tx: Tx, order: OrderRow): Promise<string> {
  if (order.state !== "failed" || order.charged === "0") return order.charged;
  if (await isBorneByHouse(tx, order)) return "0";
  const { budget, fee } = order;
  return budget !== null && BigInt(budget) < BigInt(fee!) ? budget : fee!;
}

/**
 * Gives the reason why a withdrawal may not be signed today because of its ramp's costs; null if
 * it may.
 *
 * @param asked the orders that are checked together; they do not count themselves
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

/** Emits an event once a day when a ramp's limit is reached. */
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

/** Gives the asset that pays: the chain's own coin, or a token that pays its own fee. */
function payerOf(chain: ChainId, contract: string | null): { code: string; decimals: number } {
  if (contract === null) return nativeAsset(chain);
  const token = allAssets().find((one) => one.chain === chain && one.contract === contract);
  return token ?? nativeAsset(chain);
}
