/** Routes of external ramps: accounts at exchanges, and transfers to and from them. @module */
import { z } from "zod";
import { answerable } from "../domain/answers.ts";
import { pageOf } from "../domain/collections/list_parameters.ts";
import { DryRun } from "../domain/entity.ts";
import type { ErrorCode } from "../domain/errors.ts";
import { allExchanges } from "../domain/exchanges/exchange_list.ts";
import {
  changeExternalRamp,
  countriesOf,
  createExternalRamp,
  ExchangeAssetView,
  ExchangeView,
  EXTERNAL_RAMPS,
  ExternalRampChange,
  ExternalRampView,
  listExchangeAssets,
  NewExternalRamp,
  removeExternalRamp,
  viewExchange,
  viewExternalRamp,
} from "../domain/exchanges/external_ramps.ts";
import {
  NewRampDeposit,
  NewRampWithdraw,
  RampTransferList,
  RampTransferView,
  TransferResolution,
  viewRampTransfer,
} from "../domain/exchanges/ramp_transfer_views.ts";
import {
  createRampDeposit,
  createRampWithdraw,
  findRampTransfer,
  listRampTransfers,
  resolveRampTransfer,
} from "../domain/exchanges/ramp_transfers.ts";
import { collectionRoutes, pageView } from "./http/collection_routes.ts";
import { command, query, search } from "./http/execution.ts";
import { type AnyRoute, PAGES, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const OfTransfer = z.strictObject({ id: z.string(), transfer: z.string() });
const TAG = "External ramps";
/** The refusals of an exchange, as a worker last heard them. */
const UPSTREAM: readonly ErrorCode[] = [
  "upstream.failed",
  "upstream.timeout",
  "chain.stale",
];
/** The refusals of every transfer. */
const REFUSALS: readonly ErrorCode[] = [
  ...UPSTREAM,
  "ramp.not_found",
  "account.not_found",
  "account.asset_mismatch",
  "account.not_enabled",
  "account.inactive",
  "account.no_ramp",
  "asset.unknown",
  "asset.no_testnet",
  "asset.suspended",
  "chain.not_configured",
  "chain.quarantined",
  "permission.owner",
  "permission.role",
  "stop.active",
];

const recordRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/ramps",
    tag: TAG,
    summary: "Give an identity authentication data at an exchange",
    description: "They are encrypted at once, for workers alone, and never shown again. A worker " +
      "asks the exchange whether it accepts them: `status`.",
    access: "user",
    body: NewExternalRamp,
    status: 201,
    makes: "/v1/ramps/{made}",
    answer: ExternalRampView,
    errors: ["identity.not_found", "permission.owner", "permission.role", "service.overloaded"],
    handle: (call) =>
      command(
        call,
        async (tx) => viewExternalRamp(await createExternalRamp(tx, call.actor, call.body)),
      ),
  }),
  route({
    method: "GET",
    path: "/v1/ramps/supported",
    operation: "listSupportedRamps",
    tag: TAG,
    summary: "List the exchanges that are supported",
    access: "user",
    status: 200,
    answer: z.array(ExchangeView),
    errors: [],
    handle: (call) => query(call, () => Promise.resolve(allExchanges().map(viewExchange))),
  }),
  ...collectionRoutes({
    collection: EXTERNAL_RAMPS,
    tag: TAG,
    one: "an external ramp",
    view: ExternalRampView,
    remove: (tx, actor, id) => removeExternalRamp(tx, actor, id, "delete"),
    restore: (tx, actor, id) => removeExternalRamp(tx, actor, id, "undelete"),
  }),
  route({
    method: "PATCH",
    path: "/v1/ramps/{id}",
    tag: TAG,
    summary: "Change an external ramp's data, or replace its authentication data",
    description:
      "With `authentication` this takes a login of the last ten minutes, and no machine " +
      "key: it decides where later withdrawals go.",
    access: "user",
    freshLogin: ({ authentication }) => authentication !== undefined,
    params: ById,
    body: ExternalRampChange,
    status: 200,
    answer: ExternalRampView,
    errors: ["ramp.not_found", "permission.owner", "permission.role", "service.overloaded"],
    handle: (call) =>
      command(call, async (tx) => {
        const input = { ...call.body, ...call.params };
        return viewExternalRamp(await changeExternalRamp(tx, call.actor, input));
      }),
  }),
  route({
    method: "GET",
    path: "/v1/ramps/{id}/countries",
    operation: "listRampCountries",
    tag: TAG,
    summary: "List the countries of an exchange, by its id or an external ramp's",
    access: "user",
    params: ById,
    status: 200,
    answer: z.array(z.string()),
    errors: ["ramp.not_found"],
    handle: (call) => query(call, (db) => countriesOf(db, call.actor, call.params.id)),
  }),
  route({
    method: "GET",
    path: "/v1/ramps/{id}/assets",
    operation: "listRampAssets",
    tag: TAG,
    summary: "List the assets that the exchange moves",
    description: "As a worker last read them. 502 `upstream.failed` with the exchange's reason " +
      "where it refuses the key.",
    access: "user",
    params: ById,
    status: 200,
    answer: z.array(ExchangeAssetView),
    errors: [...UPSTREAM, "ramp.not_found"],
    handle: (call) => query(call, (db) => listExchangeAssets(db, call.actor, call.params.id)),
  }),
];

const transferRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/ramps/{id}/deposit",
    tag: TAG,
    summary: "Have an exchange pay to an account",
    description: "The exchange is asked once to pay to the account's address. `DONE` when the " +
      "chain has brought it and it is credited as a deposit.",
    operation: "depositFromRamp",
    access: "user",
    cost: "chain",
    params: ById,
    query: DryRun,
    body: NewRampDeposit,
    status: 201,
    makes: "/v1/ramps/{id}/transfers/{made}",
    answer: RampTransferView,
    errors: REFUSALS,
    handle: (call) =>
      command(call, async (tx) => {
        const input = { ...call.body, ramp: call.params.id, isDryRun: call.query.dry_run };
        return viewRampTransfer(await createRampDeposit(tx, call.actor, input));
      }, { lockLedger: true, confirmed: true, dryRun: call.query.dry_run }),
  }),
  route({
    method: "POST",
    path: "/v1/ramps/{id}/withdraw",
    tag: TAG,
    summary: "Withdraw from an account to an exchange",
    description:
      "The value is blocked at once. A worker asks the exchange for its address, checks " +
      "it, and makes the withdrawal. `DONE` when the exchange has credited it.",
    operation: "withdrawToRamp",
    access: "user",
    cost: "chain",
    params: ById,
    query: DryRun,
    body: NewRampWithdraw,
    status: 201,
    makes: "/v1/ramps/{id}/transfers/{made}",
    answer: RampTransferView,
    errors: [...REFUSALS, "account.frozen", "address.invalid", "balance.insufficient"],
    handle: (call) =>
      command(call, async (tx) => {
        const input = { ...call.body, ramp: call.params.id };
        return viewRampTransfer(await createRampWithdraw(tx, call.actor, input));
      }, { lockLedger: true, confirmed: true, dryRun: call.query.dry_run }),
  }),
  route({
    method: "GET",
    path: "/v1/ramps/{id}/transfers",
    operation: "listRampTransfers",
    tag: TAG,
    summary: "List the transfers of an external ramp",
    access: "user",
    params: ById,
    query: RampTransferList,
    status: 200,
    answer: pageView(RampTransferView),
    continues: PAGES,
    errors: ["ramp.not_found"],
    handle: (call) =>
      search(call, async (db) => {
        const input = { ...call.query, ramp: call.params.id };
        const found = await listRampTransfers(db, call.actor, input);
        return pageOf(found.page, answerable(found.rows.map(viewRampTransfer)), found.total);
      }),
  }),
  route({
    method: "GET",
    path: "/v1/ramps/{id}/transfers/{transfer}",
    operation: "getRampTransfer",
    tag: TAG,
    summary: "Read a transfer",
    access: "user",
    params: OfTransfer,
    status: 200,
    answer: RampTransferView,
    errors: ["ramp.not_found", "transfer.not_found"],
    handle: (call) =>
      query(call, async (db) => {
        const name = { ramp: call.params.id, transfer: call.params.transfer };
        return viewRampTransfer(await findRampTransfer(db, call.actor, name));
      }),
  }),
  route({
    method: "POST",
    path: "/v1/ramps/{id}/transfers/{transfer}/resolve",
    tag: TAG,
    summary: "Say what became of a transfer that is unclear",
    description: "For a person who has looked at the exchange.",
    operation: "resolveRampTransfer",
    access: "user",
    params: OfTransfer,
    body: TransferResolution,
    status: 200,
    answer: RampTransferView,
    errors: [
      "ramp.not_found",
      "transfer.not_found",
      "version.conflict",
      "permission.owner",
      "permission.role",
      "chain.quarantined",
      "stop.active",
      "account.frozen",
      "account.inactive",
      "account.no_ramp",
    ],
    handle: (call) =>
      command(call, async (tx) => {
        const { id: ramp, transfer } = call.params;
        const input = { ...call.body, ramp, transfer };
        return viewRampTransfer(await resolveRampTransfer(tx, call.actor, input));
      }, { lockLedger: true }),
  }),
];

/** The routes of external ramps. */
export const externalRampRoutes: readonly AnyRoute[] = [
  ...recordRoutes,
  ...transferRoutes,
];
