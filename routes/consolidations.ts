/** Routes of consolidations: small coins of a ramp's address spent into one. @module */
import { z } from "zod";
import { answerable } from "../domain/answers.ts";
import {
  ConsolidationList,
  ConsolidationSpeedUp,
  ConsolidationView,
  NewConsolidation,
  viewConsolidation,
} from "../domain/consolidations/consolidation_views.ts";
import {
  createConsolidation,
  findConsolidation,
  listConsolidations,
  speedUpConsolidation,
} from "../domain/consolidations/consolidations.ts";
import { DryRun } from "../domain/entity.ts";
import type { ErrorCode } from "../domain/errors.ts";
import { pageOf } from "../domain/collections/list_parameters.ts";
import { pageView } from "./http/collection_routes.ts";
import { command, query, search } from "./http/execution.ts";
import { type AnyRoute, PAGES, route } from "./http/route.ts";

const OfRamp = z.strictObject({ id: z.string() });
const ById = z.strictObject({ id: z.string(), consolidation: z.string() });
const TAG = "Consolidations";
/** The refusals of every request that spends a ramp's coins. */
const REFUSALS: readonly ErrorCode[] = [
  "account.not_found",
  "account.no_ramp",
  "account.asset_mismatch",
  "permission.owner",
  "permission.role",
  "chain.stale",
  "condition.failed",
  "version.conflict",
];

/** The routes of consolidations. */
export const consolidationRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/accounts/{id}/consolidate",
    tag: TAG,
    summary: "Spend many small coins of a ramp into one, while fees are low",
    description: "For ramps on chains that keep value in coins. Takes the smallest settled coins " +
      "that are worth more than spending them costs, as many as one transaction holds: 1000, or " +
      "641 on Bitcoin Cash and Dogecoin. Above `max_fee` or `max_fee_rate` it is refused with " +
      "`condition.failed`; a worker checks both again before anything is signed. Until it is in a " +
      "block its coins pay nothing else. One at a time; `version.conflict` while another is open. " +
      "The chain's fee is borne by the account `fees`; a user without write permission for the realm pays it " +
      "out of the ramp's account (`balance.insufficient`).",
    access: "user",
    cost: "chain",
    params: OfRamp,
    query: DryRun,
    body: NewConsolidation,
    status: 201,
    makes: "/v1/accounts/{id}/consolidations/{made}",
    answer: ConsolidationView,
    errors: [
      ...REFUSALS,
      "account.not_enabled",
      "account.inactive",
      "account.frozen",
      "asset.suspended",
      "chain.not_configured",
      "ramp.assets_insufficient",
      "balance.insufficient",
      "stop.active",
    ],
    handle: (call) =>
      command(call, async (tx) => {
        const input = { ...call.body, account: call.params.id };
        return viewConsolidation(await createConsolidation(tx, call.actor, input));
      }, { dryRun: call.query.dry_run, lockLedger: true }),
  }),
  route({
    method: "GET",
    path: "/v1/accounts/{id}/consolidations",
    tag: TAG,
    summary: "List the consolidations of a ramp",
    access: "user",
    params: OfRamp,
    query: ConsolidationList,
    status: 200,
    answer: pageView(ConsolidationView),
    continues: PAGES,
    errors: ["account.not_found"],
    handle: (call) =>
      search(call, async (db) => {
        const input = { ...call.query, account: call.params.id };
        const found = await listConsolidations(db, call.actor, input);
        return pageOf(found.page, answerable(found.rows.map(viewConsolidation)), found.total);
      }),
  }),
  route({
    method: "GET",
    path: "/v1/accounts/{id}/consolidations/{consolidation}",
    tag: TAG,
    summary: "Read a consolidation",
    access: "user",
    params: ById,
    status: 200,
    answer: ConsolidationView,
    errors: ["account.not_found", "consolidation.not_found"],
    handle: (call) =>
      query(call, async (db) => {
        const name = { account: call.params.id, consolidation: call.params.consolidation };
        return viewConsolidation(await findConsolidation(db, call.actor, name));
      }),
  }),
  route({
    method: "POST",
    path: "/v1/accounts/{id}/consolidations/{consolidation}/speed-up",
    tag: TAG,
    summary: "Speed up a consolidation",
    description: "Replaces the sent transaction by one that spends the same coins at a higher " +
      "price, within its ceilings or within those given here. Where the ramp's account was charged " +
      "for it, the additional budget is charged too. Bitcoin Cash and Dogecoin replace nothing.",
    access: "user",
    cost: "chain",
    params: ById,
    body: ConsolidationSpeedUp,
    status: 200,
    answer: ConsolidationView,
    errors: [
      ...REFUSALS,
      "consolidation.not_found",
      "account.frozen",
      "balance.insufficient",
      "stop.active",
    ],
    handle: (call) =>
      command(call, async (tx) => {
        const { id: account, consolidation } = call.params;
        const input = { ...call.body, account, consolidation };
        return viewConsolidation(await speedUpConsolidation(tx, call.actor, input));
      }, { lockLedger: true }),
  }),
];
