/** Routes of transactions. @module */
import { BATCH_BODY_MAX, BatchOutline, BatchView, NewBatch } from "../domain/ledger/batches.ts";
import { DryRun } from "../domain/entity.ts";
import { TransactionView } from "../domain/ledger/posting.ts";
import { TRANSACTIONS } from "../domain/ledger/transaction_collection.ts";
import { NewTransaction } from "../domain/ledger/transactions.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { postTransfer, postTransfers } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const REFUSALS = [
  "account.not_found",
  "alias.not_found",
  "address.not_found",
  "permission.owner",
  "account.frozen",
  "account.inactive",
  "account.not_enabled",
  "account.asset_mismatch",
  "balance.insufficient",
  "stop.active",
  "condition.failed",
  "reference.taken",
] as const;

/** The routes of transactions. */
export const transactionRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/transactions",
    tag: "Transactions",
    summary: "Move value between two accounts",
    description: "Instant and without a fee. Amounts are exact decimals.",
    access: "user",
    query: DryRun,
    body: NewTransaction,
    status: 201,
    makes: "/v1/transactions/{made}",
    answer: TransactionView,
    errors: REFUSALS,
    handle: postTransfer,
  }),
  route({
    method: "POST",
    path: "/v1/transactions/batch",
    tag: "Transactions",
    operation: "createTransactionBatch",
    summary: "Move value many times in one request",
    description: "With atomic, all or none (201, or a problem that names the index of the first " +
      "refused item). Without, each by itself (200, with a transaction or a problem for each). " +
      "One idempotency key stands for the whole request. At most 8 MiB, each item at most 1 MiB, with 600 000 members of " +
      "objects and lists, 400 000 of them named, and 100 000 numbers that are no whole numbers. A process handles " +
      "two requests beyond 1 MiB of a realm at once, while ten wait; of one user it takes eight.",
    access: "user",
    query: DryRun,
    body: NewBatch,
    bodyMax: BATCH_BODY_MAX,
    long: { outline: BatchOutline, list: "transactions", item: NewTransaction },
    status: 201,
    answer: BatchView,
    others: { 200: { description: "Without atomic: the outcome of each.", answer: BatchView } },
    errors: REFUSALS,
    handle: postTransfers,
  }),
  ...collectionRoutes({
    collection: TRANSACTIONS,
    tag: "Transactions",
    one: "a transaction",
    view: TransactionView,
    mayLag: true,
  }),
];
