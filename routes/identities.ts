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
import { collectionRoutes } from "./http/collection_routes.ts";
import { command } from "./http/execution.ts";
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
    answer: IdentityView,
    errors: ["alias.taken"],
    handle: (call) => command(call, (tx) => createIdentityWithAlias(tx, call.actor, call.body)),
  }),
  ...collectionRoutes({
    collection: IDENTITIES,
    tag: "Identities",
    one: "an identity",
    view: IdentityView,
    remove: (tx, actor, id) => removeIdentity(tx, actor, id, "delete"),
    restore: (tx, actor, id) => removeIdentity(tx, actor, id, "undelete"),
  }),
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
    errors: ["identity.not_found", "permission.role", "permission.owner"],
    handle: (call) =>
      command(call, (tx) => changeIdentity(tx, call.actor, call.params.id, call.body)),
  }),
];
