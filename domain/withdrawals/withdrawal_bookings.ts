/**
 * Bookings of the ends of withdrawals. Those of withdrawals that end together are collected, and posted together: all
 * moves of one type at once.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { WithdrawalRow } from "../../db/withdrawals/withdrawals.ts";
import type { Actor } from "../actor.ts";
import type { ChainAsset } from "../chains/onchain_assets.ts";
import { counterparty, type InternalMove, postMoves } from "../ledger/posting.ts";
import { add, compare, fromUnits, isNegative, negate, subtract, toUnits } from "../money.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { mostKept } from "../sending/cost_budget.ts";

/** A chain's fee and whether it was paid in the asset itself. */
export interface Cost {
  /** Whole units of the asset, or of its gas coin. */
  amount: string;
  own: boolean;
}

/** A withdrawal that ends, with what its order cost; null where the chain took nothing. */
export interface Ending {
  row: WithdrawalRow;
  asset: ChainAsset;
  cost: Cost | null;
}

/** The types of moves that ends of withdrawals book. */
export type BookingType = "fee" | "withdrawal" | "return";

/** In this order: what a fee moves into a ramp may leave it with the rest. */
const TYPES: readonly BookingType[] = ["fee", "withdrawal", "return"];

/** The account `world` and the account `fees` of an asset. */
export interface SystemAccounts {
  world: string;
  fees: string;
}

/** Moves that were collected and are not posted yet. */
export interface Bookings {
  readonly moves: Readonly<Record<BookingType, InternalMove[]>>;
  /** Of each asset that was asked for. */
  readonly accounts: Map<string, SystemAccounts>;
}

/** Begins to collect bookings. */
export function newBookings(): Bookings {
  return { moves: { fee: [], withdrawal: [], return: [] }, accounts: new Map() };
}

/** Posts what was collected, in a transaction that holds the ledger lock. One refusal refuses all. */
export async function postBookings(tx: LedgerTx, actor: Actor, { moves }: Bookings): Promise<void> {
  for (const type of TYPES) {
    await postMoves(tx, actor, moves[type], { force: type !== "return" }); // users cancel as well
  }
}

/** Adds a move of a withdrawal; none of nothing. */
function book(
  { moves }: Bookings,
  row: WithdrawalRow,
  move: { type: BookingType; from: string; to: string; amount: string },
): void {
  const { type, from, to, amount } = move;
  if (compare(amount, "0") === 0) return;
  const data = { withdrawal: row.id };
  moves[type].push({ type, source: from, destination: to, amount, data });
}

/**
 * Adds the bookings of a payment: ramp → world with the chain's fee; the rest of the fee is earned, and what others paid
 * of the amount.
 *
 * @param of.others what others paid, in whole units; nothing unless given
 */
export async function bookSent(
  tx: LedgerTx,
  actor: Actor,
  to: Bookings,
  { row, asset, cost, others = "0" }: Ending & { cost: Cost; others?: string },
): Promise<void> {
  const { world, fees } = await systemAccountsOf(tx, actor, to, { row, asset });
  const { ramp } = row;
  const earned = cost.own ? subtract(row.fee, cost.amount) : row.fee;
  book(
    to,
    row,
    isNegative(earned)
      ? { type: "fee", from: fees, to: ramp, amount: negate(earned) }
      : { type: "fee", from: ramp, to: fees, amount: earned },
  );
  const paid = subtract(row.amount, others);
  book(to, row, { type: "withdrawal", from: ramp, to: world, amount: paid });
  book(to, row, { type: "fee", from: ramp, to: fees, amount: others });
  if (cost.own) book(to, row, { type: "fee", from: ramp, to: world, amount: cost.amount });
}

/** Adds the bookings of a payment that another transaction made, which `fees` bears: it gets the amount and the fee. */
export async function bookPaidElsewhere(
  tx: LedgerTx,
  actor: Actor,
  to: Bookings,
  of: { row: WithdrawalRow; asset: ChainAsset },
): Promise<void> {
  const { fees } = await systemAccountsOf(tx, actor, to, of);
  const { row } = of;
  book(to, row, { type: "fee", from: row.ramp, to: fees, amount: add(row.amount, row.fee) });
}

/**
 * Adds the bookings of a failed transaction that cost a fee. The sender bears it up to the charge, unless the
 * house had canceled the payment. A fee in another coin is converted as it was at the charge.
 */
export async function bookFailed(
  tx: LedgerTx,
  actor: Actor,
  to: Bookings,
  { row, asset, cost, isHouseCost }: Ending & { cost: Cost; isHouseCost: boolean },
): Promise<void> {
  const kept = isHouseCost ? "0" : keptOf(row, cost, asset);
  bookReturn(to, row, subtract(row.charged, kept));
  const { world, fees } = await systemAccountsOf(tx, actor, to, { row, asset });
  const { ramp } = row;
  // Coins beside a token are booked already.
  if (!cost.own) return book(to, row, { type: "fee", from: ramp, to: fees, amount: kept });
  book(to, row, { type: "fee", from: fees, to: ramp, amount: subtract(cost.amount, kept) });
  book(to, row, { type: "fee", from: ramp, to: world, amount: cost.amount });
}

/** Adds the return of a part of a charge. */
export function bookReturn(to: Bookings, row: WithdrawalRow, amount: string): void {
  if (row.account === row.ramp) return;
  book(to, row, { type: "return", from: row.ramp, to: row.account, amount });
}

/** Computes the chain's fee of a withdrawal, in whole units. */
export function costOf(row: WithdrawalRow, order: OrderRow, asset: ChainAsset): Cost {
  const own = (order.fee_contract ?? "") === (row.contract ?? "");
  const decimals = own ? asset.decimals : asset.gas.decimals;
  return { amount: fromUnits(BigInt(order.fee ?? "0"), decimals), own };
}

/**
 * The part of the charge that a failed transaction costs its sender, in whole units of the asset: never more than the
 * sender's own bound.
 */
function keptOf(row: WithdrawalRow, cost: Cost, asset: ChainAsset): string {
  const most = mostKept(row);
  const worth = cost.own ? cost.amount : convertedAsCharged(row, cost, asset);
  return compare(worth, most) < 0 ? worth : most;
}

/** Converts a cost in coins at the ratio of fee to gas that the user was charged; rounded up. */
function convertedAsCharged(row: WithdrawalRow, cost: Cost, asset: ChainAsset): string {
  const { decimals, gas } = asset;
  if (row.gas === null || compare(row.gas, "0") === 0) return row.fee;
  const above = toUnits(cost.amount, gas.decimals) * toUnits(row.fee, decimals);
  const below = toUnits(row.gas, gas.decimals);
  return fromUnits((above + below - 1n) / below, decimals);
}

/** Finds the system accounts of an asset, once for all withdrawals that end together. */
async function systemAccountsOf(
  tx: LedgerTx,
  actor: Actor,
  { accounts }: Bookings,
  of: { row: WithdrawalRow; asset: ChainAsset },
): Promise<SystemAccounts> {
  const { row, asset: { decimals, token } } = of;
  // A token of the realm's own is one currency, wherever its contract lives.
  const testnet = token === null && row.network !== "main";
  const key = `${row.asset} ${testnet}`;
  const known = accounts.get(key);
  if (known !== undefined) return known;
  const asset = { code: row.asset, decimals, testnet };
  const found = {
    world: await counterparty(tx, actor, "world", asset),
    fees: await counterparty(tx, actor, "fees", asset),
  };
  accounts.set(key, found);
  return found;
}
