/** Statements on the directory of realms, in the platform's schema. @module */
import type { Db, Tx } from "../database.ts";

/** A realm as the directory knows it. */
export interface RealmRow {
  id: string;
  name: string;
  zone: string;
  country: string;
  accounting_currency: string;
  tier: string;
  realm_key: string;
  /** The previous key; valid until it is ended. */
  previous_realm_key: string | null;
  schema_name: string;
  role_name: string | null;
  database_url_encrypted: Uint8Array | null;
  /** Encrypted secret of its roles' logins; null if they do not log in. */
  login: Uint8Array | null;
  schema_version: number;
  /** Number of its place: it grows each time the realm moves to another database. */
  place: number;
  /** User keys name it: a restore draws another, and so ends every login of before, whatever clocks say. */
  login_epoch: string;
  /** Checksum of the migrations up to it. */
  migrations_checksum: string;
  settings: Record<string, unknown>;
  error: unknown;
  updated_at: number | null;
  created_at: number;
  /** Of its tier; null means without limit. */
  requests_per_second: number | null;
  credits_per_month: string | null;
}

const COLUMNS = [
  "id",
  "name",
  "zone",
  "country",
  "accounting_currency",
  "tier",
  "realm_key",
  "previous_realm_key",
  "schema_name",
  "role_name",
  "database_url_encrypted",
  "login",
  "schema_version",
  "place",
  "login_epoch",
  "migrations_checksum",
  "settings",
  "error",
  "updated_at",
  "created_at",
] as const;

/** The columns of a realm with the limits of its tier. */
function columns(db: Db) {
  return db`${db(COLUMNS)},
    (select t.requests_per_second from tiers t where t.name = realms.tier) as requests_per_second,
    (select t.credits_per_month from tiers t where t.name = realms.tier) as credits_per_month`;
}

/** A new realm. */
export type NewRealmRow = Omit<
  RealmRow,
  | "error"
  | "updated_at"
  | "place"
  | "login_epoch"
  | "settings"
  | "requests_per_second"
  | "credits_per_month"
  | "previous_realm_key"
>;

/** Adds a realm to the directory. */
export async function insertRealm(
  tx: Tx,
  realm: NewRealmRow,
): Promise<RealmRow> {
  const [row] = await tx<RealmRow[]>`insert into realms ${tx(realm)} returning ${columns(tx)}`;
  return row;
}

/** Ends every login of a realm, or of all realms: user keys of before name another epoch. */
export async function drawLoginEpoch(tx: Tx, realm: string | null): Promise<void> {
  await tx`
    update realms set login_epoch = gen_random_uuid() where ${
    realm === null ? tx`true` : tx`id = ${realm}`
  }`;
}

/** Reads one realm. */
export async function selectRealm(db: Db, id: string): Promise<RealmRow | null> {
  const [row] = await db<RealmRow[]>`select ${columns(db)} from realms where id = ${id}`;
  return row ?? null;
}

/** Reads the id of the realm that was made first; null where there is none. */
export async function selectOldestRealm(db: Db): Promise<string | null> {
  const [row] = await db<{ id: string }[]>`select id from realms order by id limit 1`;
  return row?.id ?? null;
}

/** Reads realms in the order of their ids, after one of them. */
export async function selectRealms(
  db: Db,
  after: string | null,
  limit: number,
): Promise<RealmRow[]> {
  return await db<RealmRow[]>`
    select ${columns(db)} from realms
    where ${after === null ? db`true` : db`id > ${after}`} order by id limit ${limit}`;
}

/** Reads several realms by their ids. */
export async function selectRealmsById(db: Db, ids: string[]): Promise<RealmRow[]> {
  return await db<RealmRow[]>`
    select ${columns(db)} from realms where id = any (${`{${ids.join(",")}}`}::text::uuid[])`;
}

/** Reads realms below a schema version, after one of them. */
export async function selectRealmsBehind(
  db: Db,
  schema_version: number,
  page: { after: string | null; limit: number },
): Promise<RealmRow[]> {
  return await db<RealmRow[]>`
    select ${columns(db)} from realms
    where schema_version < ${schema_version} and ${
    page.after === null ? db`true` : db`id > ${page.after}`
  }
    order by id limit ${page.limit}`;
}

/** Counts the realms that are behind a schema version. */
export async function countRealmsBehind(db: Db, schema_version: number): Promise<number> {
  const [row] = await db<{ n: string }[]>`
    select count(*) as n from realms where schema_version < ${schema_version}`;
  return Number(row.n);
}

/** Reads realms of this database whose role is missing, has no rights, or settings of its own, after one of them. */
export async function selectRealmsWithoutRights(
  db: Db,
  after: string | null,
  limit: number,
): Promise<RealmRow[]> {
  return await db<RealmRow[]>`
    select ${columns(db)} from realms
    where database_url_encrypted is null and role_name is not null
      and to_regclass(quote_ident(schema_name) || '.accounts') is not null
      and (select count(*) from pg_roles p
        where p.rolname in (role_name, role_name || '_worker') and pg_has_role(current_user, p.oid, 'member')
          and not exists (select from pg_db_role_setting s where s.setrole = p.oid and s.setdatabase in
            (0, (select d.oid from pg_database d where d.datname = current_database())))
          and has_schema_privilege(p.oid, schema_name, 'usage')
          and has_table_privilege(p.oid, quote_ident(schema_name) || '.accounts', 'select')) < 2
      and ${after === null ? db`true` : db`id > ${after}`}
    order by id limit ${limit}`;
}

/** Reads the id of a realm that has a schema version by other migrations; null where none has. */
export async function selectRealmMigratedOtherwise(
  db: Db,
  schema_version: number,
  migrations_checksum: string,
): Promise<string | null> {
  const [row] = await db<{ id: string }[]>`
    select id from realms where schema_version = ${schema_version} and migrations_checksum <> ${migrations_checksum} order by id limit 1`;
  return row?.id ?? null;
}

/** Counts the realms. */
export async function countRealms(db: Db): Promise<number> {
  const [row] = await db<{ n: string }[]>`select count(*) as n from realms`;
  return Number(row.n);
}

/** The migrations of a realm: the number of the last, and the checksum of all. */
export interface MigrationStand {
  schema_version: number;
  migrations_checksum: string;
}

/** Records the schema version of a realm. */
export async function markSchemaVersion(
  tx: Tx,
  id: string,
  { schema_version, migrations_checksum }: MigrationStand,
): Promise<void> {
  await tx`update platform.realms set schema_version = ${schema_version}, migrations_checksum = ${migrations_checksum} where id = ${id}`;
}

/**
 * Records the schema version of a realm that was migrated in a place, unless a newer version has recorded its own since;
 * false where it lives in another by now.
 */
export async function markMigrated(
  tx: Tx,
  { id, place }: { id: string; place: number },
  { schema_version, migrations_checksum }: MigrationStand,
): Promise<boolean> {
  const rows = await tx`
    update platform.realms set schema_version = greatest(schema_version, ${schema_version}), migrations_checksum =
      case when schema_version > ${schema_version} then migrations_checksum else ${migrations_checksum} end
    where id = ${id} and place = ${place} returning id`;
  return rows.length > 0;
}

/** A change of a realm. */
export type RealmChanges = Partial<
  Pick<
    RealmRow,
    | "name"
    | "country"
    | "accounting_currency"
    | "tier"
    | "settings"
    | "database_url_encrypted"
    | "login"
    | "updated_at"
  >
>;

/** Changes a realm; null where there is none. */
export async function updateRealm(
  tx: Tx,
  id: string,
  { settings, ...changes }: RealmChanges,
): Promise<RealmRow | null> {
  const json = settings === undefined ? tx`` : tx`, settings = ${tx.json(settings as never)}`;
  const [row] = await tx<RealmRow[]>`
    update realms set ${tx(changes)} ${json} where id = ${id} returning ${columns(tx)}`;
  return row ?? null;
}

/** Changes the keys that name a realm at logins. */
export async function updateRealmKey(
  tx: Tx,
  id: string,
  keys: { realm_key: string; previous_realm_key: string | null },
): Promise<RealmRow> {
  const [row] = await tx<RealmRow[]>`
    update realms set ${tx(keys)}, updated_at = now() where id = ${id} returning ${columns(tx)}`;
  return row;
}

/** Locks a realm's row and reads it. */
export async function lockRealm(tx: Tx, id: string): Promise<RealmRow | null> {
  const [row] = await tx<RealmRow[]>`
    select ${columns(tx)} from realms where id = ${id} for update`;
  return row ?? null;
}

/** An application key without the key itself. */
export interface ApplicationKeyRow {
  id: string;
  revoked_at: number | null;
  created_at: number;
}

/** Adds an application key of a realm. */
export async function insertApplicationKey(
  tx: Tx,
  key: { id: string; realm: string; digest: Uint8Array; created_at: number },
): Promise<ApplicationKeyRow> {
  const [row] = await tx<ApplicationKeyRow[]>`
    insert into application_keys ${tx(key)} returning id, revoked_at, created_at`;
  return row;
}

/** Reads a realm's application keys, oldest first. */
export async function selectApplicationKeys(db: Db, realm: string): Promise<ApplicationKeyRow[]> {
  return await db<ApplicationKeyRow[]>`
    select id, revoked_at, created_at from application_keys where realm = ${realm} order by id`;
}

/** Revokes an application key; null where the realm has no such key that is valid. */
export async function revokeApplicationKey(
  tx: Tx,
  key: { id: string; realm: string; revoked_at: number },
): Promise<ApplicationKeyRow | null> {
  const [row] = await tx<ApplicationKeyRow[]>`
    update application_keys set revoked_at = ${key.revoked_at}
    where id = ${key.id} and realm = ${key.realm} and revoked_at is null
    returning id, revoked_at, created_at`;
  return row ?? null;
}

/** Records that a realm is being provisioned in a database of its own. */
export async function insertProvisioning(
  tx: Tx,
  row: { id: string; database_url_encrypted: Uint8Array; created_at: number },
): Promise<void> {
  await tx`insert into realm_provisioning ${tx(row)}`;
}

/** Deletes the record as its realm is created or given up; false when it is gone. */
export async function deleteProvisioning(tx: Tx, id: string): Promise<boolean> {
  return (await tx`delete from realm_provisioning where id = ${id} returning id`).length > 0;
}

/** Forgets the realms that were being provisioned. */
export async function deleteProvisionings(tx: Tx): Promise<void> {
  await tx`delete from realm_provisioning`;
}

/**
 * Tells whether somebody uses a realm: a worker has taken a step in its schema, or it has a line in its trail. One that
 * was provisioned and never created has neither.
 */
export async function isInUse(tx: Tx, schema: string): Promise<boolean> {
  const [{ there }] = await tx<{ there: boolean }[]>`
    select count(*) = 2 as there from pg_tables
    where schemaname = ${schema} and tablename in ('attestations', 'audit')`;
  if (!there) return false;
  const [{ used }] = await tx<{ used: boolean }[]>`
    select exists (select from ${tx(schema)}.attestations where token is not null or apart)
      or exists (select from ${tx(schema)}.audit) as used`;
  return used;
}

/**
 * Locks records older than a time (milliseconds) that no other process has locked; none while the installation waits to be
 * reconciled, because a newer one may have created what its records call abandoned.
 */
export async function lockAbandonedProvisionings(
  tx: Tx,
  before: number,
): Promise<{ id: string; database_url_encrypted: Uint8Array }[]> {
  return await tx<{ id: string; database_url_encrypted: Uint8Array }[]>`
    select id, database_url_encrypted from realm_provisioning
    where created_at < ${before} and not exists (select from installation where halted is not null)
    order by id limit 10 for update skip locked`;
}

/** Finds the realm that an application key and a realm key both name. */
export async function selectRealmByKeys(
  db: Db,
  digest: Uint8Array,
  realmKey: string,
): Promise<RealmRow | null> {
  const [row] = await db<RealmRow[]>`
    select ${
    columns(db)
  } from realms where ${realmKey} in (realm_key, previous_realm_key) and id = (
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

/** Reads all published keys that have not expired, youngest first. */
export async function selectSigningKeys(db: Db): Promise<Record<string, unknown>[]> {
  const rows = await db<{ jwk: Record<string, unknown> }[]>`
    select jwk from signing_keys where expires_at > now() order by created_at desc limit 10000`;
  return rows.map((row) => row.jwk);
}

/** Removes published keys that no valid token can name any more. */
export async function deleteExpiredSigningKeys(db: Db): Promise<void> {
  await db`delete from signing_keys where expires_at < now()`;
}
