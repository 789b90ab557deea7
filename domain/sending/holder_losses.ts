/**
 * Limits of the house's losses by one customer. A withdrawal may cost a multiple of its charge, and
 * the destination's own code decides how much of that it takes; so a customer could cost the house
 * enough to stop the withdrawals of all. The house bears up to a quarter of its leeway for one
 * customer, and up to a half for all customers together. Beyond that, a withdrawal of the customer is
 * signed only where it costs no more than its charge. Users who were made by a customer count as that
 * customer.
 * @module
 */
import type { Db } from "../../db/database.ts";
import { selectQuote } from "../../db/sending/fee_quotes.ts";
import { type HolderLossRow, selectHolderLosses } from "../../db/sending/holder_losses.ts";
import type { RealmDefaults } from "../actor.ts";
import { feeUnits } from "./fees.ts";
import { toUnits } from "../money.ts";
import type { OrderRow } from "./chain_orders.ts";
import { lossMaxOf } from "../withdrawal_settings.ts";

/** Days over which a customer's costs and charges are netted. */
const DAYS = 30;
/** One customer's part of the house's leeway before withdrawals stop: this number of payments, */
const PAYMENTS = 25n;
/** or this part of the realm's setting. */
const PART = 4n;
/** The limit for all customers together is this many times as much. */
const TOGETHER = 2n;

/** Why a withdrawal waits that would cost more than its charge. */
export const BORNE: string =
  "the network has cost the house too much for this customer, or for all of them together: it goes on" +
  " once it costs no more than was charged, or is canceled";

/**
 * Gives reduced budgets for withdrawals of customers who have cost the house too much: by the ids of
 * their orders, in base units. An order that is not named keeps its own budget.
 */
export async function cappedBudgets(
  db: Db,
  realm: RealmDefaults,
  orders: readonly OrderRow[],
): Promise<Map<string, bigint>> {
  const paying = orders.filter(({ purpose, gas_block }) =>
    purpose === "withdrawal" && gas_block === null
  );
  const caps = new Map<string, bigint>();
  if (paying.length === 0) return caps;
  const rows = await selectHolderLosses(db, paying.map(({ id }) => id), DAYS);
  const bounds = new Map<string, Awaited<ReturnType<typeof boundOf>>>(); // nearly always a single one
  for (const row of rows) {
    const key = `${row.chain} ${row.network} ${row.contract} ${row.asset}`;
    const { most, slack } = bounds.get(key) ?? await boundOf(db, realm, row);
    bounds.set(key, { most, slack });
    const over = BigInt(row.lost) > most || BigInt(row.all_lost) > most * TOGETHER;
    if (over) caps.set(row.id, BigInt(row.charged) + slack);
  }
  return caps;
}

async function boundOf(
  db: Db,
  realm: RealmDefaults,
  row: HolderLossRow,
): Promise<{ most: bigint; slack: bigint }> {
  const { chain, network, contract, asset, decimals } = row;
  const place = { chain, network, contract: contract ?? "" };
  const quote = await selectQuote(db, { ...place, speed: "medium" });
  const slack = quote === null || BigInt(quote.per_input) === 0n ? 0n : 2n * BigInt(quote.least);
  const set = lossMaxOf(realm.withdrawals, { asset, testnet: network !== "main" });
  if (set !== null) return { most: toUnits(set, decimals) / PART, slack };
  if (quote === null) return { most: 0n, slack };
  return { most: feeUnits(quote, { payments: 1, inputs: 1n }) * PAYMENTS, slack };
}
