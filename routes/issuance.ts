/** Routes of issuing and destroying virtual currencies, and of changing them. @module */
import { z } from "zod";
import { CurrencyView, viewCurrency } from "../domain/currencies/currencies.ts";
import { DryRun } from "../domain/entity.ts";
import {
  changeCurrency,
  CurrencyChange,
  destroyCurrency,
  Issue,
  issueCurrency,
} from "../domain/currencies/issuance.ts";
import { command } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const TAG = "Currencies";
const REFUSALS = [
  "currency.not_found",
  "account.not_found",
  "permission.owner",
  "permission.role",
  "account.asset_mismatch",
  "account.not_enabled",
  "account.inactive",
] as const;

/** The routes that change virtual currencies. */
export const issuanceRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/currencies/{id}/issue",
    tag: TAG,
    summary: "Issue more of a virtual currency",
    description: "Into the account given, or the currency's own.",
    access: "user",
    params: ById,
    query: DryRun,
    body: Issue,
    status: 200,
    answer: CurrencyView,
    errors: [...REFUSALS, "ramp.assets_insufficient", "stop.active"],
    handle: (call) =>
      command(
        call,
        async (tx) =>
          viewCurrency(await issueCurrency(tx, call.actor, { ...call.body, ...call.params })),
        { lockLedger: true, dryRun: call.query.dry_run },
      ),
  }),
  route({
    method: "POST",
    path: "/v1/currencies/{id}/destroy",
    tag: TAG,
    summary: "Destroy a part of a virtual currency",
    description: "Out of the account given, or the currency's own; it must be available there.",
    access: "user",
    params: ById,
    query: DryRun,
    body: Issue,
    status: 200,
    answer: CurrencyView,
    errors: [...REFUSALS, "account.frozen", "balance.insufficient", "stop.active"],
    handle: (call) =>
      command(
        call,
        async (tx) =>
          viewCurrency(await destroyCurrency(tx, call.actor, { ...call.body, ...call.params })),
        { lockLedger: true, dryRun: call.query.dry_run },
      ),
  }),
  route({
    method: "PATCH",
    path: "/v1/currencies/{id}",
    tag: TAG,
    summary: "Change a virtual currency",
    access: "user",
    params: ById,
    body: CurrencyChange,
    status: 200,
    answer: CurrencyView,
    errors: ["currency.not_found", "permission.owner", "permission.role", "asset.unknown"],
    handle: (call) =>
      command(
        call,
        async (tx) =>
          viewCurrency(await changeCurrency(tx, call.actor, { ...call.body, ...call.params })),
      ),
  }),
];
