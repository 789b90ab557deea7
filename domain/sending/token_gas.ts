/**
 * Gas of tokens of the realm's own. Their issuer sets their price, so a fee counted in such
 * a token pays for nothing, and the coins at their ramp's address cover the claims of others. The
 * account of that ramp therefore pays the gas: the budget of an order and the gas that it sends ahead
 * are blocked there when the order is made, and its cost is charged when it ends. Nothing is sent if
 * the account does not cover it.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import { closeBlock, closeBlocks, insertBlock, selectBlock } from "../../db/ledger/blocks.ts";
import type { Tx } from "../../db/database.ts";
import type { OrderRow } from "../../db/sending/chain_orders.ts";
import { type AttemptRow, selectAttemptSummaries } from "../../db/sending/order_attempts.ts";
import { selectGasAhead } from "../../db/deposits/sweeps.ts";
import { selectSponsored } from "../../db/withdrawals/withdrawals.ts";
import { availableOf } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { type Asset, findAsset } from "../assets.ts";
import type { ChainAsset } from "../chains/onchain_assets.ts";
import { DomainError } from "../errors.ts";
import { newId } from "../ids.ts";
import { counterparty, postMove } from "../ledger/posting.ts";
import { compare, fromUnits } from "../money.ts";
import { rightsOf } from "../permissions.ts";
import { type Raise, raiseBudget } from "./order_states.ts";

/** Pause before a retry beyond the daily limit; each further day permits more. */
const SPONSORED_RETRY_S = 3_600;

/** An order whose gas a ramp's account pays. */
export interface Holding {
  /** The order's id. */
  order: string;
  ramp: string;
  /** The most that it may cost, in base units of the chain's own coin. */
  units: bigint;
}

/**
 * Blocks the budget of an order on a ramp's account. The transaction holds the ledger lock.
 *
 * @returns the block; null for the ramp of a token, whose coins belong to no account in the
 *   ledger
 * @throws {DomainError} ramp.gas_insufficient
 */
export async function holdGas(tx: LedgerTx, actor: Actor, of: Holding): Promise<string | null> {
  const ramp = await selectAccount(tx, of.ramp);
  const coin = ramp === null ? null : coinOf(ramp);
  if (ramp === null || coin === null) return null;
  const amount = fromUnits(of.units, coin.decimals);
  if (compare(availableOf(ramp), amount) < 0) {
    const why = `the ramp's own account does not cover the gas: up to ${amount} ${coin.code}`;
    throw new DomainError("ramp.gas_insufficient", why);
  }
  return await blockFor(tx, actor, { account: ramp.id, order: of.order, amount });
}

/**
 * Blocks more for an order with a higher budget. The transaction holds the ledger lock.
 *
 * @param budget the budget in base units of the chain's own coin
 * @returns the changed columns of the order
 * @throws {DomainError} ramp.gas_insufficient
 */
export async function raiseGas(
  tx: LedgerTx,
  actor: Actor,
  order: OrderRow,
  budget: bigint,
): Promise<Raise> {
  const held = order.gas_block === null ? null : await selectBlock(tx, order.ramp, order.gas_block);
  const ramp = held === null ? null : await selectAccount(tx, order.ramp);
  const coin = ramp === null ? null : coinOf(ramp);
  if (held === null || coin === null) return {};
  if (compare(held.amount, fromUnits(budget, coin.decimals)) >= 0) return {};
  await closeBlock(tx, held.id);
  const raised = { order: order.id, ramp: order.ramp, units: budget };
  return { gas_block: await holdGas(tx, actor, raised) };
}

/** Releases the block of an order that has ended. The transaction holds the ledger lock. */
export async function releaseGas(tx: LedgerTx, order: OrderRow): Promise<void> {
  if (order.gas_block !== null) await closeBlock(tx, order.gas_block);
}

/** Releases the blocks of orders that have ended. The transaction holds the ledger lock. */
export async function releaseAllGas(tx: LedgerTx, orders: readonly OrderRow[]): Promise<void> {
  const held = orders.flatMap(({ gas_block }) => gas_block ?? []);
  if (held.length > 0) await closeBlocks(tx, held);
}

/**
 * Releases the block of a canceled order. If that leaves a nonce to be filled, the gas is
 * blocked for the filler, which the ramp's account pays for too, unless the house canceled the order.
 *
 * @param fill the order that fills the nonce
 */
export async function passGasOn(
  tx: LedgerTx,
  actor: Actor,
  order: OrderRow,
  fill: string | null,
): Promise<void> {
  const held = order.gas_block === null ? null : await closeBlock(tx, order.gas_block);
  if (held === null || fill === null || rightsOf(actor).write === "all") return;
  const { account, amount } = held;
  const gas_block = await blockFor(tx, actor, { account, order: fill, amount });
  await raiseBudget(tx, fill, { gas_block });
}

/**
 * Charges the ramp's account for the gas that the account `fees` bore for an order of a token of the
 * realm's own, as far as the account covers it; its block covers it. Gas that was sent ahead is
 * charged in full, because it lies where only that token can use it, if ever; a sweep that it pays for
 * costs no more. The house pays for orders that it canceled. The transaction holds the ledger lock.
 */
export async function chargeTokenGas(tx: LedgerTx, actor: Actor, order: OrderRow): Promise<void> {
  await releaseGas(tx, order);
  if (order.height === null || order.fee === null || order.fee_contract !== null) return;
  const counted = order.gas_block !== null || order.contract !== "" || order.purpose === "gas";
  if (!counted || await isBorneByHouse(tx, order)) return;
  const ramp = await selectAccount(tx, order.ramp);
  const coin = ramp === null ? null : coinOf(ramp);
  if (ramp === null || coin === null) return;
  const { code, decimals } = coin;
  const cost = await costOf(tx, order);
  const spent = fromUnits(cost < 0n ? -cost : cost, decimals);
  const free = availableOf({ ...ramp, frozen: false });
  const amount = cost > 0n && compare(free, spent) < 0 ? free : spent;
  if (compare(amount, "0") <= 0) return;
  const fees = await counterparty(tx, actor, "fees", { code, decimals, testnet: ramp.testnet });
  const move = cost < 0n
    ? { type: "return" as const, source: fees, destination: ramp.id, amount }
    : { type: "fee" as const, source: ramp.id, destination: fees, amount };
  await postMove(tx, actor, { ...move, data: { order: order.id } }, { force: true });
}

/**
 * Computes the cost of an order to the ramp's address for its token alone, in base units: below 0 if the rent of
 * the accounts that a sweep closed is more than its fee.
 */
async function costOf(tx: Tx, order: OrderRow): Promise<bigint> {
  const fee = BigInt(order.fee!);
  if (order.purpose === "gas") return fee + BigInt(order.state === "done" ? order.amount! : 0);
  if (order.purpose !== "sweep") return fee;
  const ahead = BigInt(await selectGasAhead(tx, order));
  return (ahead < fee ? fee - ahead : 0n) - BigInt(order.refund);
}

/** Whether the mined transaction of an order is a cancellation for the house's own reasons. */
export async function isBorneByHouse(tx: Tx, order: OrderRow): Promise<boolean> {
  return isHouseCost(order, await selectAttemptSummaries(tx, order.batch_order_id ?? order.id));
}

/** {@link isBorneByHouse}, of the attempts that were made for the order. */
export function isHouseCost(
  { hash: mined }: OrderRow,
  made: readonly Pick<AttemptRow, "hash" | "borne_by">[],
): boolean {
  return made.find(({ hash }) => hash === mined)?.borne_by === "house";
}

/**
 * Tells whether others pay for a token's withdrawal that costs its user nothing: the ramp's account
 * for a token of the realm's own, else the house.
 *
 * @throws {DomainError} rate.limited where they have paid for too many today
 */
export async function sponsorshipOf(
  tx: Tx,
  of: { ramp: string; sender: string; user: string | null; asset: ChainAsset; fee: string },
): Promise<boolean> {
  const { asset: { contract, token }, fee } = of;
  if (fee !== "0" || contract === null) return false;
  const { sponsored, may } = await selectSponsored(tx, { ...of, own: token !== null });
  if (!sponsored || may) return sponsored;
  const why = "too many withdrawals of today cost their users nothing, because the token has no" +
    " known worth";
  throw new DomainError("rate.limited", why, { retryAfterS: SPONSORED_RETRY_S });
}

async function blockFor(
  tx: LedgerTx,
  actor: Actor,
  { account, order, amount }: { account: string; order: string; amount: string },
): Promise<string> {
  const block = await insertBlock(tx, {
    id: newId(actor.at),
    account,
    amount,
    reason: "gas",
    expires_at: null,
    reference_id: order,
    data: {},
    owner: actor.kind === "user" ? actor.user : null,
  });
  return block.id;
}

/**
 * Gives the chain's own coin, if it is the ramp's asset; beside a token it belongs to no account in
 * the ledger.
 */
function coinOf(ramp: AccountRow): Asset | null {
  const asset = findAsset(ramp.asset);
  return asset === null || asset.contract !== null ? null : asset;
}
