/** The collection of withdrawals: records whose free-form part alone can be changed. @module */
import { selectReceivers } from "../../db/accounts/own_addresses.ts";
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Db } from "../../db/database.ts";
import { selectWithdrawals, type WithdrawalRow } from "../../db/withdrawals/withdrawals.ts";
import { type Collection, ENTITY_COLUMNS, textColumn } from "../collections/collection.ts";
import { detailOf } from "./withdrawal_acts.ts";
import { viewWithdrawal } from "./withdrawal_views.ts";

/** The accounts of this realm that the destinations are addresses of. */
async function receiversOf(db: Db, rows: WithdrawalRow[]): Promise<(string | null)[]> {
  const found = await selectReceivers(db, rows);
  const accounts = new Map(found.map((one) => [addressKey(one.address, one), one.account]));
  return rows.map((row) => accounts.get(addressKey(row.destination, row)) ?? null);
}

function addressKey(address: string, { chain, network }: NetworkKey): string {
  return `${chain} ${network} ${address}`;
}

/** The collection of withdrawals. */
export const WITHDRAWALS: Collection<WithdrawalRow> = {
  name: "withdrawals",
  table: "withdrawals",
  deletable: false,
  counted: true,
  notFound: "withdrawal.not_found",
  relations: {
    "source.account": { of: "accounts", id: (row) => row.account },
    "destination.account": { of: "accounts", find: receiversOf },
  },
  exported: [
    "id",
    "created_at",
    "status",
    "asset",
    "value",
    "amount",
    "fee.value",
    "fee.paid_by",
    "fee.speed",
    "source.account",
    "source.ramp",
    "source.address",
    "destination.address",
    "chain.hash",
    "chain.block",
    "chain.confirmations",
    "owner",
    "updated_at",
  ],
  fields: ["source", "destination", "fee", "chain", "history", "error", "order", "acts"],
  columns: {
    ...ENTITY_COLUMNS,
    data: { column: "data", type: "json" },
    updated_at: { column: "updated_at", type: "time", nullable: true },
    asset: textColumn("asset"),
    status: textColumn("status"),
    value: { column: "value", type: "decimal" },
    amount: { column: "amount", type: "decimal" },
    "source.account": { column: "account", type: "id" },
    "source.ramp": { column: "ramp", type: "id" },
    "source.address": textColumn("sender"),
    "destination.address": textColumn("destination"),
    "fee.value": { column: "fee", type: "decimal" },
    "fee.paid_by": textColumn("paid_by"),
    "fee.speed": textColumn("speed"),
    max_fee: { column: "max_fee", type: "decimal", nullable: true },
    "chain.hash": textColumn("hash", true),
  },
  read: selectWithdrawals,
  detail: { fields: ["order", "acts"], show: detailOf },
  show: (_db, _actor, rows) => Promise.resolve(rows.map(viewWithdrawal)),
};
