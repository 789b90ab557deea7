/**
 * Compares an order with its withdrawal by the registry of assets, which the database does not know:
 * a writer of both rows could name a contract, a chain or a scale of another asset.
 * @module
 */
import type { Db } from "../../db/database.ts";
import { selectWithdrawals, type WithdrawalRow } from "../../db/withdrawals/withdrawals.ts";
import { type ChainAsset, findChainAssets } from "../chains/onchain_assets.ts";
import { DomainError } from "../errors.ts";
import { toUnits } from "../money.ts";
import type { OrderRow, PaymentRequest } from "./chain_orders.ts";

/** Finds the orders that differ from their withdrawals: faults by the orders' ids. */
export async function findUnjustified(
  db: Db,
  orders: readonly OrderRow[],
): Promise<Map<string, string>> {
  const paying = orders.filter(({ purpose }) => purpose === "withdrawal");
  if (paying.length === 0) return new Map();
  const rows = await selectWithdrawals(
    db,
    paying.flatMap(({ reference_id }) => reference_id ?? []),
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  const faults = new Map<string, string>();
  const assets = await findChainAssets(db, rows.map((row) => row.asset));
  for (const order of paying) {
    const row = found.get(order.reference_id ?? "");
    const asked = row === undefined ? null : asksFor(row, assets.get(row.asset));
    if (asked === null || asked !== paysOf(order) || row!.order_id !== order.id) {
      faults.set(order.id, "the order differs from its withdrawal: an operator must compare them");
    }
  }
  return faults;
}

/** Writes the payment that a withdrawal requests, as text; null where its asset lives on no chain. */
function asksFor(row: WithdrawalRow, asset: ChainAsset | undefined): string | null {
  if (asset === undefined) return null;
  const { chain, contract, decimals, token } = asset;
  if (token !== null && token.testnet !== (row.network !== "main")) return null;
  try {
    const units = `${toUnits(row.amount, decimals)}`;
    return textOf([chain, row.network, row.sender, contract, row.destination, units]);
  } catch (error) {
    if (error instanceof DomainError) return null;
    throw error;
  }
}

function paysOf({ chain, network, request }: OrderRow): string | null {
  const { kind, from, contract, payments } = request as unknown as PaymentRequest & { kind: "pay" };
  if (kind !== "pay" || payments.length !== 1) return null;
  const [{ to, amount }] = payments;
  return textOf([chain, network, from, contract, to, amount]);
}

function textOf(parts: readonly (string | null)[]): string {
  return JSON.stringify(parts);
}
