/** Settlement of token deployments: a token's row follows its chain order. @module */
import type { LedgerTx } from "../../db/transaction.ts";
import type { Tx } from "../../db/database.ts";
import { selectToken, type TokenRow, updateToken } from "../../db/currencies/tokens.ts";
import type { Actor } from "../actor.ts";
import { type ChainId, nativeAsset } from "../assets.ts";
import { emit } from "../events.ts";
import { fromUnits } from "../money.ts";
import type { OrderRow } from "../sending/chain_orders.ts";
import { settleCharge } from "../sending/ramp_charges.ts";
import { viewToken } from "./token_views.ts";
import { bookGas } from "../sending/network_fees.ts";

/** Records the transaction of a deployment. */
export async function progressDeployment(tx: Tx, actor: Actor, order: OrderRow): Promise<void> {
  const row = await selectToken(tx, order.reference_id!);
  if (row === null || row.status !== "pending") return;
  await updateToken(tx, row.id, { hash: order.hash, ...feeOf(row, order), updated_at: actor.at });
}

/** Records the address of a deployed contract, or the failure of the deployment. */
export async function settleDeployment(tx: LedgerTx, actor: Actor, order: OrderRow): Promise<void> {
  const row = await selectToken(tx, order.reference_id!);
  if (row === null || row.status !== "pending") return;
  await bookGas(tx, actor, order);
  await settleCharge(tx, actor, order);
  const common = { hash: order.hash, ...feeOf(row, order), updated_at: actor.at };
  if (order.state === "done") {
    const made = { ...common, status: "deployed" as const, contract: order.creates };
    const deployed = await updateToken(tx, row.id, made);
    const { id, owner } = deployed;
    await emit(tx, actor, "token.deployed", { id, owner, view: viewToken(deployed) });
    return;
  }
  const detail = order.error ?? "the chain did not execute the transaction";
  const error = { code: "upstream.failed", title: "Not deployed", status: 502, detail };
  await updateToken(tx, row.id, { ...common, status: "failed", error });
}

function feeOf(row: TokenRow, order: OrderRow): { fee?: string } {
  if (order.fee === null || order.fee_contract !== null) return {};
  return { fee: fromUnits(BigInt(order.fee), nativeAsset(row.chain as ChainId).decimals) };
}
