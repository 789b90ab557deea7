/** Routes of deposit addresses. @module */
import { z } from "zod";
import { LIMIT_MAX } from "../domain/collections/list_parameters.ts";
import { enabledAmong, findReadyAddress } from "../domain/accounts/account_collection.ts";
import { viewWholeAccount } from "../domain/accounts/account_views.ts";
import { AccountView } from "../domain/accounts/accounts.ts";
import {
  addAddress,
  AddressList,
  AddressView,
  listAddresses,
  NewAddress,
} from "../domain/deposits/deposit_accounts.ts";
import { AddressUsesView, findAddress } from "../domain/deposits/explanations.ts";
import { command, query, search } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });

/** The routes of deposit addresses. */
export const addressRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/addresses/{address}",
    tag: "Accounts",
    operation: "findAddress",
    summary: "Tell whose an address is, and for what",
    description: "In any form that its chain knows. An address that the caller may not see is " +
      "not found.",
    access: "user",
    params: z.strictObject({ address: z.string() }),
    status: 200,
    answer: AddressUsesView,
    errors: ["address.not_found"],
    handle: (call) => query(call, (db) => findAddress(db, call.actor, call.params.address)),
  }),
  route({
    method: "GET",
    path: "/v1/accounts/{id}/address",
    tag: "Accounts",
    summary: "List the addresses that deposits for an account can be sent to",
    description: "Oldest first, at most 1000; `after` continues after the last one.",
    access: "user",
    params: ById,
    query: AddressList,
    status: 200,
    answer: z.array(AddressView),
    continues: { cursor: "id", usual: LIMIT_MAX },
    errors: ["account.not_found"],
    handle: (call) => {
      const of = { ...call.query, account: call.params.id };
      return search(call, (db) => listAddresses(db, call.actor, of), false, LIMIT_MAX);
    },
  }),
  route({
    method: "POST",
    path: "/v1/accounts/{id}/address",
    tag: "Accounts",
    summary: "Make a new deposit account with an address of its own",
    description: "On a ramp account, deposits stay on the ramp; on a virtual account, a deposit " +
      "account of its ramp is made whose deposits go on to it.",
    access: "user",
    params: ById,
    body: NewAddress,
    waits: true,
    status: 201,
    makes: "/v1/accounts/{made}",
    answer: AccountView,
    errors: [
      "account.not_found",
      "account.no_ramp",
      "chain.quarantined",
      "account.not_enabled",
      "account.inactive",
      "asset.suspended",
      "permission.role",
      "permission.owner",
    ],
    handle: (call) =>
      command(call, async (tx) => {
        const input = { account: call.params.id, data: call.body.data };
        return await viewWholeAccount(tx, await addAddress(tx, call.actor, input), {
          addressFor: call.actor,
        });
      }, {
        lockLedger: true,
        confirmed: true,
        ready: { among: enabledAmong, view: findReadyAddress },
      }),
  }),
];
