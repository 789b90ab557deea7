/** Network fees: the chain's fees of transactions, booked for orders of any purpose. @module */
import type { LedgerTx } from "../../db/transaction.ts";
import { selectAccount } from "../../db/accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { findAsset } from "../assets.ts";
import { counterparty, postMove } from "../ledger/posting.ts";
import { fromUnits } from "../money.ts";
import type { OrderRow } from "./chain_orders.ts";
import { noteRefund } from "./order_states.ts";
import { chargeTokenGas, releaseGas } from "./token_gas.ts";

/**
 * Books the fee of an order, where it was paid in a ramp's asset: the account `fees` bears it, unless the
 * ramp's account does. What its block gave back goes the same way. Coins beside a token, at the address of
 * the token's ramp, are no ramp's assets.
 */
export async function bookGas(tx: LedgerTx, actor: Actor, order: OrderRow): Promise<void> {
  await releaseGas(tx, order);
  if (order.height === null || order.fee === null) return;
  const ramp = await selectAccount(tx, order.ramp);
  const paying = ramp === null ? null : findAsset(ramp.asset);
  if (ramp === null || paying === null || paying.contract !== order.fee_contract) return;
  const asset = { code: paying.code, decimals: paying.decimals, testnet: ramp.testnet };
  const amount = fromUnits(BigInt(order.fee), paying.decimals);
  if (amount === "0") return;
  await postMove(tx, actor, {
    type: "fee",
    source: await counterparty(tx, actor, "fees", asset),
    destination: await counterparty(tx, actor, "world", asset),
    amount,
    data: { order: order.id },
  }, { force: true });
  if (order.state === "done") await bookRefund(tx, actor, order, asset);
  await chargeTokenGas(tx, actor, order);
}

/** Books what the block of an order gave back beside the fee. */
async function bookRefund(
  tx: LedgerTx,
  actor: Actor,
  order: OrderRow,
  asset: { code: string; decimals: number; testnet: boolean },
): Promise<void> {
  const amount = fromUnits(BigInt(order.refund), asset.decimals);
  if (amount === "0") return;
  const { id } = await postMove(tx, actor, {
    type: "return",
    source: await counterparty(tx, actor, "world", asset),
    destination: await counterparty(tx, actor, "fees", asset),
    amount,
    data: { order: order.id },
  }, { force: true });
  await noteRefund(tx, order, id);
}
