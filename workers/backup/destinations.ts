/** The databases that realms of a backup are restored to. @module */
import { schemaExists } from "../../db/backup/catalog.ts";
import { ownedLocation } from "../../db/backup/directory.ts";
import { rebuild } from "../../db/backup/snapshots.ts";
import type { Database, Pool, Tx } from "../../db/database.ts";
import { codeOf, isDatabaseMissing, isOutOfReach, isUnanswered } from "../../db/errors.ts";
import { assertReachable, findEncodingFault } from "../../db/migrate.ts";
import { inspectTarget } from "../../db/moves/target.ts";
import { type Header, type RealmPart, refuse } from "../../domain/backup/manifests.ts";
import { nameServer } from "../../domain/realms/realm_locations.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";

/**
 * Where realms are restored to: the platform's database, the one that each was read from, or the one of an address.
 * Of an installation, only realms that had databases of their own come to an address.
 */
export type Destination = "platform" | "origin" | { readonly address: string };

/** What reaches a destination. */
export interface DestinationOptions {
  readonly database: Database;
  readonly secrets: Secrets;
  readonly header: Header;
}

/** A realm in a database of its own. */
export interface RealmElsewhere {
  readonly id: string;
  readonly schema: string;
  /** Encrypted under the platform key. */
  readonly address: Uint8Array;
}

/** Gives the encrypted address that a realm is restored to; null: the platform's database. */
export function addressOf(
  part: Pick<RealmPart, "id" | "address">,
  { to, secrets, alone }: { to: Destination; secrets: Secrets; alone: boolean },
): Uint8Array | null {
  const origin = part.address === null ? null : Uint8Array.fromBase64(part.address);
  if (to === "platform" || (origin === null && !(alone && to !== "origin"))) return null;
  return to === "origin" ? origin : secrets.encrypt("database_url", part.id, to.address);
}

/**
 * Runs work with all rights in a realm's own database.
 *
 * @throws {DomainError} request.invalid where it cannot be used, which names the server and no login
 */
export async function elsewhere<T>(
  options: DestinationOptions,
  realm: RealmElsewhere,
  work: (owner: Pool) => Promise<T>,
): Promise<T> {
  const { secrets, header } = options;
  const { id, schema, address } = realm;
  return await asOwner(options, realm, async (owner) => {
    const server = nameServer(secrets, id, address);
    await reach(owner, `realm ${id} cannot be restored to ${server}`);
    const fault = await rebuild(owner, (tx) => faultOf(tx, schema, header));
    if (fault !== null) refuse(`realm ${id} cannot be restored to ${server}: ${fault}`);
    return await work(owner);
  });
}

async function asOwner<T>(
  { database, secrets }: DestinationOptions,
  { id, schema, address }: RealmElsewhere,
  work: (owner: Pool) => Promise<T>,
): Promise<T> {
  if (secrets.decrypt("database_url", id, address) === null) {
    refuse(`the address of realm ${id}'s database was encrypted under another PLATFORM_KEY`);
  }
  const owner = database.owner(ownedLocation({
    ...{ id, schema_name: schema, database_url_encrypted: address },
  }));
  try {
    return await work(owner);
  } finally {
    await owner.sql.end({ timeout: 5 });
  }
}

async function faultOf(tx: Tx, schema: string, { installation }: Header): Promise<string | null> {
  const found = await inspectTarget(tx, schema);
  if (found.installation !== null && found.installation !== installation) {
    return "it holds another installation";
  }
  return await findEncodingFault(tx);
}

async function reach(owner: Pool, what: string): Promise<void> {
  try {
    await assertReachable(owner);
  } catch (error) {
    if (isOutOfReach(error)) refuse(`${what}: its server is not among DATABASE_HOSTS`);
    if (codeOf(error) === null) throw error;
    refuse(`${what}: it does not answer (${codeOf(error)})`);
  }
}

/**
 * Refuses a realm whose schema is still where the directory says, while it is restored to another place: it would live in two.
 * Where no server answers there, the realm counts as lost; a server that answers anything else, such as a refused login,
 * may well have it.
 *
 * @returns whether that server answered
 * @throws {DomainError} request.invalid
 */
export async function assertGone(
  options: DestinationOptions,
  realm: RealmElsewhere,
): Promise<boolean> {
  const { id, schema, address } = realm;
  const server = nameServer(options.secrets, id, address);
  return await asOwner(options, realm, async (owner) => {
    try {
      await assertReachable(owner);
    } catch (error) {
      if (isUnanswered(error)) return false;
      if (isDatabaseMissing(error)) return true;
      const why = isOutOfReach(error) ? "it is not among DATABASE_HOSTS" : codeOf(error);
      if (why === null) throw error;
      refuse(`whether realm ${id} is still at ${server} cannot be told: ${why}`);
    }
    const there = await rebuild(owner, (tx) => schemaExists(tx, schema));
    if (there) refuse(`the schema ${schema} exists already, at ${server}: rename it first`);
    return true;
  });
}
