/** Routes of machine keys. @module */
import { z } from "zod";
import {
  API_KEYS,
  ApiKeyView,
  createApiKey,
  endApiKey,
  NewApiKey,
  NewApiKeyView,
} from "../domain/identity/api_keys.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { command } from "./http/execution.ts";
import { type AnyRoute, route } from "./http/route.ts";

/** The routes of machine keys. */
export const apiKeyRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/keys",
    tag: "Keys",
    summary: "Make a key for a machine",
    description: "It acts as its user, with the roles and scopes given (all of the user's unless " +
      "given) as far as the user has them at that moment. `key` is shown this once and sent as " +
      "x-api-key. This takes a login of the last 10 minutes.",
    access: "user",
    freshLogin: true,
    body: NewApiKey,
    status: 201,
    makes: "/v1/keys/{made}",
    answer: NewApiKeyView,
    errors: ["permission.role", "permission.scope"],
    handle: (call) => {
      return command(call, (tx) => createApiKey(tx, call.actor, call.body), { secret: true });
    },
  }),
  ...collectionRoutes({
    collection: API_KEYS,
    tag: "Keys",
    one: "a key",
    view: ApiKeyView,
  }),
  route({
    method: "DELETE",
    path: "/v1/keys/{id}",
    tag: "Keys",
    summary: "End a key, within a second everywhere",
    description: "For its user, for itself and for administrators of the realm.",
    access: "user",
    params: z.strictObject({ id: z.string() }),
    status: 200,
    answer: ApiKeyView,
    errors: ["key.not_found", "permission.role", "permission.scope"],
    handle: async (call) => {
      const reply = await command(call, (tx) => endApiKey(tx, call.actor, call.params.id));
      call.realm!.refresh();
      return reply;
    },
  }),
];
