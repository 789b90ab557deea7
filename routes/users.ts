/** HTTP face of users. @module */
import { z } from "zod";
import { hashPassword } from "../domain/passwords.ts";
import { assertMayCreateUser } from "../domain/permissions.ts";
import { createUser, findUser, NewUser, UserView, viewUser } from "../domain/users.ts";
import { command, query } from "./door.ts";
import { type AnyRoute, route } from "./route.ts";

const ById = z.strictObject({ id: z.string() });

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
  route({
    method: "GET",
    path: "/v1/users/{id}",
    tag: "Users",
    summary: "Read a user",
    access: "user",
    params: ById,
    status: 200,
    answer: UserView,
    errors: ["user.not_found"],
    handle: (call) =>
      query(call, async (db) => viewUser(await findUser(db, call.actor, call.params.id))),
  }),
];
