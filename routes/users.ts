/** Routes of users. @module */
import { z } from "zod";
import { assertFreshLogin } from "../domain/identity/api_keys.ts";
import { changePassword, NewPassword, provePassword } from "../domain/identity/password_changes.ts";
import { tellFormerAddress, tellSecurityChange } from "../domain/messages/notices.ts";
import { hashPassword } from "../domain/security/passwords.ts";
import { assertMayCreateUser } from "../domain/permissions.ts";
import { createUser, givesRights, NewUser, UserView, viewUser } from "../domain/identity/users.ts";
import {
  assertMayChange,
  type ChangeTerms,
  changeUser,
  removeUser,
  restoreUser,
  UserChange,
  USERS,
} from "../domain/identity/user_collection.ts";
import { DomainError } from "../domain/errors.ts";
import { collectionRoutes } from "./http/collection_routes.ts";
import { readEarly } from "./http/early_reads.ts";
import { command } from "./http/execution.ts";
import { guardOf, networkOf, rest } from "./http/login_guard.ts";
import { type AnyRoute, route } from "./http/route.ts";

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
    description: "Without `identity`, one is made with the realm's country and currency. A role " +
      "or scope beyond `user` and `own` takes a login of the last 10 minutes.",
    access: "user",
    freshLogin: givesRights,
    body: NewUser,
    status: 201,
    makes: "/v1/users/{made}",
    answer: UserView,
    errors: ["permission.role", "permission.scope", "username.taken", "identity.not_found"],
    handle: async (call) => {
      assertMayCreateUser(call.actor); // before the slow work on the password
      const { password, ...rest } = call.body;
      const prepared = { ...rest, verifier: await hashPassword(password, call.realm!.id) };
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
    restoreTakesLogin: true, // a restored user has the old password and the old rights
    errors: ["permission.scope", "username.taken"],
  }),
  route({
    method: "PATCH",
    path: "/v1/users/{id}",
    tag: "Users",
    summary: "Change a user",
    description: "A new password, role, scope or activity ends all keys that the user holds. " +
      "Another's password, `active: true`, another username, another e-mail address of an " +
      "administrator, and a role or scope beyond `user` and `own`, take a " +
      "login of the last 10 minutes; one's own password the present one: " +
      "`POST /v1/users/{id}/password`.",
    access: "user",
    params: ById,
    freshLogin: (body) => body.password !== undefined || body.active === true || givesRights(body),
    body: UserChange,
    status: 200,
    answer: UserView,
    errors: CHANGE_ERRORS,
    handle: async (call) => {
      const { password, ...rest } = call.body;
      if (password !== undefined) { // before the slow work on it
        assertNotOwnPassword(call.actor.user, call.params.id);
        await readEarly(call, (db) => assertMayChange(db, call.actor, call.params.id));
      }
      const verifier = password === undefined
        ? undefined
        : await hashPassword(password, call.realm!.id);
      const { config: { userKeyTtlS }, secrets } = call.services;
      const reply = await command(call, async (tx) => {
        const change = { ...rest, verifier };
        const assertFresh = () => assertFreshLogin(call.claims, call.at);
        const terms: ChangeTerms = {
          ...{ ttlS: userKeyTtlS, assertFresh },
          onNewEmail: (before) => tellFormerAddress(tx, call.actor, { before, secrets }),
          onNewPassword: (user) =>
            tellSecurityChange(tx, call.actor, { user, change: "password", secrets }),
        };
        return viewUser(await changeUser(tx, call.actor, call.params.id, change, terms));
      });
      call.realm!.refresh();
      return reply;
    },
  }),
  route({
    method: "POST",
    path: "/v1/users/{id}/password",
    tag: "Users",
    operation: "changePassword",
    summary: "Change one's own password",
    description: "Wrong present passwords count like wrong logins. All user keys end.",
    access: "user",
    params: ById,
    body: NewPassword,
    bodyMax: 4096,
    status: 200,
    answer: UserView,
    errors: ["user.not_found", "permission.owner", "auth.credentials"],
    handle: async (call) => {
      const { services, actor, params, body } = call;
      if (call.claims === null) throw new DomainError("auth.invalid", "this takes a login");
      const given = { user: params.id, password: body.password, network: networkOf(call.address) };
      const guard = guardOf(services);
      const { pool } = call.realm!;
      const { verifier } = await guard.inTurn(
        { realm: call.realm!.id, network: given.network, signal: call.signal() },
        () => provePassword(pool, actor, given, rest),
      );
      guard.welcome({ realm: call.realm!.id, network: given.network });
      const prepared = {
        was: verifier,
        verifier: await hashPassword(body.new_password, call.realm!.id),
      };
      const { config: { userKeyTtlS }, secrets } = services;
      const reply = await command(call, async (tx) => {
        const onNewPassword: ChangeTerms["onNewPassword"] = (user) =>
          tellSecurityChange(tx, actor, { user, change: "password", secrets });
        const terms = { ttlS: userKeyTtlS, onNewPassword };
        return viewUser(await changePassword(tx, actor, params.id, prepared, terms));
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
    description: "This takes a login of the last 10 minutes. A machine key shuts a user out " +
      "by `active: false`.",
    access: "user",
    freshLogin: true,
    params: ById,
    status: 200,
    answer: UserView,
    errors: CHANGE_ERRORS,
    handle: async (call) => {
      const { userKeyTtlS } = call.services.config;
      const reply = await command(
        call,
        (tx) => removeUser(tx, call.actor, call.params.id, userKeyTtlS),
      );
      call.realm!.refresh();
      return reply;
    },
  }),
];

/** A key alone, stolen for an hour, must not create a user that lasts. */
function assertNotOwnPassword(user: string, id: string): void {
  if (id !== user) return;
  const message = "one's own is changed by POST /v1/users/<id>/password, with the present one";
  throw new DomainError("request.invalid", `password: ${message}`, {
    errors: [{ path: "/password", message }],
  });
}
