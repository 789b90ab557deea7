/** Routes that revert a transaction or replace the data beside it. @module */
import { z } from "zod";
import { DryRun } from "../domain/entity.ts";
import { TransactionView } from "../domain/ledger/posting.ts";
import {
  changeTransaction,
  Revert,
  revertTransaction,
  TransactionChange,
} from "../domain/ledger/reversals.ts";
import { command } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const TAG = "Transactions";

/** The routes of reverts. */
export const reversalRoutes: readonly AnyRoute[] = [
  route({
    method: "PATCH",
    path: "/v1/transactions/{id}",
    tag: TAG,
    summary: "Replace the data beside a transaction",
    description: "Nothing else of a transaction ever changes.",
    access: "user",
    params: ById,
    body: TransactionChange,
    status: 200,
    answer: TransactionView,
    errors: ["transaction.not_found", "transaction.archived", "permission.owner"],
    handle: (call) =>
      command(
        call,
        (tx) => changeTransaction(tx, call.actor, { ...call.body, ...call.params }),
      ),
  }),
  route({
    method: "POST",
    path: "/v1/transactions/{id}/revert",
    tag: TAG,
    summary: "Revert a transaction, once",
    description: "Posts a counter-move under the same rules of balance.",
    access: "user",
    params: ById,
    query: DryRun,
    body: Revert,
    status: 201,
    makes: "/v1/transactions/{made}",
    answer: TransactionView,
    errors: [
      "transaction.not_found",
      "transaction.archived",
      "transaction.reverted",
      "permission.owner",
      "permission.role",
      "currency.not_found",
      "account.not_found",
      "account.not_enabled",
      "account.inactive",
      "account.frozen",
      "balance.insufficient",
      "stop.active",
    ],
    handle: (call) =>
      command(
        call,
        (tx) => revertTransaction(tx, call.actor, { ...call.body, ...call.params }),
        { lockLedger: true, dryRun: call.query.dry_run },
      ),
  }),
];
