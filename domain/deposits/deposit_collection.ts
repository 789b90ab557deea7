/** The collection of deposits. @module */
import { type DepositRow, selectDeposits } from "../../db/deposits/deposits.ts";
import { selectSweeps } from "../../db/deposits/sweeps.ts";
import { type Collection, ENTITY_COLUMNS, textColumn } from "../collections/collection.ts";
import { progressOf } from "./deposit_progress.ts";
import { viewDeposit } from "./deposit_views.ts";

/** The collection of deposits: records that no request changes. */
export const DEPOSITS: Collection<DepositRow> = {
  name: "deposits",
  table: "deposits",
  listed: "deposit_list",
  deletable: false,
  counted: true,
  notFound: "deposit.not_found",
  relations: {
    "source.account": { of: "accounts", id: (row) => row.account },
    "destination.account": { of: "accounts", id: (row) => row.beneficiary },
  },
  exported: [
    "id",
    "created_at",
    "account",
    "beneficiary",
    "address",
    "asset",
    "amount",
    "status",
    "confirmations",
    "hash",
    "index",
    "block",
    "transaction",
    "forward.status",
    "forward.hash",
    "forward.fee",
    "owner",
    "updated_at",
  ],
  fields: ["source", "destination", "forward", "needs", "eta_s"],
  columns: {
    ...ENTITY_COLUMNS,
    account: { column: "account", type: "id" },
    beneficiary: { column: "beneficiary", type: "id", nullable: true },
    address: textColumn("address"),
    asset: textColumn("asset"),
    hash: textColumn("hash"),
    index: { column: "index", type: "integer" },
    block: { column: "block", type: "integer", nullable: true },
    amount: { column: "amount", type: "decimal" },
    confirmations: { column: "confirmations", type: "integer" },
    status: textColumn("status"),
    transaction: { column: "transaction", type: "id", nullable: true },
    address_data: { column: "address_data", type: "json", nullable: true },
    updated_at: { column: "updated_at", type: "time", nullable: true },
    error: { column: "error", type: "json", nullable: true },
  },
  read: selectDeposits,
  async show(db, actor, rows) {
    const progress = await progressOf(db, actor, rows);
    const ids = rows.flatMap((row) => row.sweep ?? []);
    const sweeps = new Map(
      (ids.length === 0 ? [] : await selectSweeps(db, [...new Set(ids)]))
        .map((sweep) => [sweep.id, sweep]),
    );
    return rows.map((row) => ({
      ...viewDeposit(row, sweeps.get(row.sweep ?? "") ?? null),
      ...progress.get(row.id),
    }));
  },
};
