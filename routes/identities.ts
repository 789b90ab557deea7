/** HTTP face of identities. @module */
import { z } from "zod";
import {
  createIdentity,
  findIdentity,
  IdentityView,
  NewIdentity,
  viewIdentity,
} from "../domain/identities.ts";
import { command, query } from "./door.ts";
import { type AnyRoute, route } from "./route.ts";

const ById = z.strictObject({ id: z.string() });

/** The routes of identities. */
export const identityRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/identities",
    tag: "Identities",
    summary: "Create an identity",
    access: "user",
    body: NewIdentity,
    status: 201,
    answer: IdentityView,
    errors: [],
    handle: (call) =>
      command(
        call,
        async (tx) => viewIdentity(await createIdentity(tx, call.actor, call.body)),
      ),
  }),
  route({
    method: "GET",
    path: "/v1/identities/{id}",
    tag: "Identities",
    summary: "Read an identity",
    access: "user",
    params: ById,
    status: 200,
    answer: IdentityView,
    errors: ["identity.not_found"],
    handle: (call) =>
      query(
        call,
        async (db) => viewIdentity(await findIdentity(db, call.actor, call.params.id)),
      ),
  }),
];
