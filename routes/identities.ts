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
import type { PeopleProvider } from "../domain/people/provider.ts";
import { notFound } from "../domain/permissions.ts";
import { assertMaySeeCompany } from "../domain/people/companies.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { readEarly } from "./http/early_reads.ts";
import { command } from "./http/execution.ts";
import { platformOf, withProfiles } from "./http/profiles.ts";
import { type AnyRoute, type Call, route } from "./http/route.ts";

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
      const find = await companyFinder(call, people, company);
      return await command(call, async (tx) => {
        await assertMaySeeCompany(tx, actor, people, company);
        if (!(await find(tx)).has(company)) {
          throw notFound("company.not_found", "/company");
        }
        return await changeIdentity(tx, actor, id, call.body);
      });
    },
  }),
];

/** Asks the platform for a company, after the checks that need no platform. */
async function companyFinder<P, Q, B>(call: Call<P, Q, B>, people: PeopleProvider, id: number) {
  const { actor } = call;
  await readEarly(call, (db) => assertMaySeeCompany(db, actor, people, id));
  return await people.companies.read(actor, [id]);
}
