/** Realms: physically separate tenants, and the keys that name them. @module */
import { z } from "zod";
import type { Db, Place, Pool, Tx } from "../db/database.ts";
import { createPlace, enterSchema, type Ladders, migrateRealm } from "../db/migrate.ts";
import {
  countRealms,
  existsApplicationKey,
  insertApplicationKey,
  insertRealm,
  type RealmRow,
  selectRealm,
  selectRealmByKeys,
  selectRealms,
} from "../db/realms.ts";
import { reading } from "../db/transaction.ts";
import type { UserRow } from "../db/users.ts";
import type { Actor } from "./actor.ts";
import { text } from "./entity.ts";
import { AccountingCurrency, Country } from "./identities.ts";
import { isId, newId } from "./ids.ts";
import { Password } from "./passwords.ts";
import { assertRealmAdmin, notFound } from "./permissions.ts";
import { createUser, UserView, viewUser } from "./users.ts";

export type { Ladders };

/** What is asked for when a realm is made. */
export const NewRealm = z.strictObject({
  name: text(100),
  country: Country.default("US"),
  accounting_currency: AccountingCurrency.default("USD"),
  zone: z.enum(["US", "EU"]).default("US"),
  tier: z.enum(["free", "basic", "pro", "unlimited"]).default("unlimited"),
  admin: z.strictObject({
    email: z.email().max(254),
    username: text(200).optional(),
    password: Password,
  }),
}).meta({ id: "NewRealm" });
/** What is asked for when a realm is made. */
export type NewRealm = z.infer<typeof NewRealm>;

const realmFields = {
  id: z.string(),
  name: z.string(),
  zone: z.string(),
  country: z.string(),
  accounting_currency: z.string(),
  tier: z.string(),
  created_at: z.number().int(),
  error: z.unknown(),
};

/** A realm as shown. */
export const RealmView = z.object(realmFields).meta({ id: "Realm" });

/** A realm as shown once, when it is made: with its keys. */
export const NewRealmView = z.object({
  ...realmFields,
  realm_key: z.uuid(),
  "x-api-key": z.string().meta({ description: "The application key." }),
  admin: UserView,
}).meta({ id: "RealmWithKeys" });

/** A realm that was just made, with what is shown of it once. */
export interface MadeRealm {
  realm: RealmRow;
  admin: UserRow;
  /** The application key in clear. */
  applicationKey: string;
}

/** What making a realm needs besides what was asked for. */
export interface RealmWorkshop {
  ladders: Ladders;
  /** Whether each realm gets a role of its own. */
  roles: boolean;
  /** The administrator's password verifier, made before the transaction. */
  verifier: string;
}

/**
 * Makes a realm whole, in one transaction: role, schema, tables, administrator, directory entry and
 * application key.
 */
export async function createRealm(
  tx: Tx,
  actor: Actor,
  input: NewRealm,
  workshop: RealmWorkshop,
): Promise<MadeRealm> {
  const id = newId(actor.at);
  const schema = `realm_${id.replaceAll("-", "")}`;
  const place = { schema, role: workshop.roles ? schema : null };
  await createPlace(tx, place);
  await migrateRealm(tx, workshop.ladders, place);
  const defaults = { id, country: input.country, accountingCurrency: input.accounting_currency };
  const admin = await createUser(tx, { ...actor, realm: defaults }, {
    username: input.admin.username ?? input.admin.email,
    email: input.admin.email,
    verifier: workshop.verifier,
    roles: ["admin"],
    scopes: ["realm"],
    channel: { email: input.admin.email },
    data: {},
  });
  await enterSchema(tx, "platform");
  const realm = await insertRealm(tx, {
    id,
    name: input.name,
    zone: input.zone,
    country: input.country,
    accounting_currency: input.accounting_currency,
    tier: input.tier,
    realm_key: crypto.randomUUID(),
    schema_name: schema,
    role_name: place.role,
    placement: null,
    rung: workshop.ladders.realm.length,
    created_at: actor.at,
  });
  return { realm, admin, applicationKey: await addApplicationKey(tx, actor, realm.id) };
}

/** Makes a further application key of a realm; it is shown once and kept as a digest. */
export async function addApplicationKey(tx: Tx, actor: Actor, realm: string): Promise<string> {
  const secret = crypto.getRandomValues(new Uint8Array(32));
  const key = `app_${
    btoa(String.fromCharCode(...secret)).replaceAll("+", "-").replaceAll("/", "_")
      .replaceAll("=", "")
  }`;
  await insertApplicationKey(tx, {
    id: newId(actor.at),
    realm,
    digest: await digestKey(key),
    created_at: actor.at,
  });
  return key;
}

/** The digest under which an application key is kept. */
export async function digestKey(key: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key)));
}

/** Where a realm's data lives. */
export function placeOf(row: RealmRow): Place {
  return { id: row.id, schema: row.schema_name, role: row.role_name, url: null };
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
): Promise<{ realm: string | null; keyKnown: boolean }> {
  const row = isId(realmKey) ? await selectRealmByKeys(db, digest, realmKey) : null;
  const keyKnown = row !== null || await existsApplicationKey(db, digest);
  return { realm: row?.id ?? null, keyKnown };
}

/**
 * Finds a realm that the actor may see: any for the operator, its own for a realm administrator.
 *
 * @throws {DomainError} realm.not_found
 */
export async function findRealm(db: Db, actor: Actor, id: string): Promise<RealmRow> {
  if (actor.kind !== "operator") {
    if (actor.realm.id !== id) throw notFound("realm.not_found");
    assertRealmAdmin(actor);
  }
  const row = isId(id) ? await selectRealm(db, id) : null;
  if (row === null) throw notFound("realm.not_found");
  return row;
}

/** Lists realms for the operator, a page at a time. */
export async function listRealms(
  db: Db,
  page: { after: string | null; limit: number },
): Promise<Record<string, unknown>[]> {
  return (await selectRealms(db, page.after, page.limit)).map(viewRealm);
}

/** Shows a realm that was just made, with its keys. */
export function viewMadeRealm(made: MadeRealm): Record<string, unknown> {
  return {
    ...viewRealm(made.realm),
    realm_key: made.realm.realm_key,
    "x-api-key": made.applicationKey,
    admin: viewUser(made.admin),
  };
}

/** Counts the realms of the installation. */
export async function countAllRealms(pool: Pool): Promise<number> {
  return await reading(pool, countRealms);
}
