/** Routes of watched addresses. @module */
import { z } from "zod";
import { LIMIT_MAX } from "../domain/collections/list_parameters.ts";
import { foreignForms } from "../domain/chains/address_directory.ts";
import {
  assignAddress,
  AssignedList,
  ExternalAddressView,
  listAssigned,
  unassignAddress,
} from "../domain/accounts/external_addresses.ts";
import { readPlatformEarly } from "./http/early_reads.ts";
import { command, search } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const ByAddress = z.strictObject({ id: z.string(), external_address: z.string() });
const ERRORS = [
  "account.not_found",
  "asset.unknown",
  "permission.role",
  "permission.owner",
] as const;

/** The routes of watched addresses. */
export const externalAddressRoutes: readonly AnyRoute[] = [
  route({
    method: "GET",
    path: "/v1/accounts/{id}/assign",
    tag: "Accounts",
    summary: "List the external addresses assigned to an account",
    description: "Oldest first, at most 1000 from `offset`.",
    access: "user",
    params: ById,
    query: AssignedList,
    status: 200,
    answer: z.array(ExternalAddressView),
    continues: { usual: LIMIT_MAX },
    errors: ["account.not_found"],
    handle: (call) => {
      const of = { ...call.query, account: call.params.id };
      return search(call, (db) => listAssigned(db, call.actor, of));
    },
  }),
  route({
    method: "POST",
    path: "/v1/accounts/{id}/assign/{external_address}",
    tag: "Accounts",
    operation: "assignExternalAddress",
    summary:
      "Assign an external address: deposits that arrive there from now on show in the account",
    description:
      "Value that arrives there is part of `balance.total` and of `balance.linked`, and never " +
      "available. An address of the service's own, given out or to be given out in any realm, is " +
      "refused like one that is linked already: the refusal reveals that it is taken, not its owner.",
    access: "user",
    params: ByAddress,
    status: 200,
    answer: ExternalAddressView,
    errors: [...ERRORS, "address.invalid", "address.assigned"],
    handle: async (call) => {
      const { services: { platform }, actor } = call;
      const { id: account, external_address: address } = call.params;
      const find = () => foreignForms(platform, actor.realm.id, address);
      const elsewhere = await readPlatformEarly(call, find);
      const input = { account, address, elsewhere };
      return await command(call, (tx) => assignAddress(tx, actor, input));
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/accounts/{id}/assign/{external_address}",
    tag: "Accounts",
    operation: "unassignExternalAddress",
    summary: "Take an external address from an account; its balance stays as it is",
    description: "Answers with the remaining addresses: the oldest 1000.",
    access: "user",
    params: ByAddress,
    status: 200,
    answer: z.array(ExternalAddressView),
    errors: [...ERRORS, "address.not_found"],
    handle: (call) =>
      command(call, (tx) =>
        unassignAddress(tx, call.actor, {
          account: call.params.id,
          address: call.params.external_address,
        })),
  }),
];
