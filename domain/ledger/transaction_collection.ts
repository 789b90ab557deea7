/** Transactions as a collection: records that are listed and read, never deleted. @module */
import { selectTransactions, type TransactionRow } from "../../db/ledger/posting.ts";
import { type Collection, ENTITY_COLUMNS, textColumn } from "../collections/collection.ts";
import { viewTransaction } from "./posting.ts";
import { mayReadAccount } from "../permissions.ts";
import { assertNotArchived } from "./transaction_view.ts";

/** The collection of transactions. */
export const TRANSACTIONS: Collection<TransactionRow> = {
  name: "transactions",
  table: "transactions",
  listed: "transaction_list",
  deletable: false,
  counted: "linked",
  flows: true,
  notFound: "transaction.not_found",
  gone: { code: "transaction.archived", refuse: assertNotArchived },
  relations: {
    "source.account": { of: "accounts", id: (row) => row.source },
    "destination.account": { of: "accounts", id: (row) => row.destination },
  },
  exported: [
    "id",
    "created_at",
    "seq",
    "hash",
    "type",
    "status",
    "asset",
    "amount",
    "source.account",
    "source.owner",
    "source.holder",
    "destination.account",
    "destination.owner",
    "destination.holder",
    "fiat.currency",
    "fiat.rate",
    "fiat.value",
    "reference",
    "reverts",
    "owner",
  ],
  fields: ["balances", "error"],
  columns: {
    ...ENTITY_COLUMNS,
    seq: { column: "seq", type: "integer", nullable: true },
    hash: textColumn("hash", true),
    type: textColumn("type"),
    status: textColumn("status"),
    asset: textColumn("asset"),
    reference: textColumn("reference", true),
    amount: { column: "amount", type: "decimal" },
    "source.account": { column: "source", type: "id" },
    "source.owner": { column: "source_owner", type: "id", nullable: true },
    "source.holder": { column: "source_holder", type: "id", nullable: true },
    "destination.account": { column: "destination", type: "id" },
    "destination.owner": { column: "destination_owner", type: "id", nullable: true },
    "destination.holder": { column: "destination_holder", type: "id", nullable: true },
    "fiat.currency": textColumn("fiat_currency", true),
    "fiat.rate": { column: "fiat_rate", type: "decimal", nullable: true },
    "fiat.value": { column: "fiat_value", type: "decimal", nullable: true },
    reverts: { column: "reverts", type: "id", nullable: true },
    seal: { column: "seal", type: "json", nullable: true },
    data: { column: "data", type: "json", nullable: true },
    updated_at: { column: "updated_at", type: "time", nullable: true },
    address_data: { column: "address_data", type: "json", nullable: true },
  },
  read: selectTransactions,
  show: (_db, actor, rows) =>
    Promise.resolve(
      rows.map((row) => viewTransaction(row, (owner) => mayReadAccount(actor, owner))),
    ),
};
