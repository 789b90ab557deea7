/** HTTP face of accounts. @module */
import { z } from "zod";
import { AccountView, createAccount, findAccount, NewAccount } from "../domain/accounts.ts";
import { findWholeEnabled, viewWholeAccount } from "../domain/account_views.ts";
import { createNamedDepositAccount } from "../domain/deposit_accounts.ts";
import { command, query } from "./door.ts";
import { type AnyRoute, route } from "./route.ts";

const Populate = z.strictObject({ populate: z.string().optional() });
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
    status: 201,
    answer: AccountView,
    errors: [
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
      "account.not_enabled",
      "account.inactive",
      "account.asset_mismatch",
    ],
    handle: (call) =>
      command(
        call,
        async (tx) => {
          const { chains } = call.services.config;
          const row = call.body.type === "deposit"
            ? await createNamedDepositAccount(tx, call.actor, call.body)
            : await createAccount(tx, call.actor, { ...call.body, chains });
          return await viewWholeAccount(tx, row);
        },
        { gate: true, ready: findWholeEnabled },
      ),
  }),
  route({
    method: "GET",
    path: "/v1/accounts/{id}",
    tag: "Accounts",
    summary: "Read an account",
    access: "user",
    params: ById,
    query: Populate,
    status: 200,
    answer: AccountView,
    errors: ["account.not_found"],
    handle: (call) =>
      query(
        call,
        async (db) =>
          await viewWholeAccount(db, await findAccount(db, call.actor, call.params.id), {
            address: call.query.populate?.includes("address"),
          }),
      ),
  }),
];
