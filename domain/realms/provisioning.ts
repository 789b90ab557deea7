/**
 * Provisioning of realms in databases of their own, in two phases. First the realm is built there, under a
 * record that says where; the directory does not list it. Then one transaction of the platform's replaces
 * the record by the directory's entry. A realm that never gets that far is dropped again.
 * @module
 */
import type { Database, RealmLocation } from "../../db/database.ts";
import { codeOf, isOutOfReach, mayBeDone } from "../../db/errors.ts";
import { assertReachable, dropRealmSchema, findEncodingFault } from "../../db/migrate.ts";
import {
  deleteProvisioning,
  insertProvisioning,
  isInUse,
  lockAbandonedProvisionings,
} from "../../db/realms/realms.ts";
import { locking, reading, serializable, using } from "../../db/transaction.ts";
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
import { borrowsLogin, newLocation } from "./realm_locations.ts";
import type { Secrets } from "../security/serving_secrets.ts";
import type { RealmTarget, RealmTargets } from "../zones.ts";

/** The dependencies of provisioning. */
export interface ProvisioningOptions {
  database: Database;
  migrations: Migrations;
  /** Whether each realm gets a role of its own. */
  roles: boolean;
  secrets: Secrets;
  /** Where a realm is made that names no database of its own. */
  targets: RealmTargets;
}

/** Age in milliseconds from which a realm that was not created counts as abandoned. */
const ABANDONED_MS = 3_600_000;
/** Age in milliseconds from which an abandoned realm is forgotten, though its database is unreachable. */
const FORGOTTEN_MS = 7 * 24 * ABANDONED_MS;

/** How long a caller waits who finds that the database for new realms cannot be used. */
const RETRY_AFTER_S = 30;

/**
 * Prepares the creation of a realm; provisions it if it is to live in another database than the platform's: the one
 * that the request names, else the one that is set for its zone.
 *
 * @param verifier null where the answer of an earlier request was kept: nothing is provisioned
 * @throws {DomainError} request.invalid when the database of the request cannot be used; service.overloaded when that of
 *   the zone cannot, or where the process has another platform key than the installation
 */
export async function prepareRealm(
  options: ProvisioningOptions,
  actor: Actor,
  input: NewRealm,
  verifier: string | null,
): Promise<PreparedRealm> {
  const { migrations, roles, database: { logins, platform }, secrets } = options;
  await reading(platform, (db) => assertPlatformKey(db, secrets));
  const prepared = { migrations, roles, logins, verifier };
  const target = input.database_url === undefined
    ? options.targets[input.zone]
    : { url: input.database_url, setting: null };
  if (verifier === null || target === null) return prepared;
  if (borrowsLogin(target.url, options.targets)) throw refusalOf(WRONG_PASSWORD, target.setting);
  // One that cannot be dropped now is tried again at the next provisioning.
  await dropAbandonedRealms(options, actor.at).catch(() => {});
  const id = newId(actor.at);
  const encryptedUrl = secrets.encrypt("database_url", id, target.url);
  const location = newLocation(id, prepared, encryptedUrl);
  await serializable(platform, (tx) =>
    insertProvisioning(tx, {
      id,
      database_url_encrypted: encryptedUrl,
      created_at: actor.at,
    }));
  return {
    ...prepared,
    provisioned: await build(options, actor, input, { ...prepared, verifier, location })
      .catch((error) => {
        throw error instanceof Unusable ? refusalOf(error, target.setting) : error;
      }),
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

/** A database in which no realm can be made; the message says why. */
class Unusable extends Error {
  override readonly name = "Unusable";
}

/** As the server would say it. */
const WRONG_PASSWORD = new Unusable("the database cannot be used (28P01)");

async function build(
  options: ProvisioningOptions,
  actor: Actor,
  input: NewRealm,
  prepared: PreparedRealm & { location: RealmLocation; verifier: string },
): Promise<ProvisionedRealm> {
  const { location } = prepared;
  const owner = options.database.owner(location);
  let begun = false;
  try {
    await assertReachable(owner);
    const fault = await findEncodingFault(owner.sql);
    if (fault !== null) throw new Unusable(`the database cannot be used: ${fault}`);
    begun = true;
    const admin = await using(
      owner,
      (sql) => sql.begin((tx) => provisionRealm(tx, actor, input, prepared)),
    );
    return { location, admin };
  } catch (error) {
    // A transaction that the server refused left nothing. One whose outcome is unknown may still be committed, so
    // its realm is dropped later, as abandoned.
    if (!begun || !mayBeDone(error)) await forget(options, location).catch(() => {});
    throw error instanceof DomainError ? error : unusableBy(error);
  } finally {
    await owner.sql.end({ timeout: 5 });
  }
}

/** Tells why a database could not be used, where it is not the service's own fault. */
function unusableBy(error: unknown): unknown {
  if (isOutOfReach(error)) {
    const message =
      "the database's server is not among those that the operator lets the service reach";
    return new Unusable(message, { cause: error });
  }
  const code = codeOf(error);
  if (code === null) return error;
  return new Unusable(`the database cannot be used (${code})`, { cause: error });
}

/** The refusal of a request whose database cannot be used: the caller's fault, unless a setting names it. */
function refusalOf({ message }: Unusable, setting: RealmTarget["setting"] | null): DomainError {
  if (setting === null) {
    const errors = [{ path: "/database_url", message }];
    return new DomainError("request.invalid", message, { errors });
  }
  return new DomainError("service.overloaded", `no realm can be made by ${setting}: ${message}`, {
    retryAfterS: RETRY_AFTER_S,
  });
}

/** Deletes the record of a realm of which nothing was built. */
async function forget({ database }: ProvisioningOptions, { id }: RealmLocation): Promise<void> {
  await locking(database.platform, (tx) => deleteProvisioning(tx, id));
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
      await owner.sql.begin(async (there) => {
        // The record may be that of an old backup, and the realm a living one.
        if (!await isInUse(there, location.schema)) await dropRealmSchema(there, location);
      });
    } catch (error) {
      const forgotten = now - idTime(location.id) > FORGOTTEN_MS;
      // Wrapped: the connection of this transaction is not the one that was lost.
      if (!forgotten) throw new Error("an abandoned realm could not be dropped", { cause: error });
    } finally {
      await owner.sql.end({ timeout: 5 });
    }
  });
}
