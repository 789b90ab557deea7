/** Authentication: the caller, its key and its realm. @module */
import type { Actor } from "../../domain/actor.ts";
import { type ApiKeyGrant, assertGranted, realmOfApiKey } from "../../domain/identity/api_keys.ts";
import { ROLES, SCOPES } from "../../domain/actor.ts";
import { DomainError } from "../../domain/errors.ts";
import { equalBytes } from "../../domain/security/passwords.ts";
import { digestKey } from "../../domain/realms/realms.ts";
import type { Claims } from "../../domain/security/user_keys.ts";
import type { RealmContext } from "../../domain/realms/context.ts";
import type { Access } from "./route.ts";
import { guardOf, networkOf } from "./login_guard.ts";
import { assertProvider } from "./provider_authentication.ts";
import type { Services } from "./services.ts";
import type { RequestHeaders } from "./underlying_request.ts";

/** The caller of a request. */
export interface Caller {
  actor: Actor;
  claims: Claims | null;
  realm: RealmContext | null;
  applicationKey: string;
}

/** The parts of a request that its actor carries. */
export interface RequestMeta {
  at: number;
  requestId: string;
  address: string;
}

/** Finds the caller. */
export interface Authenticator {
  authenticate(
    headers: RequestHeaders,
    access: Access,
    meta: RequestMeta,
  ): Promise<Caller> | Caller;
}

const REMEMBERED_MAX = 10_000;
const NOBODY: Omit<Actor, "at" | "requestId" | "address"> = {
  user: "",
  kind: "user",
  realm: { id: "", country: "", accountingCurrency: "" },
  roles: [],
  scopes: [],
};
const OPERATOR: typeof NOBODY = {
  ...NOBODY,
  kind: "operator",
  roles: ["admin", "manage", "user"],
  scopes: ["realm", "own"],
};

/** Opens the authentication. Verified keys are cached, so a repeated one costs no signature check. */
export function openAuthenticator(services: Services, platformKey: string): Authenticator {
  const remembered = new Map<string, Claims>();
  const previous = services.config.previousPlatformKey;
  const platformDigests = Promise.all(
    [platformKey, previous].filter((key) => key !== null).map(digestKey),
  );

  async function isPlatformKey(key: string): Promise<boolean> {
    const given = await digestKey(key);
    return (await platformDigests).filter((digest) => equalBytes(given, digest)).length > 0;
  }

  async function verify(key: string): Promise<Claims> {
    if (key.startsWith("app_")) {
      throw new DomainError("auth.invalid", "an application key can do nothing but log in");
    }
    if (key.split(".").length !== 3) {
      throw unknownKey(await isPlatformKey(key));
    }
    const { signingKeys, config } = services;
    const given = await signingKeys.verify(key);
    // A shortened lifetime applies to earlier keys too, whose revocations may be deleted already.
    const expiresAt = Math.min(given.expiresAt, given.issuedAt + config.userKeyTtlS);
    const claims = { ...given, expiresAt };
    if (remembered.size >= REMEMBERED_MAX) remembered.delete(remembered.keys().next().value!);
    remembered.set(key, claims);
    return claims;
  }

  async function asUser(key: string, meta: RequestMeta): Promise<Caller> {
    const claims = remembered.get(key) ?? await verify(key);
    const realm = await services.realms.find(claims.realm);
    if (realm === null) throw new DomainError("auth.invalid", "the key's realm is gone");
    return admitUnlessRevoked(claims, realm, meta);
  }

  /** Answers without a wait where all is in memory: the case of nearly every request. */
  function asKnownUser(key: string, meta: RequestMeta): Promise<Caller> | Caller {
    const claims = remembered.get(key);
    const machineRealm = claims === undefined ? realmOfApiKey(key) : null;
    if (machineRealm !== null) return asMachine(services, key, machineRealm, meta);
    if (claims === undefined) return asUser(key, meta);
    const realm = services.realms.find(claims.realm);
    if (realm instanceof Promise) return asUser(key, meta);
    return admitUnlessRevoked(claims, realm, meta);
  }

  return {
    authenticate(headers, access, meta) {
      if (access === "open") return { actor: { ...NOBODY, ...meta }, ...nothing() };
      if (access === "provider") return asProvider(services, headers, meta);
      const key = keyOf(headers);
      if (access === "open or platform" && key === null) {
        return { actor: { ...NOBODY, ...meta }, ...nothing() };
      }
      if (key === null) throw new DomainError("auth.missing", "send a key in x-api-key");
      if (access === "application") {
        return { actor: { ...NOBODY, ...meta }, ...nothing(), applicationKey: key };
      }
      if (access === "user") return asKnownUser(key, meta);
      return isPlatformKey(key).then((yes) => {
        if (yes) return { actor: { ...OPERATOR, ...meta }, ...nothing() };
        if (access === "platform or user") return asKnownUser(key, meta);
        throw new DomainError("auth.invalid", "this takes the platform key");
      });
    },
  };
}

function unknownKey(isPlatformKey: boolean): DomainError {
  const misplaced = "this takes a key of a realm, not the platform key";
  return new DomainError("auth.invalid", isPlatformKey ? misplaced : "the key is not one of ours");
}

function nothing(): Omit<Caller, "actor"> {
  return { claims: null, realm: null, applicationKey: "" };
}

/**
 * Asks once whether the key was revoked: a second promise that is not awaited could end the
 * process.
 */
function admitUnlessRevoked(
  claims: Claims,
  realm: RealmContext,
  meta: RequestMeta,
  asked: RealmContext["own"] = realm,
): Promise<Caller> | Caller {
  const revoked = asked.isRevoked(claims);
  if (typeof revoked === "boolean") return admit(claims, realm, revoked, meta);
  return revoked.then((yes) => admit(claims, realm, yes, meta));
}

function admit(claims: Claims, realm: RealmContext, revoked: boolean, meta: RequestMeta): Caller {
  if (claims.expiresAt * 1000 <= realm.time(meta.at)) {
    throw new DomainError("auth.expired", "the key has expired: log in again");
  }
  if (revoked) throw new DomainError("auth.revoked", "the key was revoked: log in again");
  realm.noteLogin(claims, meta.at);
  return {
    actor: {
      user: claims.user,
      kind: "user",
      realm: realm.defaults(),
      roles: claims.roles,
      scopes: claims.scopes,
      at: meta.at,
      requestId: meta.requestId,
      address: meta.address,
    },
    claims,
    realm,
    applicationKey: "",
  };
}

/**
 * Authenticates a machine key. Invented keys cost the database only a few queries for each network.
 */
async function asMachine(
  services: Services,
  key: string,
  realmId: string,
  meta: RequestMeta,
): Promise<Caller> {
  const realm = services.realms.peek(realmId);
  const found = realm?.knowsKey(key)
    ? { realm, grant: await realm.grantOf(key) }
    : await lookUp(services, { key, realmId, network: networkOf(meta.address) });
  if (found === null || found.grant === null) {
    throw new DomainError("auth.invalid", "the key is not one of ours");
  }
  assertGranted(found.grant, found.realm.time(meta.at), meta.address);
  found.realm.noteUse(found.grant, meta.at);
  return admitMachine(found.grant, found.realm, meta);
}

/**
 * Reads a caller again, inside of the transaction that works for it: only the realm's own database is asked, since a
 * platform that is away would keep the transaction's locks from others.
 */
export function confirmCaller(
  caller: Caller,
  headers: RequestHeaders,
  meta: RequestMeta,
): Promise<Caller> | Caller {
  const { claims, realm } = caller;
  if (realm === null) return caller;
  if (claims === null) return confirmMachine(realm, keyOf(headers)!, meta);
  return admitUnlessRevoked(claims, realm, meta, realm.own);
}

async function confirmMachine(
  realm: RealmContext,
  key: string,
  meta: RequestMeta,
): Promise<Caller> {
  const grant = await realm.own.grantOf(key);
  if (grant === null) throw new DomainError("auth.invalid", "the key is not one of ours");
  assertGranted(grant, realm.time(meta.at), meta.address);
  return admitMachine(grant, realm, meta);
}

/** A key that is not cached, and the network that sent it. */
interface Unknown {
  key: string;
  realmId: string;
  network: string;
}
type Found = { realm: RealmContext; grant: ApiKeyGrant };

const looking = new WeakMap<Services, Map<string, Promise<Found | null>>>();

/**
 * Reads a key, once for all concurrent requests with it. Networks take turns; one that used up its
 * tries while it waited causes no further query.
 */
function lookUp(services: Services, { key, realmId, network }: Unknown): Promise<Found | null> {
  const running = looking.get(services) ?? new Map<string, Promise<Found | null>>();
  looking.set(services, running);
  const known = running.get(key);
  if (known !== undefined) return known;
  const guard = guardOf(services);
  const subject = `machine ${network}`;
  const inTurn = <T>(realm: string, load: () => T | Promise<T>, isRight: (found: T) => boolean) =>
    guard.inTurn({ realm, network }, async () => {
      guard.check(subject);
      const found = await load();
      if (!isRight(found)) guard.countWrong(subject);
      return found;
    });
  const find = async () => {
    guard.check(subject);
    const realm = services.realms.peek(realmId) ??
      await inTurn("machines", () => services.realms.find(realmId), (found) => found !== null);
    if (realm === null) return null;
    const load = () => realm.grantOf(key);
    const grant = await inTurn(`machines of ${realmId}`, load, (found) => found?.alive ?? false);
    if (grant === null) return null;
    if (grant.alive) {
      for (const queue of ["machines", `machines of ${realmId}`]) {
        guard.welcome({ realm: queue, network });
      }
    }
    return { realm, grant };
  };
  const found = find().finally(() => running.delete(key));
  running.set(key, found);
  return found;
}

function admitMachine(grant: ApiKeyGrant, realm: RealmContext, meta: RequestMeta): Caller {
  const { at, requestId, address } = meta;
  const roles = ROLES.filter((role) => grant.roles.includes(role));
  const scopes = SCOPES.filter((scope) => grant.scopes.includes(scope));
  return {
    actor: {
      user: grant.owner,
      kind: "user",
      realm: realm.defaults(),
      roles,
      scopes,
      at,
      requestId,
      address,
      apiKey: { id: grant.id, name: grant.name },
    },
    claims: null,
    realm,
    applicationKey: "",
  };
}

/**
 * Authenticates the provider of messages.
 *
 * @throws {DomainError} auth.missing, auth.invalid, rate.limited
 */
async function asProvider(
  services: Services,
  headers: RequestHeaders,
  meta: RequestMeta,
): Promise<Caller> {
  await assertProvider(services, headers, meta);
  return { actor: { ...NOBODY, ...meta, kind: "worker" }, ...nothing() };
}

/** The key of a request: x-api-key, or Authorization bare or after Bearer. */
function keyOf(headers: RequestHeaders): string | null {
  const key = headers.get("x-api-key") || headers.get("authorization");
  if (key === null || key.trim() === "") return null;
  return key.trim().replace(/^Bearer +/i, "");
}
