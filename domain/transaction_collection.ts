/** Transactions as a collection: records that are listed and read, never deleted. @module */
import { selectTransactions, type TransactionRow } from "../db/ledger.ts";
import { ACCOUNTS } from "./account_changes.ts";
import { mayRead } from "./aliases.ts";
import { type Collection, ENTITY_COLUMNS, textColumn } from "./collection.ts";
import { viewTransaction } from "./ledger.ts";

/** The collection of transactions. */
export const TRANSACTIONS: Collection<TransactionRow> = {
  name: "transactions",
  table: "transactions",
  deletable: false,
  tallied: "sealed",
  flows: true,
  notFound: "transaction.not_found",
  populate: ["source.account", "destination.account"],
  fields: ["seq", "hash", "status", "source", "destination", "fiat", "data", "balances", "error"],
  columns: {
    ...ENTITY_COLUMNS,
    type: textColumn("type"),
    asset: textColumn("asset"),
    reference: textColumn("reference", true),
    amount: { column: "amount", type: "decimal" },
    "source.account": { column: "source", type: "id" },
    "destination.account": { column: "destination", type: "id" },
    "fiat.currency": textColumn("fiat_currency", true),
    "fiat.value": { column: "fiat_value", type: "decimal", nullable: true },
    reverts: { column: "reverts", type: "id", nullable: true },
    seal: { column: "seal", type: "json", nullable: true },
    address_data: { column: "address_data", type: "json", nullable: true },
  },
  read: selectTransactions,
  async show(db, actor, rows, populate) {
    const views = rows.map((row) => viewTransaction(row, (owner) => mayRead(actor, owner)));
    for (const side of ["source", "destination"] as const) {
      if (!populate.has(`${side}.account`)) continue;
      const found = await ACCOUNTS.read(db, [...new Set(rows.map((row) => row[side]))]);
      const seen = found.filter((row) => mayRead(actor, row.owner));
      const shown = await ACCOUNTS.show(db, actor, seen, new Set());
      const by = new Map(seen.map((row, i) => [row.id, shown[i]]));
      views.forEach((view, i) => {
        const account = by.get(rows[i][side]);
        if (account !== undefined) view[side] = { ...view[side] as object, account };
      });
    }
    return views;
  },
};
