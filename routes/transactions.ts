/** HTTP face of transactions. @module */
import { z } from "zod";
import { TransactionView } from "../domain/ledger.ts";
import { findTransaction, NewTransaction } from "../domain/transactions.ts";
import { move, query } from "./door.ts";
import { type AnyRoute, route } from "./route.ts";

const ById = z.strictObject({ id: z.string() });

/** The routes of transactions. */
export const transactionRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/transactions",
    tag: "Transactions",
    summary: "Move value between two accounts",
    description: "Instant and without a fee. Amounts are exact decimals.",
    access: "user",
    body: NewTransaction,
    status: 201,
    answer: TransactionView,
    errors: [
      "account.not_found",
      "alias.not_found",
      "permission.owner",
      "account.frozen",
      "account.inactive",
      "account.not_enabled",
      "account.asset_mismatch",
      "balance.insufficient",
      "condition.failed",
      "reference.taken",
    ],
    handle: move,
  }),
  route({
    method: "GET",
    path: "/v1/transactions/{id}",
    tag: "Transactions",
    summary: "Read a transaction",
    access: "user",
    params: ById,
    status: 200,
    answer: TransactionView,
    errors: ["transaction.not_found"],
    handle: (call) => query(call, (db) => findTransaction(db, call.actor, call.params.id)),
  }),
];
