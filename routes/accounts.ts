/** Routes of accounts. @module */
import { z } from "zod";
import {
  AccountChange,
  ACCOUNTS,
  changeAccount,
  enabledAmong,
  findReady,
  nameAccount,
  removeAccount,
  restoreAccount,
  type SetState,
  setState,
  StateChange,
} from "../domain/accounts/account_collection.ts";
import { AccountView, createAccount, NewAccount } from "../domain/accounts/accounts.ts";
import { createNamedDepositAccount } from "../domain/deposits/deposit_accounts.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { command } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });

/** The routes of accounts. */
export const accountRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/accounts",
    tag: "Accounts",
    summary: "Create an account",
    description: "Creation is asynchronous: the account is ready when `enabled` is true. " +
      "`Prefer: wait=N` waits for that.",
    access: "user",
    body: NewAccount,
    waits: true,
    status: 201,
    makes: "/v1/accounts/{made}",
    answer: AccountView,
    errors: [
      "alias.taken",
      "asset.unknown",
      "asset.no_testnet",
      "identity.not_found",
      "user.not_found",
      "permission.role",
      "permission.scope",
      "chain.not_configured",
      "asset.suspended",
      "ramp.not_found",
      "account.no_ramp",
      "chain.quarantined",
      "account.not_enabled",
      "account.inactive",
      "account.asset_mismatch",
    ],
    handle: (call) =>
      command(
        call,
        async (tx) => {
          const row = call.body.type === "deposit"
            ? await createNamedDepositAccount(tx, call.actor, call.body)
            : await createAccount(tx, call.actor, call.body);
          return await nameAccount(tx, call.actor, row, call.body.alias);
        },
        {
          lockLedger: true,
          confirmed: call.body.type !== "virtual",
          ready: { among: enabledAmong, view: findReady },
        },
      ),
  }),
  ...collectionRoutes({
    collection: ACCOUNTS,
    tag: "Accounts",
    one: "an account",
    view: AccountView,
    mayLag: true,
    lockLedger: true,
    remove: removeAccount,
    restore: restoreAccount,
    errors: ["account.not_empty"],
  }),
  route({
    method: "PATCH",
    path: "/v1/accounts/{id}",
    tag: "Accounts",
    summary: "Change an account",
    access: "user",
    params: ById,
    body: AccountChange,
    status: 200,
    answer: AccountView,
    errors: [
      "account.not_found",
      "permission.owner",
      "permission.role",
      "permission.scope",
      "ramp.not_found",
      "account.asset_mismatch",
      "account.no_ramp",
      "account.not_enabled",
      "account.inactive",
    ],
    handle: (call) =>
      command(call, (tx) => changeAccount(tx, call.actor, call.params.id, call.body), {
        lockLedger: true,
      }),
  }),
  stateRoute("freeze", "Freeze an account: it receives and does not send"),
  stateRoute("unfreeze", "Unfreeze an account"),
  stateRoute("deactivate", "Deactivate an empty account: it neither sends nor receives"),
  stateRoute("activate", "Activate an account"),
];

function stateRoute(
  state: SetState,
  summary: string,
): AnyRoute {
  return route({
    method: "POST",
    path: `/v1/accounts/{id}/${state}`,
    tag: "Accounts",
    summary,
    access: "user",
    params: ById,
    body: StateChange,
    status: 200,
    answer: AccountView,
    errors: [
      "account.not_found",
      "permission.owner",
      "permission.role",
      "permission.scope",
      "account.not_empty",
      "account.not_enabled",
    ],
    handle: (call) =>
      command(
        call,
        (tx) => setState(tx, call.actor, call.params.id, { ...call.body, state }),
        { lockLedger: true },
      ),
  });
}
