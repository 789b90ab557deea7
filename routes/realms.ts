/** Routes of realms, for the operator of the installation. @module */
import { z } from "zod";
import { abandonRealm, prepareRealm } from "../domain/realms/provisioning.ts";
import { hashPassword } from "../domain/security/passwords.ts";
import {
  addApplicationKey,
  changeRealm,
  createRealm,
  endApplicationKey,
  findRealm,
  listApplicationKeys,
  listRealms,
  NewRealm,
  NewRealmView,
  RealmChange,
  RealmView,
  viewApplicationKey,
  viewCreatedRealm,
  viewRealm,
} from "../domain/realms/realms.ts";
import {
  endPreviousRealmKey,
  replaceRealmKey,
  viewRealmWithKeys,
} from "../domain/realms/realm_keys.ts";
import { createUser, givesRights, NewUser, UserView, viewUser } from "../domain/identity/users.ts";
import { isKept } from "../domain/command.ts";
import { assertMayCreateUser, notFound } from "../domain/permissions.ts";
import { command, query } from "./http/execution.ts";
import { ENDLESS } from "./http/rate_limits.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const Page = z.strictObject({
  after: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(1000).default(100),
});

const ByKey = z.strictObject({ id: z.string(), key: z.string() });
const KeyFields = {
  id: z.string(),
  created_at: z.number().int(),
  revoked_at: z.number().int().optional(),
};
const KeyView = z.object(KeyFields).meta({ id: "ApplicationKey" });
const NewKeyView = z.object({ ...KeyFields, "x-api-key": z.string() })
  .meta({ id: "NewApplicationKey" });

/** The routes of realms. */
export const realmRoutes: readonly AnyRoute[] = [
  route({
    method: "POST",
    path: "/v1/realms",
    tag: "Realms",
    summary: "Create a realm",
    description: "The answer shows the keys once; keep them.",
    access: "platform",
    admin: true,
    body: NewRealm,
    status: 201,
    makes: "/v1/realms/{made}",
    answer: NewRealmView,
    errors: [],
    handle: async (call) => {
      const { provisioning } = call.services;
      // The answer of a repeat is stored, so nothing is built for it.
      const again = await isKept(call.services.platform, call.idempotency);
      const input = call.body;
      const verifier = again ? null : await hashPassword(input.admin.password, "");
      const prepared = await prepareRealm(provisioning, call.actor, input, verifier);
      try {
        const reply = await command(
          { ...call, services: { ...call.services, platform: provisioning.database.builder } },
          async (tx) => viewCreatedRealm(await createRealm(tx, call.actor, input, prepared)),
          { secret: true },
        );
        if (reply.headers?.["idempotency-replayed"]) await abandonRealm(provisioning, prepared);
        return reply;
      } catch (error) {
        await abandonRealm(provisioning, prepared).catch(() => {}); // the next provisioning tries again
        throw error;
      }
    },
  }),
  route({
    method: "GET",
    path: "/v1/realms",
    tag: "Realms",
    summary: "List realms",
    access: "platform",
    admin: true,
    query: Page,
    status: 200,
    answer: z.array(RealmView),
    continues: { cursor: "id", usual: 100 },
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
    admin: true,
    params: ById,
    status: 200,
    answer: RealmView,
    errors: ["realm.not_found", "permission.role", "permission.scope"],
    handle: (call) =>
      query({ ...call, realm: null }, async (db) => {
        const { actor, params } = call;
        const view = actor.kind === "operator" ? viewRealmWithKeys : viewRealm;
        return view(await findRealm(db, actor, params.id));
      }),
  }),
  route({
    method: "PATCH",
    path: "/v1/realms/{id}",
    tag: "Realms",
    summary: "Change a realm",
    description: "For the operator, and but for `tier` for the realm's administrators. " +
      "A new country or currency applies to entities created from then on. `withdrawals`, " +
      "`chains` and `messages` take a login of the last 10 minutes.",
    access: "platform or user",
    admin: true,
    params: ById,
    freshLogin: ({ withdrawals, chains, messages }) =>
      [withdrawals, chains, messages].some((settings) => settings !== undefined),
    body: RealmChange,
    status: 200,
    answer: RealmView,
    errors: ["realm.not_found", "permission.role", "permission.scope"],
    handle: async (call) => {
      const { actor, body, params, services } = call;
      const reply = await command(
        { ...call, realm: null },
        async (tx) => viewRealm(await changeRealm(tx, actor, params.id, body)),
        { realm: params.id },
      );
      (await services.realms.find(params.id))?.refresh();
      return reply;
    },
  }),
  route({
    method: "POST",
    path: "/v1/realms/{id}/realm-key",
    tag: "Realms",
    summary: "Replace the realm key",
    description: "The one before holds beside it until it is ended or replaced again.",
    access: "platform",
    admin: true,
    params: ById,
    status: 201,
    answer: RealmView,
    errors: ["realm.not_found"],
    handle: ({ params, ...call }) =>
      command(
        { ...call, params },
        async (tx) => viewRealmWithKeys(await replaceRealmKey(tx, params.id)),
        { secret: true, realm: params.id },
      ),
  }),
  route({
    method: "DELETE",
    path: "/v1/realms/{id}/realm-key/previous",
    tag: "Realms",
    summary: "End the realm key before the present one",
    access: "platform",
    admin: true,
    params: ById,
    status: 200,
    answer: RealmView,
    errors: ["realm.not_found", "key.not_found"],
    handle: ({ params, ...call }) =>
      command(
        { ...call, params },
        async (tx) => viewRealmWithKeys(await endPreviousRealmKey(tx, params.id)),
        { realm: params.id },
      ),
  }),
  route({
    method: "POST",
    path: "/v1/realms/{id}/keys",
    tag: "Realms",
    summary: "Create an application key",
    description: "Keys there are go on working until they are deleted.",
    access: "platform",
    admin: true,
    params: ById,
    status: 201,
    answer: NewKeyView,
    errors: ["realm.not_found"],
    handle: (call) =>
      command(call, async (tx) => {
        const { key, ...row } = await addApplicationKey(tx, call.actor, call.params.id);
        return { ...viewApplicationKey(row), "x-api-key": key };
      }, { secret: true, realm: call.params.id }),
  }),
  route({
    method: "GET",
    path: "/v1/realms/{id}/keys",
    tag: "Realms",
    summary: "List application keys, without the keys themselves",
    access: "platform",
    admin: true,
    params: ById,
    status: 200,
    answer: z.array(KeyView),
    errors: ["realm.not_found"],
    handle: (call) => query(call, (db) => listApplicationKeys(db, call.actor, call.params.id)),
  }),
  route({
    method: "DELETE",
    path: "/v1/realms/{id}/keys/{key}",
    tag: "Realms",
    summary: "End an application key",
    access: "platform",
    admin: true,
    params: ByKey,
    status: 200,
    answer: KeyView,
    errors: ["realm.not_found", "key.not_found"],
    handle: ({ params, ...call }) => {
      const asked = { realm: params.id, key: params.key };
      return command(
        { ...call, params },
        async (tx) => viewApplicationKey(await endApplicationKey(tx, call.actor, asked)),
        { realm: params.id },
      );
    },
  }),
  route({
    method: "GET",
    path: "/v1/realms/{id}/credits/available",
    tag: "Realms",
    summary: "Read how many credits are left this month",
    description: `Without limit: ${ENDLESS}.`,
    access: "platform or user",
    cost: "none",
    params: ById,
    status: 200,
    answer: z.object({ credits: z.number().int() }),
    errors: ["realm.not_found"],
    handle: async ({ services, realm, params }) => {
      const own = realm === null || realm.id === params.id;
      const found = own ? await services.realms.find(params.id) : null;
      if (found === null) throw notFound("realm.not_found");
      const credits = await services.limits.credits(found);
      return { status: 200, body: JSON.stringify({ credits }) };
    },
  }),
  route({
    method: "POST",
    path: "/v1/realms/{id}/users",
    tag: "Realms",
    summary: "Create a user of a realm",
    access: "platform or user",
    params: ById,
    freshLogin: givesRights,
    body: NewUser,
    status: 201,
    answer: UserView,
    errors: [
      "realm.not_found",
      "identity.not_found",
      "permission.role",
      "permission.scope",
      "username.taken",
    ],
    handle: async (call) => {
      const { password, ...rest } = call.body;
      if (call.realm !== null && call.realm.id !== call.params.id) {
        throw notFound("realm.not_found");
      }
      const realm = call.realm ?? await call.services.realms.find(call.params.id);
      if (realm === null) throw notFound("realm.not_found");
      const actor = { ...call.actor, realm: realm.defaults() };
      assertMayCreateUser(actor); // before the slow work on the password
      const prepared = { ...rest, verifier: await hashPassword(password, realm.id) };
      return await command(
        { ...call, realm, actor },
        async (tx) => viewUser(await createUser(tx, actor, prepared)),
      );
    },
  }),
];
