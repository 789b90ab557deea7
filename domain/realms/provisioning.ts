/**
 * Provisioning of realms in databases of their own, in two phases. First the realm is built there, under a
 * record that says where; the directory does not list it. Then one transaction of the platform's replaces
 * the record by the directory's entry. A realm that never gets that far is dropped again.
 * @module
 */
import type { Database, RealmLocation } from "../../db/database.ts";
import { codeOf, isOutOfReach } from "../../db/errors.ts";
import { assertReachable, dropRealmSchema, findEncodingFault } from "../../db/migrate.ts";
import {
  deleteProvisioning,
  insertProvisioning,
  lockAbandonedProvisionings,
} from "../../db/realms/realms.ts";
import { locking, reading, serializable } from "../../db/transaction.ts";
import type { Actor } from "../actor.ts";
import { DomainError } from "../errors.ts";
import { idTime, newId } from "../ids.ts";
import {
  type Migrations,
  type NewRealm,
  type PreparedRealm,
  type ProvisionedRealm,
  provisionRealm,
} from "./realms.ts";
import { assertPlatformKey } from "../security/platform_key.ts";
import { newLocation } from "./realm_locations.ts";
import type { Secrets } from "../security/serving_secrets.ts";

/** The dependencies of provisioning. */
export interface ProvisioningOptions {
  database: Database;
  migrations: Migrations;
  /** Whether each realm gets a role of its own. */
  roles: boolean;
  secrets: Secrets;
}

/** Age in milliseconds from which a realm that was not created counts as abandoned. */
const ABANDONED_MS = 3_600_000;
/** Age in milliseconds from which an abandoned realm is forgotten, though its database is unreachable. */
const FORGOTTEN_MS = 7 * 24 * ABANDONED_MS;

/**
 * Prepares the creation of a realm; provisions it if it is to have a database of its own.
 *
 * @throws {DomainError} request.invalid when that database cannot be used; service.overloaded where the process has
 *   another platform key than the installation
 */
export async function prepareRealm(
  options: ProvisioningOptions,
  actor: Actor,
  input: NewRealm,
  verifier: string,
): Promise<PreparedRealm> {
  const { migrations, roles, database: { logins, platform }, secrets } = options;
  await reading(platform, (db) => assertPlatformKey(db, secrets));
  const prepared = { migrations, roles, logins, verifier };
  if (input.database_url === undefined) return prepared;
  // One that cannot be dropped now is tried again at the next provisioning.
  await dropAbandonedRealms(options, actor.at).catch(() => {});
  const id = newId(actor.at);
  const encryptedUrl = secrets.encrypt("database_url", id, input.database_url);
  const location = newLocation(id, prepared, encryptedUrl);
  await serializable(platform, (tx) =>
    insertProvisioning(tx, {
      id,
      database_url_encrypted: encryptedUrl,
      created_at: actor.at,
    }));
  return {
    ...prepared,
    provisioned: await build(options, actor, input, { ...prepared, location }),
  };
}

/** Drops a realm that was provisioned and is not created. */
export async function abandonRealm(
  options: ProvisioningOptions,
  { provisioned }: PreparedRealm,
): Promise<void> {
  if (provisioned !== undefined) await dropRealm(options, provisioned.location, 0);
}

/** Drops all abandoned realms. */
async function dropAbandonedRealms(options: ProvisioningOptions, now: number): Promise<void> {
  const { database: { platform }, roles } = options;
  const before = now - ABANDONED_MS;
  const old = await locking(platform, (tx) => lockAbandonedProvisionings(tx, before));
  for (const { id, database_url_encrypted } of old) {
    await dropRealm(options, newLocation(id, { roles }, database_url_encrypted), now);
  }
}

async function build(
  options: ProvisioningOptions,
  actor: Actor,
  input: NewRealm,
  prepared: PreparedRealm & { location: RealmLocation },
): Promise<ProvisionedRealm> {
  const { location } = prepared;
  const owner = options.database.owner(location);
  try {
    await assertReachable(owner);
    const fault = await findEncodingFault(owner.sql);
    if (fault !== null) throw unusable(`the database cannot be used: ${fault}`);
    const admin = await owner.sql.begin((tx) => provisionRealm(tx, actor, input, prepared));
    return { location, admin };
  } catch (error) {
    await dropRealm(options, location, 0).catch(() => {}); // else it is dropped as abandoned
    if (error instanceof DomainError) throw error;
    const code = codeOf(error);
    const outside = isOutOfReach(error);
    if (code === null && !outside) throw error;
    throw unusable(
      outside
        ? "the database's server is not among those that the operator lets the service reach"
        : `the database cannot be used (${code})`,
    );
  } finally {
    await owner.sql.end({ timeout: 5 });
  }
}

function unusable(message: string): DomainError {
  const errors = [{ path: "/database_url", message }];
  return new DomainError("request.invalid", message, { errors });
}

/** Drops a realm while its record is locked, so that no transaction can create it meanwhile. */
async function dropRealm(
  options: ProvisioningOptions,
  location: RealmLocation,
  now: number,
): Promise<void> {
  await locking(options.database.platform, async (tx) => {
    if (!await deleteProvisioning(tx, location.id)) return;
    const owner = options.database.owner(location);
    try {
      await assertReachable(owner);
      await owner.sql.begin((there) => dropRealmSchema(there, location));
    } catch (error) {
      const forgotten = now - idTime(location.id) > FORGOTTEN_MS;
      // Wrapped: the connection of this transaction is not the one that was lost.
      if (!forgotten) throw new Error("an abandoned realm could not be dropped", { cause: error });
    } finally {
      await owner.sql.end({ timeout: 5 });
    }
  });
}
