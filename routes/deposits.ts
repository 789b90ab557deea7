/** Routes of deposits. @module */
import { z } from "zod";
import { LIMIT_MAX } from "../domain/collections/list_parameters.ts";
import { DEPOSITS } from "../domain/deposits/deposit_collection.ts";
import { DepositView } from "../domain/deposits/deposit_views.ts";
import {
  listUnmatchedDeposits,
  UnmatchedDepositList,
  UnmatchedDepositView,
} from "../domain/deposits/unmatched_deposits.ts";
import { explainDeposit, ExplainQuery, ExplanationView } from "../domain/deposits/explanations.ts";
import {
  findRescan,
  OPEN_MAX,
  requestRescan,
  Rescan,
  RescanQueued,
  RescanView,
} from "../domain/deposits/rescans.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { command, query } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });

/** The routes of deposits. */
export const depositRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/deposits/rescan",
    tag: "Deposits",
    operation: "rescanDeposits",
    summary: "Search a transaction or a range of blocks again",
    description:
      "For operators: finds transfers that the scanner could not see, such as coins that a " +
      "contract paid inside a call. A known transfer changes nothing. A chain that waits " +
      "for an operator (GET /v1/chains has the reason) is followed again from the range given. At most " +
      `${OPEN_MAX} rescans of a network run or wait for their first turn at once.`,
    access: "user",
    body: Rescan,
    cost: "chain",
    status: 200,
    answer: RescanQueued,
    errors: ["permission.role", "permission.scope", "chain.not_configured", "rate.limited"],
    handle: (call) => command(call, (tx) => requestRescan(tx, call.actor, call.body)),
  }),
  route({
    method: "GET",
    path: "/v1/deposits/rescans/{id}",
    tag: "Deposits",
    operation: "getRescan",
    summary: "Read what a rescan found",
    description: "For operators. A rescan is kept for 90 days.",
    access: "user",
    params: ById,
    status: 200,
    answer: RescanView,
    errors: ["permission.role", "permission.scope", "deposit.not_found"],
    handle: (call) => query(call, (db) => findRescan(db, call.actor, call.params.id)),
  }),
  route({
    method: "GET",
    path: "/v1/deposits/explain",
    tag: "Deposits",
    operation: "explainDeposit",
    summary: "Tell why a payment was not credited, or what it was credited as",
    description: "By the hash of its transaction, by its address, or by both; from the database " +
      "alone: a rescan asks the nodes. It tells what the caller may see.",
    access: "user",
    query: ExplainQuery,
    status: 200,
    answer: ExplanationView,
    errors: [],
    handle: (call) => query(call, (db) => explainDeposit(db, call.actor, call.query)),
  }),
  route({
    method: "GET",
    path: "/v1/deposits/unmatched",
    tag: "Deposits",
    summary: "List deposits in an asset that their address does not accept",
    description: "For operators. An unmatched deposit is neither credited nor swept. One of a " +
      "contract that is set for the address's asset later becomes a deposit when rescanned.",
    access: "user",
    query: UnmatchedDepositList,
    status: 200,
    answer: z.array(UnmatchedDepositView),
    continues: { cursor: "id", usual: LIMIT_MAX },
    errors: ["permission.role", "permission.scope"],
    handle: (call) => query(call, (db) => listUnmatchedDeposits(db, call.actor, call.query)),
  }),
  ...collectionRoutes({
    collection: DEPOSITS,
    tag: "Deposits",
    one: "a deposit",
    view: DepositView,
    mayLag: true,
  }),
];
