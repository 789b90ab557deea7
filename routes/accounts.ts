/** HTTP face of accounts. @module */
import { z } from "zod";
import {
  AccountView,
  createAccount,
  findAccount,
  findEnabled,
  NewAccount,
  viewAccount,
} from "../domain/accounts.ts";
import { command, query } from "./door.ts";
import { type AnyRoute, route } from "./route.ts";

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
    ],
    handle: (call) =>
      command(
        call,
        async (tx) => viewAccount(await createAccount(tx, call.actor, call.body)),
        { gate: true, ready: findEnabled },
      ),
  }),
  route({
    method: "GET",
    path: "/v1/accounts/{id}",
    tag: "Accounts",
    summary: "Read an account",
    access: "user",
    params: ById,
    status: 200,
    answer: AccountView,
    errors: ["account.not_found"],
    handle: (call) =>
      query(
        call,
        async (db) => viewAccount(await findAccount(db, call.actor, call.params.id)),
      ),
  }),
];
