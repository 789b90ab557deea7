/** Routes of aliases. @module */
import { z } from "zod";
import {
  AliasChange,
  ALIASES,
  AliasView,
  changeAlias,
  createAlias,
  NewAlias,
  removeAlias,
  viewAlias,
} from "../domain/identity/aliases.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { command } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

/** The routes of aliases. */
export const aliasRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/aliases",
    tag: "Aliases",
    summary: "Give an account or an identity an alias",
    access: "user",
    body: NewAlias,
    status: 201,
    makes: "/v1/aliases/{made}",
    answer: AliasView,
    errors: ["alias.taken", "account.not_found", "identity.not_found", "permission.owner"],
    handle: (call) =>
      command(call, async (tx) => viewAlias(await createAlias(tx, call.actor, call.body))),
  }),
  ...collectionRoutes({
    collection: ALIASES,
    tag: "Aliases",
    one: "an alias",
    view: AliasView,
    mayLag: true,
    remove: (tx, actor, id) => removeAlias(tx, actor, id, "delete"),
    restore: (tx, actor, id) => removeAlias(tx, actor, id, "undelete"),
  }),
  route({
    method: "PATCH",
    path: "/v1/aliases/{id}",
    tag: "Aliases",
    summary: "Change an alias's data",
    access: "user",
    params: z.strictObject({ id: z.string() }),
    body: AliasChange,
    status: 200,
    answer: AliasView,
    errors: ["alias.not_found", "permission.role", "permission.owner"],
    handle: (call) =>
      command(
        call,
        async (tx) => viewAlias(await changeAlias(tx, call.actor, call.params.id, call.body)),
      ),
  }),
];
