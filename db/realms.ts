/** Statements on the directory of realms, in the platform's schema. @module */
import type { Db, Tx } from "./database.ts";

/** A realm as the directory knows it. */
export interface RealmRow {
  id: string;
  name: string;
  zone: string;
  country: string;
  accounting_currency: string;
  tier: string;
  realm_key: string;
  schema_name: string;
  role_name: string | null;
  placement: Uint8Array | null;
  rung: number;
  settings: Record<string, unknown>;
  error: unknown;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "name",
  "zone",
  "country",
  "accounting_currency",
  "tier",
  "realm_key",
  "schema_name",
  "role_name",
  "placement",
  "rung",
  "settings",
  "error",
  "updated_at",
  "created_at",
] as const;

/** Adds a realm to the directory. */
export async function insertRealm(
  tx: Tx,
  realm: Omit<RealmRow, "error" | "updated_at" | "settings">,
): Promise<RealmRow> {
  const [row] = await tx<RealmRow[]>`insert into realms ${tx(realm)} returning ${tx(COLUMNS)}`;
  return row;
}

/** Reads one realm. */
export async function selectRealm(db: Db, id: string): Promise<RealmRow | null> {
  const [row] = await db<RealmRow[]>`select ${db(COLUMNS)} from realms where id = ${id}`;
  return row ?? null;
}

/** Reads realms in the order of their ids, after one of them. */
export async function selectRealms(
  db: Db,
  after: string | null,
  limit: number,
): Promise<RealmRow[]> {
  return await db<RealmRow[]>`
    select ${db(COLUMNS)} from realms
    where ${after === null ? db`true` : db`id > ${after}`} order by id limit ${limit}`;
}

/** Reads several realms by their ids. */
export async function selectRealmsById(db: Db, ids: string[]): Promise<RealmRow[]> {
  return await db<RealmRow[]>`
    select ${db(COLUMNS)} from realms where id = any (${`{${ids.join(",")}}`}::text::uuid[])`;
}

/** Reads realms whose ladder has not been climbed to the given rung. */
export async function selectRealmsBehind(
  db: Db,
  rung: number,
  limit: number,
): Promise<RealmRow[]> {
  return await db<RealmRow[]>`
    select ${db(COLUMNS)} from realms where rung < ${rung} order by id limit ${limit}`;
}

/** Counts the realms. */
export async function countRealms(db: Db): Promise<number> {
  const [row] = await db<{ n: string }[]>`select count(*) as n from realms`;
  return Number(row.n);
}

/** Notes how far a realm's ladder has been climbed. */
export async function markRung(tx: Tx, id: string, rung: number): Promise<void> {
  await tx`update platform.realms set rung = ${rung} where id = ${id}`;
}

/** Adds an application key of a realm. */
export async function insertApplicationKey(
  tx: Tx,
  key: { id: string; realm: string; digest: Uint8Array; created_at: number },
): Promise<void> {
  await tx`insert into application_keys ${tx(key)}`;
}

/** Finds the realm that an application key and a realm key both name. */
export async function selectRealmByKeys(
  db: Db,
  digest: Uint8Array,
  realmKey: string,
): Promise<RealmRow | null> {
  const [row] = await db<RealmRow[]>`
    select ${db(COLUMNS)} from realms where realm_key = ${realmKey} and id = (
      select realm from application_keys where digest = ${digest} and revoked_at is null)`;
  return row ?? null;
}

/** Whether a digest belongs to a valid application key of any realm. */
export async function existsApplicationKey(db: Db, digest: Uint8Array): Promise<boolean> {
  const rows = await db`
    select 1 from application_keys where digest = ${digest} and revoked_at is null`;
  return rows.length > 0;
}

/** Publishes the public half of a signing key. */
export async function insertSigningKey(
  db: Db,
  key: { kid: string; jwk: unknown; expires_at: number; created_at: number },
): Promise<void> {
  await db`insert into signing_keys (kid, jwk, expires_at, created_at)
    values (${key.kid}, ${db.json(key.jwk as never)}, ${key.expires_at}, ${key.created_at})`;
}

/** Reads one published key that has not expired. */
export async function selectSigningKey(
  db: Db,
  kid: string,
): Promise<Record<string, unknown> | null> {
  const [row] = await db<{ jwk: Record<string, unknown> }[]>`
    select jwk from signing_keys where kid = ${kid} and expires_at > now()`;
  return row?.jwk ?? null;
}

/** Reads all published keys that have not expired, youngest first. */
export async function selectSigningKeys(db: Db): Promise<Record<string, unknown>[]> {
  const rows = await db<{ jwk: Record<string, unknown> }[]>`
    select jwk from signing_keys where expires_at > now() order by created_at desc limit 1000`;
  return rows.map((row) => row.jwk);
}

/** Removes published keys that no valid token can name any more. */
export async function deleteExpiredSigningKeys(db: Db): Promise<void> {
  await db`delete from signing_keys where expires_at < now()`;
}
