/** Routes of a user's logins. @module */
import { z } from "zod";
import {
  endAllLogins,
  EndedView,
  endLogin,
  endOtherLogins,
  listLogins,
  type LoginsOf,
  LoginView,
} from "../domain/identity/logins.ts";
import { command, query } from "./http/execution.ts";
import { type AnyRoute, type Call, type Reply, route } from "./http/route.ts";

const shared = { tag: "Authentication", access: "user", status: 200 } as const;
const ById = z.strictObject({ id: z.string() });
const OfUser = z.strictObject({ id: z.string(), login: z.string() });
const EndedOne = z.object({ id: z.string(), ended: z.number().int() });
const USER_ERRORS = ["user.not_found", "permission.role", "permission.scope"] as const;
const HELD = "Each is a user key that holds; a machine key sees none. At most 100 hold at " +
  "once: one more ends the oldest.";
const REFUSED = "The key that it gave is refused within a second everywhere.";

/** The routes of logins. */
export const loginRoutes: readonly AnyRoute[] = [
  route({
    ...shared,
    method: "GET",
    path: "/v1/auth/logins",
    operation: "listOwnLogins",
    summary: "List one's own logins",
    description: HELD,
    answer: z.array(LoginView),
    errors: [],
    handle: (call) => query(call, (db) => listLogins(db, call.actor, of(call, call.actor.user))),
  }),
  route({
    ...shared,
    method: "DELETE",
    path: "/v1/auth/logins/{id}",
    operation: "endOwnLogin",
    summary: "End one of one's own logins",
    description: REFUSED,
    params: ById,
    answer: EndedOne,
    errors: ["login.not_found"],
    handle: (call) =>
      ending(call, async () => {
        const which = { ...of(call, call.actor.user), id: call.params.id };
        return await command(call, (tx) => endLogin(tx, call.actor, which));
      }),
  }),
  route({
    ...shared,
    method: "DELETE",
    path: "/v1/auth/logins",
    operation: "endOtherLogins",
    summary: "End all of one's own logins but the one in use",
    description: REFUSED,
    answer: EndedView,
    errors: [],
    handle: (call) =>
      ending(call, () => command(call, (tx) => endOtherLogins(tx, call.actor, call.claims))),
  }),
  route({
    ...shared,
    method: "GET",
    path: "/v1/users/{id}/logins",
    operation: "listUserLogins",
    summary: "List a user's logins",
    description: `One's own, or anybody's for administrators of the realm. ${HELD}`,
    params: ById,
    answer: z.array(LoginView),
    errors: USER_ERRORS,
    handle: (call) => query(call, (db) => listLogins(db, call.actor, of(call, call.params.id))),
  }),
  route({
    ...shared,
    method: "DELETE",
    path: "/v1/users/{id}/logins/{login}",
    operation: "endUserLogin",
    summary: "End one of a user's logins",
    description: REFUSED,
    params: OfUser,
    answer: EndedOne,
    errors: [...USER_ERRORS, "login.not_found"],
    handle: (call) =>
      ending(call, async () => {
        const which = { ...of(call, call.params.id), id: call.params.login };
        return await command(call, (tx) => endLogin(tx, call.actor, which));
      }),
  }),
  route({
    ...shared,
    method: "DELETE",
    path: "/v1/users/{id}/logins",
    operation: "endUserLogins",
    summary: "End all logins of a user",
    description: "One's own, the one in use too, or anybody's for administrators of the realm.",
    params: ById,
    answer: EndedOne,
    errors: USER_ERRORS,
    handle: (call) =>
      ending(call, async () => {
        const whose = of(call, call.params.id);
        return await command(call, (tx) => endAllLogins(tx, call.actor, whose));
      }),
  }),
];

function of<P, Q, B>({ claims, services }: Call<P, Q, B>, user: string): LoginsOf {
  return { user, claims, ttlS: services.config.userKeyTtlS };
}

async function ending<P, Q, B>(call: Call<P, Q, B>, end: () => Promise<Reply>): Promise<Reply> {
  const reply = await end();
  call.realm!.refresh();
  return reply;
}
