/** Withdrawals as a collection: records, of which only the free-form part changes. @module */
import { selectWithdrawals, type WithdrawalRow } from "../../db/withdrawals/withdrawals.ts";
import { ACCOUNTS } from "../accounts/account_collection.ts";
import { type Collection, ENTITY_COLUMNS, textColumn } from "../collections/collection.ts";
import { viewWithdrawal } from "./withdrawal_views.ts";
import { mayRead } from "../permissions.ts";

/** The collection of withdrawals. */
export const WITHDRAWALS: Collection<WithdrawalRow> = {
  name: "withdrawals",
  table: "withdrawals",
  deletable: false,
  tallied: false,
  notFound: "withdrawal.not_found",
  populate: ["source.account"],
  fields: ["source", "destination", "fee", "chain", "history", "error"],
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
    "chain.hash": textColumn("hash", true),
  },
  read: selectWithdrawals,
  async show(db, actor, rows, populate) {
    const views = rows.map(viewWithdrawal);
    if (!populate.has("source.account")) return views;
    const found = await ACCOUNTS.read(db, rows.map((row) => row.account));
    const seen = found.filter((row) => mayRead(actor, row.owner));
    const shown = await ACCOUNTS.show(db, actor, seen, new Set());
    const by = new Map(seen.map((row, at) => [row.id, shown[at]]));
    return views.map((view, at) => {
      const source = view.source as Record<string, unknown>;
      const account = by.get(rows[at].account) ?? source.account;
      return { ...view, source: { ...source, account } };
    });
  },
};
