/**
 * Routes of the hash chain. These paths are tried before the ones with an id in the same place.
 * @module
 */
import { z } from "zod";
import { LIMIT_MAX } from "../domain/collections/list_parameters.ts";
import { onConnection } from "../domain/command.ts";
import { ChainLinkView } from "../domain/audit/chain_links.ts";
import {
  ChainPage,
  HeadView,
  type Read,
  readChain,
  showHead,
  verifyChain,
  VerifyRange,
  VerifyView,
} from "../domain/audit/hash_chain.ts";
import { query, search } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";
import { recomputing } from "./http/concurrency_limit.ts";
import { chargingWork } from "./http/charged_work.ts";

const TAG = "Transactions";

/** The routes of the hash chain. */
export const hashChainRoutes: readonly AnyRoute[] = [
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
      const caller = { user: call.actor.user, signal: call.signal() };
      return chargingWork(call, (timed) => {
        // Each page on its own: who adds a part to the ledger waits for a table that a reader holds, and all who post with it.
        const verify = () =>
          query(call, (db) => {
            const read: Read = (work) => onConnection(db, (own) => timed(() => work(own)));
            return verifyChain(read, call.actor, call.query);
          });
        return recomputing(call.realm!.pool, verify, caller);
      });
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
    continues: { cursor: "seq", mayBeShort: true },
    errors: ["permission.scope"],
    handle: (call) => search(call, (db) => readChain(db, call.actor, call.query), false, LIMIT_MAX),
  }),
];
