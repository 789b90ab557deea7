/**
 * Network costs of orders that move nothing for customers: deployments, consolidations. The house
 * bears them where a user with write permission for the realm asks. Any other owner of a ramp pays
 * from the ramp's account, because the coins at its address cover claims of others.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import { availableOf } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { type Asset, findAsset } from "../assets.ts";
import { DomainError } from "../errors.ts";
import { counterparty, type InternalMove, postMove } from "../ledger/posting.ts";
import { compare, fromUnits } from "../money.ts";
import type { OrderCost, OrderRow } from "./chain_orders.ts";
import { rightsOf } from "../permissions.ts";
import { isBorneByHouse } from "./token_gas.ts";

/**
 * Charges the likely cost of an order to the ramp that sends it, before the order is inserted. The
 * transaction holds the ledger lock.
 *
 * @param of.units base units of the chain's own coin
 * @returns the charge that the order carries; null where the house bears it
 * @throws {DomainError} balance.insufficient, account.frozen, stop.active
 */
export async function chargeRamp(
  tx: LedgerTx,
  actor: Actor,
  of: { ramp: AccountRow; units: bigint },
): Promise<Pick<OrderCost, "charged" | "contract"> | null> {
  const { ramp, units } = of;
  const coin = coinOf(ramp);
  if (rightsOf(actor).write === "all" || coin === null || units <= 0n) return null;
  const amount = fromUnits(units, coin.decimals);
  if (compare(availableOf(ramp), amount) < 0) {
    const why = `the ramp's account does not cover ${amount} ${coin.code} for the network`;
    throw new DomainError("balance.insufficient", why);
  }
  const fees = await feesOf(tx, actor, ramp, coin);
  await postMove(tx, actor, { type: "fee", source: ramp.id, destination: fees, amount });
  return { charged: units, contract: null };
}

/**
 * Settles the charge of an order that has ended: the part that the network did not take goes back to
 * the ramp's account, and a cost beyond the charge comes from there as far as it is covered. The house
 * pays for orders that it canceled.
 */
export async function settleCharge(tx: LedgerTx, actor: Actor, order: OrderRow): Promise<void> {
  const charged = BigInt(order.charged);
  const ramp = charged === 0n ? null : await selectAccount(tx, order.ramp);
  const coin = ramp === null ? null : coinOf(ramp);
  if (ramp === null || coin === null) return;
  const own = order.height !== null && order.fee !== null && order.fee_contract === null &&
    !await isBorneByHouse(tx, order);
  const rest = charged - (own ? BigInt(order.fee!) : 0n);
  if (rest === 0n) return;
  const fees = await feesOf(tx, actor, ramp, coin);
  const amount = fromUnits(rest < 0n ? -rest : rest, coin.decimals);
  const data = { order: order.id };
  const free = availableOf({ ...ramp, frozen: false });
  const move: InternalMove = rest > 0n
    ? { type: "return", source: fees, destination: ramp.id, amount, data }
    : {
      type: "fee",
      source: ramp.id,
      destination: fees,
      amount: compare(free, amount) < 0 ? free : amount,
      data,
    };
  if (compare(move.amount, "0") > 0) await postMove(tx, actor, move, { force: true });
}

/** Gives the chain's own coin, if it is the ramp's asset; a token's ramp has none in the ledger. */
function coinOf(ramp: AccountRow): Asset | null {
  const asset = findAsset(ramp.asset);
  return asset === null || asset.contract !== null ? null : asset;
}

async function feesOf(tx: LedgerTx, actor: Actor, ramp: AccountRow, coin: Asset): Promise<string> {
  const { code, decimals } = coin;
  return await counterparty(tx, actor, "fees", { code, decimals, testnet: ramp.testnet });
}
