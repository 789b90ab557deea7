/** HTTP face of deposits. @module */
import { DEPOSITS, requestRescan, Rescan, RescanView } from "../domain/deposit_list.ts";
import { DepositView } from "../domain/deposit_views.ts";
import { collectionRoutes } from "./collection.ts";
import { command } from "./door.ts";
import { type AnyRoute, route } from "./route.ts";

/** The routes of deposits. */
export const depositRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/deposits/rescan",
    tag: "Deposits",
    summary: "Search a transaction or a range of blocks again",
    description: "For operators: finds what the scanner could not see, such as coins that a " +
      "contract paid inside a call. What is known already changes nothing. A chain that waits " +
      "for an operator (GET /v1/chains tells why) is followed again from the range given.",
    access: "user",
    body: Rescan,
    status: 200,
    answer: RescanView,
    errors: ["permission.role", "permission.scope", "chain.not_configured"],
    handle: (call) =>
      command(call, (tx) => {
        const { chains } = call.services.config;
        return requestRescan(tx, call.actor, { ...call.body, chains });
      }),
  }),
  ...collectionRoutes({
    collection: DEPOSITS,
    tag: "Deposits",
    one: "a deposit",
    view: DepositView,
  }),
];
