/**
 * Machine keys: each acts as its user, with some of the user's rights and never more than the
 * user has at that moment. A key names its realm, is shown once and stored as a digest.
 * @module
 */
import { hash } from "node:crypto";
import { z } from "zod";
import {
  type ApiKeyGrantRow,
  type ApiKeyRow,
  insertApiKey,
  selectApiKeys,
} from "../../db/identity/api_keys.ts";
import type { Tx } from "../../db/database.ts";
import { type Actor, cumulativeRoles, cumulativeScopes, ROLES, SCOPES } from "../actor.ts";
import {
  type Collection,
  ENTITY_COLUMNS,
  rowFor,
  setDeleted,
  textColumn,
} from "../collections/collection.ts";
import { EntityFields, Name, Timestamp, viewEntity } from "../entity.ts";
import { DomainError } from "../errors.ts";
import { idTime, newId } from "../ids.ts";
import { holds, type Network, parseIp, parseNetwork } from "../ip_addresses.ts";
import { assertMayGrant, assertRealmAdmin } from "../permissions.ts";
import type { Claims } from "../security/user_keys.ts";
import { RoleList, ScopeList, strongest } from "./users.ts";

const NetworkText = z.string().max(50).refine(
  (given) => parseNetwork(given) !== null,
  "a network such as 203.0.113.0/24 or 2001:db8::/32 is expected",
);

/** A request for a machine key. */
export const NewApiKey = z.strictObject({
  name: Name,
  roles: RoleList.optional(),
  scopes: ScopeList.optional(),
  expires_at: Timestamp.optional(),
  addresses: z.array(NetworkText).max(100).default([]),
}).meta({ id: "NewApiKey" });
/** A request for a machine key. */
export type NewApiKey = z.infer<typeof NewApiKey>;

const fields = {
  id: z.string(),
  name: z.string(),
  roles: z.string().meta({ example: "manage,user" }),
  scopes: z.string().meta({ example: "own" }),
  addresses: z.array(z.string()).meta({ description: "Empty: from everywhere." }),
  expires_at: z.number().int().nullable(),
  last_used_at: z.number().int().nullable().meta({ description: "Exact to about a minute." }),
  ...EntityFields,
};

/** A key as shown. */
export const ApiKeyView = z.object(fields).meta({ id: "ApiKey" });
/** A key as shown once, when it is made. */
export const NewApiKeyView = z.object({ ...fields, key: z.string() }).meta({ id: "ApiKeyWithKey" });

/** The collection of keys. */
export const API_KEYS: Collection<ApiKeyRow> = {
  name: "keys",
  table: "api_keys",
  deletable: true,
  counted: false,
  notFound: "key.not_found",
  fields: ["data", "error", "deleted"],
  columns: {
    ...ENTITY_COLUMNS,
    name: textColumn("name"),
    roles: { column: "roles", type: "texts" },
    scopes: { column: "scopes", type: "texts" },
    addresses: { column: "addresses", type: "texts" },
    expires_at: { column: "expires_at", type: "time", nullable: true },
    last_used_at: { column: "last_used_at", type: "time", nullable: true },
    updated_at: { column: "updated_at", type: "time", nullable: true },
    deleted_at: { column: "deleted_at", type: "time", nullable: true },
  },
  read: selectApiKeys,
  show: (_db, _actor, rows) => Promise.resolve(rows.map(viewApiKey)),
};

const LOGIN_MAX_AGE_MS = 10 * 60_000;
const FORM = /^key_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_[\w-]{43}$/;
const SECRET_BYTES = 32;

/**
 * Refuses an actor without a recent login: for actions that a stolen key must not do.
 *
 * @param claims the claims of the login's key; null for a machine key
 * @throws {DomainError} auth.invalid, auth.expired
 */
export function assertFreshLogin(claims: Claims | null, at: number): void {
  if (claims === null) {
    throw new DomainError("auth.invalid", "this takes a login: a machine key is not enough");
  }
  if (claims.authTime * 1000 + LOGIN_MAX_AGE_MS < at) {
    throw new DomainError(
      "auth.expired",
      "this takes a login of the last 10 minutes: log in again",
    );
  }
}

/**
 * Creates a machine key for the actor.
 *
 * @throws {DomainError} permission.role, permission.scope, request.invalid
 */
export async function createApiKey(
  tx: Tx,
  actor: Actor,
  input: NewApiKey,
): Promise<Record<string, unknown>> {
  const roles = cumulativeRoles(strongest(ROLES, input.roles ?? actor.roles));
  const scopes = cumulativeScopes(strongest(SCOPES, input.scopes ?? actor.scopes));
  assertMayGrant(actor, roles, scopes);
  if (input.expires_at !== undefined && input.expires_at <= actor.at) {
    const message = "a time to come is expected";
    throw new DomainError("request.invalid", `expires_at: ${message}`, {
      errors: [{ path: "/expires_at", message }],
    });
  }
  const secret = crypto.getRandomValues(new Uint8Array(SECRET_BYTES))
    .toBase64({ alphabet: "base64url", omitPadding: true });
  const key = `key_${actor.realm.id.replaceAll("-", "")}_${secret}`;
  const id = newId(actor.at);
  const row = await insertApiKey(tx, {
    id,
    name: input.name,
    digest: Uint8Array.fromHex(apiKeyDigest(key)),
    roles,
    scopes,
    addresses: input.addresses,
    expires_at: input.expires_at ?? null,
    owner: actor.user,
    created_at: idTime(id),
  });
  return { ...viewApiKey(row), key };
}

/**
 * Ends a key, for its user, for itself and for administrators of the realm.
 *
 * @throws {DomainError} key.not_found, permission.role, permission.scope
 */
export async function endApiKey(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<Record<string, unknown>> {
  const row = await rowFor(tx, actor, API_KEYS, id, "read");
  // A key with few rights that leaked ends itself, and not those that its user has beside it.
  const isOwn = row.owner === actor.user && (actor.apiKey?.id ?? row.id) === row.id;
  if (!isOwn) assertRealmAdmin(actor);
  return await setDeleted(tx, actor, API_KEYS, row.id, true);
}

/** Shows a key: never the key itself. */
function viewApiKey(row: ApiKeyRow): Record<string, unknown> {
  return {
    id: row.id,
    name: row.name,
    roles: row.roles.join(","),
    scopes: row.scopes.join(","),
    addresses: row.addresses,
    expires_at: row.expires_at,
    last_used_at: row.last_used_at,
    ...viewEntity(row),
  };
}

/** Gives the realm that a key names; null if it is not a machine key. */
export function realmOfApiKey(key: string): string | null {
  return FORM.exec(key)?.slice(1).join("-") ?? null;
}

/** The digest under which a key is stored, in hexadecimal digits. */
export function apiKeyDigest(key: string): string {
  return hash("sha256", key, "hex");
}

/** The present rights of a key. */
export interface ApiKeyGrant extends ApiKeyGrantRow {
  networks: readonly Network[];
}

/** Gives the rights of a stored key, with its networks parsed. */
export function grantOf(row: ApiKeyGrantRow): ApiKeyGrant {
  return { ...row, networks: row.addresses.map((text) => parseNetwork(text)!) };
}

/**
 * Refuses a key that has ended, or that comes from an address outside its networks.
 *
 * @throws {DomainError} auth.revoked, auth.expired, auth.invalid
 */
export function assertGranted(grant: ApiKeyGrant, at: number, address: string): void {
  if (!grant.alive) throw new DomainError("auth.revoked", "the key has ended");
  if (grant.expires_at !== null && grant.expires_at <= at) {
    throw new DomainError("auth.expired", "the key has expired");
  }
  const ip = grant.networks.length === 0 ? null : parseIp(address);
  if (grant.networks.length === 0) return;
  if (ip !== null && grant.networks.some((network) => holds(network, ip))) return;
  throw new DomainError("auth.invalid", "the key is not used from this address");
}
