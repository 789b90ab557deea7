/** Routes of deposits. @module */
import { z } from "zod";
import { LIMIT_MAX } from "../domain/collections/list_parameters.ts";
import {
  DEPOSITS,
  requestRescan,
  Rescan,
  RescanView,
} from "../domain/deposits/deposit_collection.ts";
import { DepositView } from "../domain/deposits/deposit_views.ts";
import {
  listUnmatchedDeposits,
  UnmatchedDepositList,
  UnmatchedDepositView,
} from "../domain/deposits/unmatched_deposits.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { command, query } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

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
      "for an operator (GET /v1/chains has the reason) is followed again from the range given.",
    access: "user",
    body: Rescan,
    status: 200,
    answer: RescanView,
    errors: ["permission.role", "permission.scope", "chain.not_configured"],
    handle: (call) => command(call, (tx) => requestRescan(tx, call.actor, call.body)),
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
  }),
];
