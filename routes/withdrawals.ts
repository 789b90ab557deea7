/** Routes of withdrawals. @module */
import { z } from "zod";
import { DryRun, FreeForm, Id, text } from "../domain/entity.ts";
import { DomainError, type ErrorCode } from "../domain/errors.ts";
import { Estimate, estimateFee, Speed } from "../domain/sending/fees.ts";
import {
  cancelWithdrawal,
  changeWithdrawal,
  createWithdrawal,
} from "../domain/withdrawals/withdrawals.ts";
import { MaxFee, NewWithdrawal } from "../domain/withdrawals/withdrawal_checks.ts";
import { viewWithdrawal, WithdrawalView } from "../domain/withdrawals/withdrawal_views.ts";
import { Amount } from "../domain/money.ts";
import { speedUpWithdrawal } from "../domain/withdrawals/speed_ups.ts";
import { WITHDRAWALS } from "../domain/withdrawals/withdrawal_collection.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { command, query } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";
import { check } from "./http/validation.ts";

const ById = z.strictObject({ id: z.string() });
const Fee = z.string().meta({ description: "The fee in whole units.", example: "0.00021" });
const ESTIMATE_ERRORS: readonly ErrorCode[] = [
  "account.not_found",
  "address.invalid",
  "asset.unknown",
  "chain.not_configured",
  "chain.stale",
];

/** The parameters of the GET: each value stands in the query or in the body. */
const EstimatePart = z.strictObject({
  account: Id.optional(),
  address: text(200).optional(),
  amount: Amount.optional(),
  speed: Speed.optional(),
});

/** Throws a refusal whose faults are said to be in the query, where the body does not have their fields. */
function throwPlaced(error: unknown, body: object): never {
  if (!(error instanceof DomainError) || error.extra.errors === undefined) throw error;
  const errors = error.extra.errors.map((fault) =>
    Object.hasOwn(body, fault.path.slice(1)) ? fault : { ...fault, in: "query" as const }
  );
  throw new DomainError(error.code, error.message, { ...error.extra, errors });
}

/** The routes of withdrawals. */
export const withdrawalRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/withdrawals/estimate",
    tag: "Withdrawals",
    operation: "getWithdrawalEstimate",
    summary: "Estimate the fee of a withdrawal",
    description: "The values are taken from the query, from a JSON body, or from both. Clients " +
      "that cannot send a body with GET use the query, or POST.",
    access: "user",
    query: EstimatePart,
    body: EstimatePart,
    status: 200,
    answer: Fee,
    errors: ESTIMATE_ERRORS,
    handle: (call) => {
      // What neither has is asked of the query, where most send it.
      const wanted = Object.keys(call.body).length === 0
        ? check(Estimate, call.query, "query.invalid", "query")
        : check(Estimate, { ...call.query, ...call.body }, "request.invalid");
      return query(
        call,
        (db) => estimateFee(db, call.actor, wanted).catch((error) => throwPlaced(error, call.body)),
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/withdrawals/estimate",
    tag: "Withdrawals",
    summary: "Estimate the fee of a withdrawal",
    access: "user",
    body: Estimate,
    status: 200,
    answer: Fee,
    errors: ESTIMATE_ERRORS,
    handle: (call) => query(call, (db) => estimateFee(db, call.actor, call.body)),
  }),
  route({
    method: "POST",
    path: "/v1/withdrawals",
    tag: "Withdrawals",
    summary: "Withdraw to an address on the asset's chain",
    description: "Value and fee leave the account at once; a worker sends them. " +
      "`status` shows its end; if it failed, both are given back.",
    access: "user",
    cost: "chain",
    query: DryRun,
    body: NewWithdrawal,
    status: 201,
    makes: "/v1/withdrawals/{made}",
    answer: WithdrawalView,
    errors: [
      ...ESTIMATE_ERRORS,
      "alias.not_found",
      "permission.owner",
      "permission.role",
      "account.not_enabled",
      "account.inactive",
      "account.frozen",
      "account.no_ramp",
      "account.asset_mismatch",
      "asset.suspended",
      "balance.insufficient",
      "ramp.assets_insufficient",
      "ramp.gas_insufficient",
      "withdrawal.below_fee",
      "condition.failed",
      "rate.limited",
      "stop.active",
    ],
    handle: (call) =>
      command(
        call,
        async (tx) => viewWithdrawal(await createWithdrawal(tx, call.actor, call.body)),
        { lockLedger: true, dryRun: call.query.dry_run },
      ),
  }),
  ...collectionRoutes({
    collection: WITHDRAWALS,
    tag: "Withdrawals",
    one: "a withdrawal",
    view: WithdrawalView,
    mayLag: true,
  }),
  route({
    method: "PATCH",
    path: "/v1/withdrawals/{id}",
    tag: "Withdrawals",
    summary: "Change the free-form part of a withdrawal",
    access: "user",
    params: ById,
    body: z.strictObject({ data: FreeForm }),
    status: 200,
    answer: WithdrawalView,
    errors: ["withdrawal.not_found", "permission.owner", "permission.role"],
    handle: (call) => {
      const input = { ...call.params, ...call.body };
      return command(
        call,
        async (tx) => viewWithdrawal(await changeWithdrawal(tx, call.actor, input)),
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/withdrawals/{id}/speed-up",
    tag: "Withdrawals",
    summary: "Speed up a withdrawal",
    description:
      "Replaces the sent transaction: the same nonce, or the same coins, at a higher price. " +
      "The additional cost at the newest prices is charged. Once a block at most. `speed_up` has " +
      "the old and the new price. Bitcoin Cash and Dogecoin replace nothing that was sent, nor do " +
      "Solana and Tron: `withdrawal.not_cancelable`.",
    access: "user",
    cost: "chain",
    params: ById,
    query: DryRun,
    body: z.strictObject({
      speed: Speed,
      max_fee: MaxFee.optional().meta({
        description: "The most that the fee may be after it, in whole units of the account's " +
          "asset; it raises that of the withdrawal, which counts where it is unset.",
      }),
    }),
    status: 200,
    answer: WithdrawalView,
    errors: [
      "withdrawal.not_found",
      "withdrawal.not_cancelable",
      "balance.insufficient",
      "account.not_enabled",
      "account.inactive",
      "account.frozen",
      "ramp.gas_insufficient",
      "condition.failed",
      "rate.limited",
      "chain.stale",
      "permission.owner",
      "permission.role",
    ],
    handle: (call) => {
      const input = { ...call.params, ...call.body };
      return command(
        call,
        (tx) => speedUpWithdrawal(tx, call.actor, input),
        { lockLedger: true, dryRun: call.query.dry_run },
      );
    },
  }),
  route({
    method: "POST",
    path: "/v1/withdrawals/{id}/cancel",
    tag: "Withdrawals",
    summary: "Cancel a withdrawal that was not sent yet",
    description: "Of those that are signed already only a few may be canceled in a day.",
    access: "user",
    params: ById,
    query: DryRun,
    status: 200,
    answer: WithdrawalView,
    errors: [
      "withdrawal.not_found",
      "withdrawal.not_cancelable",
      "permission.owner",
      "permission.role",
      "rate.limited",
      "chain.quarantined",
    ],
    handle: (call) =>
      command(
        call,
        async (tx) => viewWithdrawal(await cancelWithdrawal(tx, call.actor, call.params.id)),
        { lockLedger: true, confirmed: true, dryRun: call.query.dry_run },
      ),
  }),
];
