/** Routes of assets and chains. @module */
import { z } from "zod";
import { AssetView, ChainView, listAssets, listChains } from "../domain/chains/chain_status.ts";
import { ChainHistoryOf, ChainHistoryView, chainOver } from "../domain/chains/chain_history.ts";
import { query } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

/** The routes of assets and chains. */
export const chainRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/assets",
    tag: "Chains",
    summary: "List every asset",
    access: "user",
    status: 200,
    answer: z.array(AssetView),
    errors: [],
    handle: (call) => query(call, () => Promise.resolve(listAssets(call.services.config.chains))),
  }),
  route({
    method: "GET",
    path: "/v1/chains",
    tag: "Chains",
    summary: "List the configured chains with their scanning state",
    access: "user",
    status: 200,
    answer: z.array(ChainView),
    errors: [],
    handle: (call) => query(call, (db) => listChains(db, call.services.config.chains)),
  }),
  route({
    method: "GET",
    path: "/v1/chains/history",
    tag: "Chains",
    operation: "getChainHistory",
    summary: "Read how far a chain was scanned over time",
    description:
      "The last sample until each of up to 500 evenly spaced moments. Workers take one a " +
      "minute; they are kept for 30 days, one of each hour for two years.",
    access: "user",
    query: ChainHistoryOf,
    status: 200,
    answer: ChainHistoryView,
    errors: [],
    handle: (call) =>
      query(call, (db) => chainOver(db, call.actor, call.services.config.chains, call.query)),
  }),
];
