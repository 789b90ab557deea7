/**
 * Gas of tokens of the realm's own. Their price is set by whoever made them, so that a fee counted in
 * such a token pays for nothing; and the coins at the address that they are kept at cover what others
 * are owed. So the account of that ramp pays the gas, and nothing is sent where it does not cover it.
 * @module
 */
import { type AccountRow, selectAccount } from "../db/accounts.ts";
import type { Db, Tx } from "../db/database.ts";
import { availableOf } from "./accounts.ts";
import type { Actor } from "./actor.ts";
import { type Asset, findAsset } from "./assets.ts";
import { DomainError } from "./errors.ts";
import { counterparty, postMove } from "./ledger.ts";
import { compare, fromUnits } from "./money.ts";
import type { OrderRow } from "../db/orders.ts";

/**
 * Refuses to send a token of the realm's own where its ramp's account does not cover the gas.
 *
 * @param of.units the most that it may cost, in base units of the chain's own coin
 * @throws {DomainError} ramp.gas_insufficient
 */
export async function assertCoversGas(db: Db, of: { ramp: string; units: bigint }): Promise<void> {
  const ramp = await selectAccount(db, of.ramp);
  const coin = ramp === null ? null : coinOf(ramp);
  if (ramp === null || coin === null) return;
  const amount = fromUnits(of.units, coin.decimals);
  if (compare(availableOf(ramp), amount) >= 0) return;
  const why = `the ramp's own account does not cover the gas: up to ${amount} ${coin.code}`;
  throw new DomainError("ramp.gas_insufficient", why);
}

/**
 * Has the ramp's account give the fees what they bore for an order of a token of the realm's own, or for
 * gas sent ahead for one, as far as it is covered. The transaction holds the gate.
 */
export async function chargeTokenGas(tx: Tx, actor: Actor, order: OrderRow): Promise<void> {
  if (order.height === null || order.fee === null || order.fee_contract !== null) return;
  if (order.contract === "" && order.purpose !== "gas") return;
  const ramp = await selectAccount(tx, order.ramp);
  const coin = ramp === null ? null : coinOf(ramp);
  if (ramp === null || coin === null) return;
  const { code, decimals } = coin;
  const spent = fromUnits(BigInt(order.fee), decimals);
  const free = availableOf({ ...ramp, frozen: false });
  const amount = compare(free, spent) < 0 ? free : spent;
  if (compare(amount, "0") <= 0) return;
  const destination = await counterparty(tx, actor, "fees", {
    code,
    decimals,
    testnet: ramp.testnet,
  });
  const move = { type: "fee" as const, source: ramp.id, destination, amount };
  await postMove(tx, actor, { ...move, data: { order: order.id } }, { force: true });
}

/** The chain's own coin, where the ramp is of it: beside a token it is nobody's in the ledger. */
function coinOf(ramp: AccountRow): Asset | null {
  const asset = findAsset(ramp.asset);
  return asset === null || asset.contract !== null ? null : asset;
}
