/** Routes of the proof of solvency, of writing off what is missing, and of covering a loss of the house. @module */
import { z } from "zod";
import { DryRun } from "../domain/entity.ts";
import { findSolvency, SolvencyView } from "../domain/audit/solvency.ts";
import { Cover, coverLoss, CoverView } from "../domain/audit/solvency_cover.ts";
import {
  SolvencyHistoryOf,
  SolvencyHistoryView,
  solvencyOver,
} from "../domain/audit/solvency_history.ts";
import { WriteOff, writeOffMissing, WriteOffView } from "../domain/audit/solvency_write_off.ts";
import { command, query } from "./http/execution.ts";
import { namedRealm } from "./http/named_realm.ts";
import { type AnyRoute, route } from "./http/route.ts";

/** The routes of the proof of solvency. */
export const solvencyRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/solvency",
    tag: "Solvency",
    operation: "getSolvency",
    summary: "Compare the balances on the chains with the ledger's liabilities",
    description: "As workers last saw it, for administrators. While something is missing, the " +
      "asset's withdrawals are stopped.",
    access: "user",
    query: z.strictObject({ asset: z.string().max(40).optional() }),
    status: 200,
    answer: z.array(SolvencyView),
    errors: ["permission.role", "permission.scope"],
    handle: (call) => query(call, (db) => findSolvency(db, call.actor, call.query.asset)),
  }),
  route({
    method: "GET",
    path: "/v1/solvency/history",
    tag: "Solvency",
    operation: "getSolvencyHistory",
    summary: "Read how chain and ledger compared over time",
    description:
      "For administrators: the last comparison until each of up to 500 evenly spaced moments. Workers compare once a " +
      "minute; comparisons are kept for 30 days, one of each hour for two years. Ask for a shorter range to " +
      "see each comparison.",
    access: "user",
    query: SolvencyHistoryOf,
    status: 200,
    answer: SolvencyHistoryView,
    errors: ["permission.role", "permission.scope"],
    handle: (call) => query(call, (db) => solvencyOver(db, call.actor, call.query)),
  }),
  route({
    method: "POST",
    path: "/v1/solvency/cover",
    tag: "Solvency",
    summary: "Cover a loss of the house from an account of the house",
    description: "Moves value of a ramp or virtual account to the account `fees`, at most the " +
      "sum by which that is below zero. For administrators of the realm, and for the operator, who names the " +
      "realm. Owner and holder of the account are users with role manage or admin and scope " +
      "realm: value of customers covers nothing. It is not reverted.",
    access: "platform or user",
    query: DryRun,
    body: Cover,
    status: 201,
    answer: CoverView,
    errors: [
      "permission.role",
      "permission.scope",
      "permission.owner",
      "realm.not_found",
      "account.not_found",
      "account.not_enabled",
      "account.inactive",
      "account.frozen",
      "balance.insufficient",
      "condition.failed",
      "stop.active",
    ],
    handle: async (call) => {
      const { realm: named, ...input } = call.body;
      const whose = await namedRealm(call, named);
      return await command(
        { ...call, ...whose },
        (tx) => coverLoss(tx, whose.actor, input),
        { lockLedger: true, dryRun: call.query.dry_run },
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/solvency/write-off",
    tag: "Solvency",
    summary: "Write off what is missing on the chain, as a loss of the house",
    description:
      "Moves value from the account `fees` to `world`, at most what was missing in every " +
      "comparison of the last hour and is not written off yet. The drift ends with the next " +
      "comparison, and the loss is covered by `POST /v1/solvency/cover`. For administrators of the realm with a " +
      "login of the last ten minutes, and for the operator, who names the realm. It is not reverted.",
    access: "platform or user",
    freshLogin: true,
    query: DryRun,
    body: WriteOff,
    status: 201,
    answer: WriteOffView,
    errors: [
      "permission.role",
      "permission.scope",
      "realm.not_found",
      "condition.failed",
      "chain.stale",
      "chain.quarantined",
      "stop.active",
    ],
    handle: async (call) => {
      const { realm: named, ...input } = call.body;
      const whose = await namedRealm(call, named);
      return await command(
        { ...call, ...whose },
        (tx) => writeOffMissing(tx, whose.actor, input),
        { lockLedger: true, dryRun: call.query.dry_run },
      );
    },
  }),
];
