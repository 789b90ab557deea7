/** HTTP face of the proof of solvency. @module */
import { z } from "zod";
import { findSolvency, SolvencyView } from "../domain/solvency.ts";
import { query } from "./door.ts";
import { type AnyRoute, route } from "./route.ts";

/** The routes of the proof of solvency. */
export const solvencyRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/solvency",
    tag: "Solvency",
    summary: "Compare what is on the chains with what the ledger owes",
    description: "As workers last saw it, for administrators. While something is missing, the " +
      "asset's withdrawals are stopped.",
    access: "user",
    query: z.strictObject({ asset: z.string().max(40).optional() }),
    status: 200,
    answer: z.array(SolvencyView),
    errors: ["permission.role", "permission.scope"],
    handle: (call) => query(call, (db) => findSolvency(db, call.actor, call.query.asset)),
  }),
];
