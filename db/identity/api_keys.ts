/** Statements on machine keys. @module */
import type { Db, Tx } from "../database.ts";

/** A key as stored. */
export interface ApiKeyRow {
  id: string;
  name: string;
  roles: string[];
  scopes: string[];
  /** Networks that it may be used from; empty: from everywhere. */
  addresses: string[];
  expires_at: number | null;
  last_used_at: number | null;
  owner: string;
  data: Record<string, unknown>;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

/** A key with the present rights of its user. */
export interface ApiKeyGrantRow {
  id: string;
  name: string;
  owner: string;
  roles: string[];
  scopes: string[];
  addresses: string[];
  expires_at: number | null;
  /** Whether neither the key nor its user has ended. */
  alive: boolean;
}

const COLUMNS = [
  "id",
  "name",
  "roles",
  "scopes",
  "addresses",
  "expires_at",
  "last_used_at",
  "owner",
  "data",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** Adds a key; its rights must be among those of its user. */
export async function insertApiKey(
  tx: Tx,
  key: {
    id: string;
    name: string;
    digest: Uint8Array;
    roles: string[];
    scopes: string[];
    addresses: string[];
    expires_at: number | null;
    owner: string;
    created_at: number;
  },
): Promise<ApiKeyRow> {
  const [row] = await tx<ApiKeyRow[]>`
    insert into api_keys (id, name, digest, roles, scopes, addresses, expires_at, owner, created_at)
    values (${key.id}, ${key.name}, ${key.digest}, ${key.roles}, ${key.scopes}, ${key.addresses},
      ${key.expires_at}, ${key.owner}, ${key.created_at})
    returning ${tx(COLUMNS)}`;
  return row;
}

/** Reads keys by their ids, ended ones too. */
export async function selectApiKeys(db: Db, ids: string[]): Promise<ApiKeyRow[]> {
  return await db<ApiKeyRow[]>`
    select ${db(COLUMNS)} from api_keys where id = any (${ids}::uuid[])`;
}

/** Keys with the rights that both they and their users have now. */
function grants(db: Db) {
  return db`
    select k.id, k.name, k.owner, k.addresses, k.expires_at,
      array(select unnest(k.roles) intersect select unnest(u.roles)) as roles,
      array(select unnest(k.scopes) intersect select unnest(u.scopes)) as scopes,
      k.deleted_at is null and u.deleted_at is null and u.active as alive
    from api_keys k,
      lateral (select roles, scopes, deleted_at, active from users where id = k.owner offset 0) u`;
}

/** Reads the present rights of a key, by its digest. */
export async function selectGrant(db: Db, digest: Uint8Array): Promise<ApiKeyGrantRow | null> {
  const [row] = await db<ApiKeyGrantRow[]>`${grants(db)} where k.digest = ${digest}`;
  return row ?? null;
}

/** Reads the present rights of those keys that have not ended. */
export async function selectGrants(db: Db, ids: string[]): Promise<ApiKeyGrantRow[]> {
  return await db<ApiKeyGrantRow[]>`
    ${grants(db)} where k.id = any (${ids}::uuid[])
      and k.deleted_at is null and u.deleted_at is null and u.active`;
}

/** Stores when keys were last used (milliseconds). */
export async function markUsed(db: Db, ids: string[], at: number): Promise<void> {
  await db`
    update api_keys set last_used_at = ${at}
    where id = any (${ids}::uuid[]) and (last_used_at is null or last_used_at < ${at})`;
}

/** Ends all keys of a user. */
export async function endApiKeysOf(tx: Tx, user: string, at: number): Promise<void> {
  await tx`
    update api_keys set deleted_at = ${at}, updated_at = ${at}
    where owner = ${user} and deleted_at is null`;
}

/** Ends the keys of all users, and gives their number. */
export async function endAllApiKeys(tx: Tx, at: number): Promise<number> {
  const { count } = await tx`
    update api_keys set deleted_at = ${at}, updated_at = ${at} where deleted_at is null`;
  return count;
}

/** Counts the keys that work at a time (milliseconds). */
export async function countApiKeys(db: Db, at: number): Promise<number> {
  const [{ count }] = await db<{ count: number }[]>`
    select count(*)::integer as count from api_keys k join users u on u.id = k.owner
    where k.deleted_at is null and (k.expires_at is null or k.expires_at > ${at})
      and u.active and u.deleted_at is null`;
  return count;
}
