/** HTTP face of users. @module */
import { z } from "zod";
import { runQuery } from "../domain/command.ts";
import { hashPassword } from "../domain/passwords.ts";
import { assertMayCreateUser } from "../domain/permissions.ts";
import { createUser, NewUser, UserView, viewUser } from "../domain/users.ts";
import {
  assertMayChange,
  changeUser,
  removeUser,
  restoreUser,
  UserChange,
  USERS,
} from "../domain/user_changes.ts";
import { collectionRoutes } from "./collection.ts";
import { command } from "./door.ts";
import { type AnyRoute, route } from "./route.ts";

const ById = z.strictObject({ id: z.string() });
const CHANGE_ERRORS = [
  "user.not_found",
  "permission.role",
  "permission.scope",
  "permission.owner",
  "user.last_admin",
  "username.taken",
] as const;

/** The routes of users. */
export const userRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/users",
    tag: "Users",
    summary: "Create a user",
    description: "Without `identity`, one is made with the realm's country and currency.",
    access: "user",
    body: NewUser,
    status: 201,
    answer: UserView,
    errors: ["permission.role", "permission.scope", "username.taken", "identity.not_found"],
    handle: async (call) => {
      assertMayCreateUser(call.actor); // before the slow work on the password
      const { password, ...rest } = call.body;
      const prepared = { ...rest, verifier: await hashPassword(password) };
      return await command(
        call,
        async (tx) => viewUser(await createUser(tx, call.actor, prepared)),
      );
    },
  }),
  ...collectionRoutes({
    collection: USERS,
    tag: "Users",
    one: "a user",
    view: UserView,
    restore: restoreUser,
    errors: ["permission.scope", "username.taken"],
  }),
  route({
    method: "PATCH",
    path: "/v1/users/{id}",
    tag: "Users",
    summary: "Change a user",
    description: "A new password, role, scope or activity ends all keys that the user holds.",
    access: "user",
    params: ById,
    body: UserChange,
    status: 200,
    answer: UserView,
    errors: CHANGE_ERRORS,
    handle: async (call) => {
      const { password, ...rest } = call.body;
      if (password !== undefined) { // before the slow work on it
        await runQuery(call.realm!.pool, (db) => assertMayChange(db, call.actor, call.params.id));
      }
      const verifier = password === undefined ? undefined : await hashPassword(password);
      const { tokenTtlS } = call.services.config;
      const reply = await command(call, async (tx) => {
        const change = { ...rest, verifier };
        return viewUser(await changeUser(tx, call.actor, call.params.id, change, tokenTtlS));
      });
      call.realm!.refresh();
      return reply;
    },
  }),
  route({
    method: "DELETE",
    path: "/v1/users/{id}",
    tag: "Users",
    summary: "Delete a user; all keys it holds end",
    access: "user",
    params: ById,
    status: 200,
    answer: UserView,
    errors: CHANGE_ERRORS,
    handle: async (call) => {
      const { tokenTtlS } = call.services.config;
      const reply = await command(
        call,
        (tx) => removeUser(tx, call.actor, call.params.id, tokenTtlS),
      );
      call.realm!.refresh();
      return reply;
    },
  }),
];
