/** Realms: physically separate tenants, and the keys that name them. @module */
import { z } from "zod";
import type { Db, Pool, RealmLocation, Tx } from "../../db/database.ts";
import {
  checksumOf,
  createRealmSchema,
  enterSchema,
  migrateRealm,
  type Migrations,
} from "../../db/migrate.ts";
import { attestBirth } from "../../db/realms/attestations.ts";
import { brokenConstraint } from "../../db/errors.ts";
import type { Logins } from "../../db/realm_logins.ts";
import {
  type ApplicationKeyRow,
  countRealms,
  deleteProvisioning,
  existsApplicationKey,
  insertApplicationKey,
  insertRealm,
  lockRealm,
  type RealmRow,
  revokeApplicationKey,
  selectApplicationKeys,
  selectRealm,
  selectRealmByKeys,
  selectRealms,
  updateRealm,
} from "../../db/realms/realms.ts";
import { reading } from "../../db/transaction.ts";
import type { UserRow } from "../../db/identity/users.ts";
import type { Actor } from "../actor.ts";
import { Failure, Name, NewUsername } from "../entity.ts";
import { DomainError, invalidField } from "../errors.ts";
import { RealmChainSettings } from "../chain_settings.ts";
import { RealmMessageSettings } from "../message_settings.ts";
import { EventSettings } from "../event_settings.ts";
import { AccountingCurrency, Country } from "../identity/identities.ts";
import { idTime, isId, newId } from "../ids.ts";
import { Password } from "../security/passwords.ts";
import { assertRealmAdmin, notFound } from "../permissions.ts";
import { DatabaseUrl, newLocation } from "./realm_locations.ts";
import { createUser, UserView, viewUser } from "../identity/users.ts";
import { WithdrawalSettings } from "../withdrawal_settings.ts";
import { ZONES } from "../zones.ts";

export { locationOf } from "./realm_locations.ts";
export type { Migrations };

const TierName = z.string().regex(/^[a-z][a-z0-9_]{1,39}$/, "a tier's name is expected").meta({
  description: "free, basic, pro, unlimited, or another that the operator has defined.",
  example: "unlimited",
});
/** The request to create a realm. */
export const NewRealm = z.strictObject({
  name: Name,
  country: Country.default("US"),
  accounting_currency: AccountingCurrency.default("USD"),
  zone: z.enum(ZONES).default("US"),
  tier: TierName.default("unlimited"),
  database_url: DatabaseUrl.optional(),
  admin: z.strictObject({
    email: z.email().max(254),
    username: NewUsername.optional(),
    password: Password,
  }),
}).meta({ id: "NewRealm" });
/** The request to create a realm. */
export type NewRealm = z.infer<typeof NewRealm>;

/** The body of a change of a realm. */
export const RealmChange = z.strictObject({
  name: Name.optional(),
  country: Country.optional(),
  accounting_currency: AccountingCurrency.optional(),
  tier: TierName.optional(),
  webhooks: EventSettings.optional(),
  chains: RealmChainSettings.optional(),
  messages: RealmMessageSettings.optional(),
  withdrawals: WithdrawalSettings.optional(),
}).meta({ id: "RealmChange" });
/** The body of a change of a realm. */
export type RealmChange = z.infer<typeof RealmChange>;

const realmFields = {
  id: z.string(),
  name: z.string(),
  zone: z.string(),
  country: z.string(),
  accounting_currency: z.string(),
  tier: z.string(),
  webhooks: z.record(z.string(), z.unknown()),
  chains: z.record(z.string(), z.unknown()),
  messages: z.record(z.string(), z.unknown()),
  withdrawals: z.record(z.string(), z.unknown()),
  updated_at: z.number().int().optional(),
  created_at: z.number().int(),
  error: Failure,
};

/** A realm as shown; with its keys of logins to the operator. */
export const RealmView = z.object({
  ...realmFields,
  realm_key: z.uuid().optional(),
  previous_realm_key: z.uuid().optional(),
}).meta({ id: "Realm" });

/** A realm as shown once, when it is created: with its keys. */
export const NewRealmView = z.object({
  ...realmFields,
  realm_key: z.uuid(),
  "x-api-key": z.string().meta({ description: "The application key." }),
  admin: UserView,
}).meta({ id: "RealmWithKeys" });

/** A realm that was just created, with its keys, which are shown once. */
export interface CreatedRealm {
  realm: RealmRow;
  admin: UserRow;
  /** The application key in clear. */
  applicationKey: string;
}

/** The dependencies of creating a realm. */
export interface PreparedRealm {
  migrations: Migrations;
  /** Whether each realm gets roles of its own. */
  roles: boolean;
  /** The logins of these roles; without them they do not log in. */
  logins?: Logins;
  /**
   * The administrator's password verifier, made before the transaction. Null where the answer of an earlier request was
   * kept: nothing was prepared.
   */
  verifier: string | null;
  /** The realm, where it was provisioned in a database of its own. */
  provisioned?: ProvisionedRealm;
}

/** A realm provisioned in a database of its own, which the directory does not list yet. */
export interface ProvisionedRealm {
  location: RealmLocation;
  admin: UserRow;
}

/**
 * Creates a realm in one transaction: role, schema, tables, administrator, directory entry and
 * application key. A realm that was provisioned elsewhere only enters the directory here.
 *
 * @throws {DomainError} request.invalid, service.overloaded
 */
export async function createRealm(
  tx: Tx,
  actor: Actor,
  input: NewRealm,
  prepared: PreparedRealm,
): Promise<CreatedRealm> {
  const { provisioned, migrations, verifier } = prepared;
  if (verifier === null) throw notPrepared("the earlier answer is not kept any more: try again");
  const location = provisioned?.location ?? newLocation(newId(actor.at), prepared);
  const admin = provisioned?.admin ??
    await provisionRealm(tx, actor, input, { ...prepared, verifier, location });
  await enterSchema(tx, "platform");
  if (provisioned !== undefined && !await deleteProvisioning(tx, location.id)) {
    throw notPrepared("making the realm took too long: try again");
  }
  const realm = await named(input.tier, () =>
    insertRealm(tx, {
      id: location.id,
      name: input.name,
      zone: input.zone,
      country: input.country,
      accounting_currency: input.accounting_currency,
      tier: input.tier,
      realm_key: crypto.randomUUID(),
      schema_name: location.schema,
      role_name: location.role,
      database_url_encrypted: location.encryptedUrl,
      login: location.login,
      schema_version: migrations.realm.length,
      migrations_checksum: checksumOf(migrations.realm),
      created_at: idTime(location.id),
    }));
  return { realm, admin, applicationKey: (await addApplicationKey(tx, actor, realm.id)).key };
}

function notPrepared(message: string): DomainError {
  return new DomainError("service.overloaded", message, { retryAfterS: 1 });
}

/** Provisions role, schema, tables and administrator of a realm. */
export async function provisionRealm(
  tx: Tx,
  actor: Actor,
  input: NewRealm,
  prepared: PreparedRealm & { location: RealmLocation; verifier: string },
): Promise<UserRow> {
  const { location } = prepared;
  await createRealmSchema(tx, location, prepared.logins);
  await migrateRealm(tx, prepared.migrations, location);
  await attestBirth(tx);
  const realm = {
    id: location.id,
    country: input.country,
    accountingCurrency: input.accounting_currency,
    withdrawals: {},
  };
  return await createUser(tx, { ...actor, realm }, {
    username: input.admin.username ?? input.admin.email,
    email: input.admin.email,
    verifier: prepared.verifier,
    roles: ["admin"],
    scopes: ["realm"],
    channel: { email: input.admin.email },
    data: {},
  });
}

/**
 * Runs a write of a tier's name; a name that is not in the table is refused as the caller's error.
 */
async function named<T>(tier: string | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (brokenConstraint(error) !== "realms_tier_fkey") throw error;
    throw invalidField("/tier", `there is no tier ${tier}`);
  }
}

/**
 * Changes a realm. Fields of the operator are refused to the realm's administrators.
 *
 * @throws {DomainError} realm.not_found, permission.role, permission.scope, request.invalid
 */
export async function changeRealm(
  tx: Tx,
  actor: Actor,
  id: string,
  input: RealmChange,
): Promise<RealmRow> {
  assertReaches(actor, id);
  if (input.tier !== undefined && actor.kind !== "operator") {
    throw new DomainError("permission.role", "only the operator changes a realm's tier");
  }
  const row = isId(id) ? await lockRealm(tx, id) : null;
  if (row === null) throw notFound("realm.not_found");
  const { webhooks, chains, messages, withdrawals, ...plain } = input;
  const settings = {
    ...row.settings,
    ...(webhooks === undefined ? {} : { webhooks }),
    ...(chains === undefined ? {} : { chains }),
    ...(messages === undefined ? {} : { messages }),
    ...(withdrawals === undefined ? {} : { withdrawals }),
  };
  const changed = await named(
    input.tier,
    () => updateRealm(tx, id, { ...plain, settings, updated_at: actor.at }),
  );
  return changed!;
}

/**
 * Creates a further application key of a realm; it is shown once and stored as a digest.
 *
 * @throws {DomainError} realm.not_found
 */
export async function addApplicationKey(
  tx: Tx,
  actor: Actor,
  realm: string,
): Promise<ApplicationKeyRow & { key: string }> {
  if (!isId(realm) || await selectRealm(tx, realm) === null) throw notFound("realm.not_found");
  const secret = crypto.getRandomValues(new Uint8Array(32));
  const key = `app_${secret.toBase64({ alphabet: "base64url", omitPadding: true })}`;
  const [id, digest] = [newId(actor.at), await digestKey(key)];
  return { ...await insertApplicationKey(tx, { id, realm, digest, created_at: idTime(id) }), key };
}

/**
 * Lists a realm's application keys, without the keys themselves.
 *
 * @throws {DomainError} realm.not_found
 */
export async function listApplicationKeys(
  db: Db,
  actor: Actor,
  realm: string,
): Promise<Record<string, unknown>[]> {
  await findRealm(db, actor, realm);
  return (await selectApplicationKeys(db, realm)).map(viewApplicationKey);
}

/**
 * Ends an application key: nobody logs in with it any more; user keys stay.
 *
 * @throws {DomainError} realm.not_found, key.not_found
 */
export async function endApplicationKey(
  tx: Tx,
  actor: Actor,
  { realm, key }: { realm: string; key: string },
): Promise<ApplicationKeyRow> {
  await findRealm(tx, actor, realm);
  const row = isId(key)
    ? await revokeApplicationKey(tx, { id: key, realm, revoked_at: actor.at })
    : null;
  if (row === null) throw notFound("key.not_found");
  return row;
}

/** Shows an application key: never the key itself. */
export function viewApplicationKey(row: ApplicationKeyRow): Record<string, unknown> {
  return {
    id: row.id,
    created_at: row.created_at,
    ...(row.revoked_at === null ? {} : { revoked_at: row.revoked_at }),
  };
}

/** The digest under which an application key is kept. */
export async function digestKey(key: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
}

/** Shows a realm. */
export function viewRealm(row: RealmRow): Record<string, unknown> {
  return {
    id: row.id,
    name: row.name,
    zone: row.zone,
    country: row.country,
    accounting_currency: row.accounting_currency,
    tier: row.tier,
    webhooks: row.settings.webhooks ?? {},
    chains: row.settings.chains ?? {},
    messages: row.settings.messages ?? {},
    withdrawals: row.settings.withdrawals ?? {},
    created_at: row.created_at,
    ...(row.updated_at === null ? {} : { updated_at: row.updated_at }),
    error: row.error,
  };
}

/** Finds the realm that an application key and a realm key both name. */
export async function findRealmByKeys(
  db: Db,
  digest: Uint8Array,
  realmKey: string,
): Promise<{ realm: RealmRow | null; keyKnown: boolean }> {
  const row = isId(realmKey) ? await selectRealmByKeys(db, digest, realmKey) : null;
  const keyKnown = row !== null || await existsApplicationKey(db, digest);
  return { realm: row, keyKnown };
}

/**
 * Finds a realm that the actor may see: any for the operator, its own for a realm administrator.
 *
 * @throws {DomainError} realm.not_found
 */
export async function findRealm(db: Db, actor: Actor, id: string): Promise<RealmRow> {
  assertReaches(actor, id);
  const row = isId(id) ? await selectRealm(db, id) : null;
  if (row === null) throw notFound("realm.not_found");
  return row;
}

/** Refuses everyone but the operator and the administrators of the realm itself. */
function assertReaches(actor: Actor, id: string): void {
  if (actor.kind === "operator") return;
  if (actor.realm.id !== id) throw notFound("realm.not_found");
  assertRealmAdmin(actor);
}

/** Lists realms for the operator, a page at a time. */
export async function listRealms(
  db: Db,
  page: { after: string | null; limit: number },
): Promise<Record<string, unknown>[]> {
  return (await selectRealms(db, isId(page.after ?? "") ? page.after : null, page.limit)).map(
    viewRealm,
  );
}

/** Shows a realm that was just created, with its keys. */
export function viewCreatedRealm(created: CreatedRealm): Record<string, unknown> {
  return {
    ...viewRealm(created.realm),
    realm_key: created.realm.realm_key,
    "x-api-key": created.applicationKey,
    admin: viewUser(created.admin),
  };
}

/** Counts the realms of the installation. */
export async function countAllRealms(pool: Pool): Promise<number> {
  return await reading(pool, countRealms);
}
