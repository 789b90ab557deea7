/** Routes of logins and of the keys they give. @module */
import { z } from "zod";
import { runQuery } from "../domain/command.ts";
import { DomainError } from "../domain/errors.ts";
import { agentOf } from "../domain/identity/logins.ts";
import { tellWrongCodes } from "../domain/messages/notices.ts";
import { LoginRefusal } from "../domain/security/login_limits.ts";
import type { RealmContext } from "../domain/realms/context.ts";
import { digestKey, findRealmByKeys } from "../domain/realms/realms.ts";
import {
  AdminLogin,
  claimsOf,
  type KeyRealm,
  logIn,
  revokeKey,
  SessionView,
  UserLogin,
} from "../domain/security/sessions.ts";
import { findUser, UserView, viewUser } from "../domain/identity/users.ts";
import { command, query } from "./http/execution.ts";
import { guardOf, type LoginGuard, networkOf, rest } from "./http/login_guard.ts";
import { type AnyRoute, type Call, type Reply, route } from "./http/route.ts";

const ERRORS = ["auth.credentials", "rate.limited"] as const;
/** Greatest body of a login: its caller is unknown before the body is read. */
const LOGIN_BODY_MAX = 4096;
/** The queue of application keys that were not right in this process yet. */
const APPLICATIONS = "applications";
const MeView = UserView.extend({
  realm: z.string(),
  key: z.object({ id: z.string(), name: z.string(), roles: z.string(), scopes: z.string() })
    .nullable().meta({
      description:
        "The machine key in use, with the rights that it has now: those of its user at most. " +
        "Null for a login.",
    }),
}).meta({ id: "Me" });
const KeySet = z.object({ keys: z.array(z.record(z.string(), z.unknown())) });

const login = {
  method: "POST",
  tag: "Authentication",
  access: "application",
  bodyMax: LOGIN_BODY_MAX,
  status: 200,
  answer: SessionView,
  errors: ERRORS,
} as const;
function user(path: string, operation: string): AnyRoute {
  return route({
    ...login,
    path,
    operation,
    summary: "Log in as a user",
    body: UserLogin,
    handle: (call) => openSession(call, { ...call.body, admin: false }),
  });
}

/** The routes of logins. */
export const sessionRoutes: readonly AnyRoute[] = [
  route({
    ...login,
    path: "/v1/auth/admins/login",
    admin: true,
    operation: "logInAdministrator",
    summary: "Log in as an administrator of the realm",
    body: AdminLogin,
    handle: (call) => openSession(call, { ...call.body, admin: true }),
  }),
  user("/v1/auth/users/login", "logInUser"),
  user("/v1/auth/login", "logIn"),
  route({
    method: "GET",
    path: "/v1/auth/me",
    tag: "Authentication",
    operation: "getCurrentUser",
    summary: "Read the current user",
    access: "user",
    status: 200,
    answer: MeView,
    errors: [],
    handle: (call) =>
      query(call, async (db) => {
        const row = await findUser(db, call.actor, call.actor.user);
        const { realm, apiKey, roles, scopes } = call.actor;
        const key = apiKey === undefined
          ? null
          : { ...apiKey, roles: roles.join(","), scopes: scopes.join(",") };
        return { ...viewUser(row), realm: realm.id, key };
      }),
  }),
  route({
    method: "POST",
    path: "/v1/auth/logout",
    tag: "Authentication",
    operation: "logOut",
    summary: "Revoke the key in use",
    access: "user",
    status: 200,
    answer: z.object({ revoked: z.literal(true) }),
    errors: [],
    handle: async (call) => {
      const reply = await command(call, async (tx) => {
        if (call.claims === null) {
          throw new DomainError("auth.invalid", "a machine key ends by DELETE /v1/keys/<id>");
        }
        await revokeKey(tx, call.actor, call.claims);
        return { revoked: true };
      });
      call.realm!.refresh();
      return reply;
    },
  }),
  route({
    method: "GET",
    path: "/.well-known/jwks.json",
    tag: "Authentication",
    operation: "listPublicKeys",
    summary: "Read the public keys that check user keys",
    access: "open",
    status: 200,
    answer: KeySet,
    errors: [],
    handle: async ({ services }) => ({
      status: 200,
      body: JSON.stringify({ keys: await services.signingKeys.published() }),
    }),
  }),
];

interface Given {
  realm_key: string;
  password: string;
  code?: string;
  email?: string;
  username?: string;
  admin: boolean;
}

/**
 * Logs a user in. A refused login costs its realm no credits, and delays a caller that repeats it.
 */
async function openSession<P, Q, B>(call: Call<P, Q, B>, login: Given): Promise<Reply> {
  const guard = guardOf(call.services);
  const network = networkOf(call.address);
  try {
    return await enter(call, login, { guard, network });
  } catch (error) {
    if (error instanceof DomainError && error.code === "rate.limited") await guard.hold(network);
    throw error;
  }
}

async function enter<P, Q, B>(
  call: Call<P, Q, B>,
  login: Given,
  { guard, network }: { guard: LoginGuard; network: string },
): Promise<Reply> {
  const { services, services: { secrets }, at, address } = call;
  const digest = await digestKey(call.applicationKey);
  const keys = `${network} ${digest.toHex()} ${login.realm_key}`;
  guard.check(keys); // a refused network asks the database nothing
  const { realm, row } = await realmOf(call, guard, { network, digest, realmKey: login.realm_key });
  const subject = `${realm.id} ${network}`;
  guard.check(subject);
  const action = `${call.route.method} ${call.route.path}`;
  // Whatever may fail or refuse comes before a code is used up.
  const sign = await services.signingKeys.signer();
  const admitted = await services.limits.admitLater(realm, "write");
  const entrant = await guard.inTurn({ realm: realm.id, network, signal: call.signal() }, () => {
    guard.check(subject); // others may have used up its tries meanwhile
    return logIn(
      realm.pool,
      {
        ...login,
        realm: realm.id,
        action,
        at,
        address,
        network,
        agent: agentOf(call.headers.get("user-agent")),
        ttlS: services.config.userKeyTtlS,
        requestId: call.requestId,
        admitted,
        openFactor: (user, ciphertext) =>
          secrets.decrypt("totp", `${realm.id} ${user}`, ciphertext),
        onWrongCodes: (tx, row, wrong) =>
          tellWrongCodes(tx, { ...call.actor, realm: realm.defaults() }, {
            user: row,
            wrong,
            secrets,
          }),
      },
      rest,
    );
  }).catch((error) => {
    if (error instanceof LoginRefusal && error.everyName) {
      guard.refuse(subject, error.retryAfterS);
      guard.refuse(keys, error.retryAfterS);
    }
    throw error;
  });
  for (const queue of [realm.id, digest.toHex(), APPLICATIONS]) {
    guard.welcome({ realm: queue, network });
  }
  const claims = claimsOf(
    entrant.user,
    row,
    entrant.at,
    services.config.userKeyTtlS,
    entrant.jti,
  );
  const key = await sign(claims);
  if (realm.row().login_epoch !== row.login_epoch) realm.refresh(); // its key is good here at once, after a restore too
  const body = JSON.stringify({ "x-api-key": key, expires_at: claims.expiresAt * 1000 });
  return {
    status: call.route.status,
    body,
    headers: { ...await admitted(entrant.user.scopes.includes("realm")) },
  };
}

/** Finds the realm that both keys name. Wrong ones are counted for their network. */
async function realmOf<P, Q, B>(
  call: Call<P, Q, B>,
  guard: LoginGuard,
  asked: { network: string; digest: Uint8Array; realmKey: string },
): Promise<{ realm: RealmContext; row: KeyRealm }> {
  const { services } = call;
  const { network, digest, realmKey } = asked;
  const hex = digest.toHex();
  const subject = guard.isKnown(hex) ? `${network} ${hex}` : network;
  guard.check(subject);
  const turn = { realm: guard.isKnown(hex) ? hex : APPLICATIONS, network, signal: call.signal() };
  const found = await guard.inTurn(turn, async () => {
    guard.check(subject); // others may have used up its tries meanwhile
    const realmFound = await runQuery(
      services.platform,
      (db) => findRealmByKeys(db, digest, realmKey),
    );
    guard.remember(hex, realmFound.keyKnown);
    if (realmFound.realm === null) guard.countWrong(subject);
    return realmFound;
  });
  const { realm: row } = found;
  if (row !== null) return { realm: (await services.realms.find(row.id))!, row };
  if (!found.keyKnown) throw new DomainError("auth.invalid", "this takes an application key");
  throw new DomainError("auth.credentials", "the login is not right");
}
