/**
 * Routes of posted transactions: the hash chain, reverts, and the data beside a transaction. These
 * paths are tried before the ones with an id in the same place.
 * @module
 */
import { z } from "zod";
import { DryRun } from "../domain/entity.ts";
import { LIMIT_MAX } from "../domain/collections/list_parameters.ts";
import { TransactionView } from "../domain/ledger/posting.ts";
import { ChainLinkView } from "../domain/audit/chain_links.ts";
import {
  changeTransaction,
  Revert,
  revertTransaction,
  TransactionChange,
} from "../domain/ledger/reversals.ts";
import {
  ChainPage,
  HeadView,
  readChain,
  showHead,
  verifyChain,
  VerifyRange,
  VerifyView,
} from "../domain/audit/hash_chain.ts";
import { command, query, search } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";
import { recomputing } from "./http/concurrency_limit.ts";

const ById = z.strictObject({ id: z.string() });
const TAG = "Transactions";

/** The routes of posted transactions. */
export const postingRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/transactions/head",
    tag: TAG,
    summary: "Read the head of the chain of hashes",
    description: "Kept elsewhere, it proves later that nothing before it was changed.",
    access: "user",
    status: 200,
    answer: HeadView,
    errors: [],
    handle: (call) => query(call, showHead),
  }),
  route({
    method: "GET",
    path: "/v1/transactions/verify",
    tag: TAG,
    operation: "verifyChain",
    summary: "Recompute the chain of hashes",
    description: "`from` and `to` are numbers in the chain, both included. At most 100 000 are " +
      "recomputed at once; `next` is the number to continue from.",
    access: "user",
    query: VerifyRange,
    status: 200,
    answer: VerifyView,
    errors: ["permission.scope"],
    handle: (call) => {
      const verify = () => query(call, (db) => verifyChain(db, call.actor, call.query));
      return recomputing(call.realm!.pool, verify, call.signal());
    },
  }),
  route({
    method: "GET",
    path: "/v1/transactions/chain",
    tag: TAG,
    summary: "Read transactions and events in the order of the chain",
    description:
      "For auditors who recompute it themselves: `after` is a number in the chain, 0 for " +
      "the beginning; `limit` is at most 1000, and a page at most 8 MiB. Only at the end of the chain is a page empty.",
    access: "user",
    query: ChainPage,
    status: 200,
    answer: z.array(ChainLinkView),
    errors: ["permission.scope"],
    handle: (call) => search(call, (db) => readChain(db, call.actor, call.query), false, LIMIT_MAX),
  }),
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
    errors: ["transaction.not_found", "permission.owner"],
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
    answer: TransactionView,
    errors: [
      "transaction.not_found",
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
