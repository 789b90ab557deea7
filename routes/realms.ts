/** HTTP face of realms, for the operator of the installation. @module */
import { z } from "zod";
import { hashPassword } from "../domain/passwords.ts";
import {
  createRealm,
  findRealm,
  listRealms,
  NewRealm,
  NewRealmView,
  RealmView,
  viewMadeRealm,
  viewRealm,
} from "../domain/realms.ts";
import { createUser, NewUser, UserView, viewUser } from "../domain/users.ts";
import { runQuery } from "../domain/command.ts";
import { notFound } from "../domain/permissions.ts";
import { command, query } from "./door.ts";
import { type AnyRoute, route } from "./route.ts";

const ById = z.strictObject({ id: z.string() });
const Page = z.strictObject({
  after: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

/** The routes of realms. */
export const realmRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/realms",
    tag: "Realms",
    summary: "Create a realm",
    description: "The answer shows the keys once; keep them.",
    access: "platform",
    body: NewRealm,
    status: 201,
    answer: NewRealmView,
    errors: [],
    handle: async (call) => {
      const workshop = {
        ladders: call.services.ladders,
        roles: call.services.config.realmRoles,
        verifier: await hashPassword(call.body.admin.password),
      };
      return await command(
        call,
        async (tx) => viewMadeRealm(await createRealm(tx, call.actor, call.body, workshop)),
      );
    },
  }),
  route({
    method: "GET",
    path: "/v1/realms",
    tag: "Realms",
    summary: "List realms",
    access: "platform",
    query: Page,
    status: 200,
    answer: z.array(RealmView),
    errors: [],
    handle: (call) =>
      query(
        call,
        (db) => listRealms(db, { after: call.query.after ?? null, limit: call.query.limit }),
      ),
  }),
  route({
    method: "GET",
    path: "/v1/realms/{id}",
    tag: "Realms",
    summary: "Read a realm",
    access: "platform or user",
    params: ById,
    status: 200,
    answer: RealmView,
    errors: ["realm.not_found", "permission.role", "permission.scope"],
    handle: async ({ services, actor, params }) => ({
      status: 200,
      body: JSON.stringify(
        viewRealm(
          await runQuery(services.platform, (db) => findRealm(db, actor, params.id)),
        ),
      ),
    }),
  }),
  route({
    method: "POST",
    path: "/v1/realms/{id}/users",
    tag: "Realms",
    summary: "Create a user of a realm",
    access: "platform or user",
    params: ById,
    body: NewUser,
    status: 201,
    answer: UserView,
    errors: ["realm.not_found", "permission.role", "permission.scope", "username.taken"],
    handle: async (call) => {
      const { password, ...rest } = call.body;
      if (call.realm !== null && call.realm.id !== call.params.id) {
        throw notFound("realm.not_found");
      }
      const realm = call.realm ?? await call.services.realms.find(call.params.id);
      if (realm === null) throw notFound("realm.not_found");
      const actor = { ...call.actor, realm: realm.defaults() };
      const prepared = { ...rest, verifier: await hashPassword(password) };
      return await command(
        { ...call, realm, actor },
        async (tx) => viewUser(await createUser(tx, actor, prepared)),
      );
    },
  }),
];
