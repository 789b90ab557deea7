/** Routes of identities. @module */
import { z } from "zod";
import { IdentityView } from "../domain/identity/identities.ts";
import {
  changeIdentity,
  createIdentityWithAlias,
  IDENTITIES,
  IdentityChange,
  NewIdentityWithAlias,
  removeIdentity,
} from "../domain/identity/identity_collection.ts";
import { assertCompanyThere, assertMaySeeCompany } from "../domain/people/companies.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { readEarly } from "./http/early_reads.ts";
import { command } from "./http/execution.ts";
import { platformOf, withProfiles } from "./http/profiles.ts";
import { type AnyRoute, route } from "./http/route.ts";

/** The routes of identities. */
export const identityRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/identities",
    tag: "Identities",
    summary: "Create an identity",
    access: "user",
    body: NewIdentityWithAlias,
    status: 201,
    makes: "/v1/identities/{made}",
    answer: IdentityView,
    errors: ["alias.taken"],
    handle: (call) => command(call, (tx) => createIdentityWithAlias(tx, call.actor, call.body)),
  }),
  ...withProfiles(collectionRoutes({
    collection: IDENTITIES,
    tag: "Identities",
    one: "an identity",
    view: IdentityView,
    mayLag: true,
    remove: (tx, actor, id) => removeIdentity(tx, actor, id, "delete"),
    restore: (tx, actor, id) => removeIdentity(tx, actor, id, "undelete"),
  })),
  route({
    method: "PATCH",
    path: "/v1/identities/{id}",
    tag: "Identities",
    summary: "Change an identity",
    access: "user",
    params: z.strictObject({ id: z.string() }),
    body: IdentityChange,
    status: 200,
    answer: IdentityView,
    errors: [
      "identity.not_found",
      "permission.role",
      "permission.owner",
      "permission.scope",
      "company.not_found",
      "extension.disabled",
      "upstream.failed",
      "upstream.timeout",
    ],
    handle: async (call) => {
      const { actor, body: { company }, params: { id } } = call;
      if (company === undefined || company === null) {
        return await command(call, (tx) => changeIdentity(tx, actor, id, call.body));
      }
      const people = await platformOf(call);
      await readEarly(call, (db) => assertMaySeeCompany(db, actor, people, company));
      await assertCompanyThere(people, company);
      return await command(call, async (tx) => {
        await assertMaySeeCompany(tx, actor, people, company);
        return await changeIdentity(tx, actor, id, call.body);
      });
    },
  }),
];
