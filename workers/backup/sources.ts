/**
 * The places that a backup reads realms from. A realm of the platform's database is read as of the backup's moment;
 * one that lives elsewhere, or moves meanwhile, as of the later moment at which its turn comes.
 * @module
 */
import {
  holdTables,
  schemaExists,
  selectRewritten,
  selectTables,
  type SizedTable,
  sumBytes,
} from "../../db/backup/catalog.ts";
import { type BackedRealm, ownedLocation } from "../../db/backup/directory.ts";
import { readMoment, readOnce } from "../../db/backup/snapshots.ts";
import type { Database, Pool, Tx } from "../../db/database.ts";
import { codeOf, isOutOfReach } from "../../db/errors.ts";
import { assertReachable } from "../../db/migrate.ts";
import { selectPlace } from "../../db/realm_places.ts";
import { reading } from "../../db/transaction.ts";
import { refuse } from "../../domain/backup/manifests.ts";
import { nameServer } from "../../domain/realms/realm_locations.ts";
import type { Secrets } from "../../domain/security/serving_secrets.ts";

/** A database that realms are read from. */
export interface Sources {
  readonly database: Database;
  readonly secrets: Secrets;
  /** The moment of the platform's database that is kept. */
  readonly moment: string;
}

/** Where a realm lives when it is read. */
export type Source = Pick<BackedRealm, "place" | "database_url_encrypted">;

/** Realms that are asked at once whether they can be read. */
const ASKED_AT_ONCE = 8;
const TRIES_MAX = 5;
/** The server's codes for a table and for a schema that is gone. */
const GONE: readonly (string | null)[] = ["42P01", "3F000"];
const MOVED: unique symbol = Symbol();
/** A table was written anew since the moment at which it was to be read. */
const REWRITTEN: unique symbol = Symbol();
type Read<T> = T | typeof MOVED | typeof REWRITTEN;

/**
 * Reads a realm where it lives. Its tables are held before the directory is asked again, so nothing that was
 * dropped, emptied or left behind by a move is taken for the realm. One whose tables were written anew since the backup's moment,
 * as by a migration, is read as of a later one.
 */
export async function readRealm<T>(
  sources: Sources,
  realm: BackedRealm,
  work: (tx: Tx, source: Source, tables: SizedTable[]) => Promise<T>,
): Promise<T> {
  let isLate = false;
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    const source = await findSource(sources, realm);
    const read = async (tx: Tx): Promise<Read<T>> => {
      const tables = await selectTables(tx, realm.schema_name);
      if (tables.length === 0 || !await held(tx, realm.schema_name, tables)) return MOVED;
      if ((await findSource(sources, realm)).place !== source.place) return MOVED;
      if ((await selectRewritten(tx, realm.schema_name, [])).length > 0) return REWRITTEN;
      return await work(tx, source, tables);
    };
    const result: Read<T> = await readAt(sources, { realm, source, isLate }, read);
    if (result !== MOVED && result !== REWRITTEN) return result;
    isLate = result === REWRITTEN;
  }
  refuse(
    `realm ${realm.id} is not where the directory says, or its tables are written anew all the time:` +
      " the backup lacks it, and is given up",
  );
}

/**
 * Lists the tables of the platform and holds them until the transaction ends.
 *
 * @throws {DomainError} request.invalid where one was emptied or written anew since the backup's moment
 */
export async function holdPlatform(tx: Tx, without: readonly string[]): Promise<SizedTable[]> {
  const tables = await selectTables(tx, "platform");
  const isHeld = await held(tx, "platform", tables);
  const changed = isHeld ? await selectRewritten(tx, "platform", without) : ["one that is gone"];
  if (changed.length === 0) return tables;
  refuse(
    `tables of the platform were written anew while it was backed up, as by a migration (${
      changed.join(", ")
    }): nothing is kept, run the backup again`,
  );
}

/** The place of a realm by the directory as it is now. */
async function findSource(
  { database }: Sources,
  { id, place, database_url_encrypted }: BackedRealm,
): Promise<Source> {
  const found = await reading(database.platform, (db) => selectPlace(db, id));
  if (found === null) return { place, database_url_encrypted };
  const { location } = found;
  return { place: location.place, database_url_encrypted: location.encryptedUrl };
}

async function readAt<T>(
  { database, moment }: Sources,
  { realm, source, isLate }: { realm: BackedRealm; source: Source; isLate: boolean },
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  if (source.database_url_encrypted === null) {
    // A schema that came here after the moment would look empty at it.
    return source.place === realm.place && !isLate
      ? await readMoment(database.builder, moment, work)
      : await readOnce(database.builder, work);
  }
  return await asOwner(database, { ...realm, ...source }, (owner) => readOnce(owner, work));
}

/** Holds the tables of a schema; false where one is gone. */
async function held(tx: Tx, schema: string, tables: readonly SizedTable[]): Promise<boolean> {
  try {
    await tx.savepoint((inner) => holdTables(inner, schema, tables));
    return true;
  } catch (error) {
    if (GONE.includes(codeOf(error))) return false;
    throw error;
  }
}

async function asOwner<T>(
  database: Database,
  realm: BackedRealm,
  work: (owner: Pool) => Promise<T>,
): Promise<T> {
  const owner = database.owner(ownedLocation(realm));
  try {
    await assertReachable(owner); // a transaction's begin may never report it
    return await work(owner);
  } finally {
    await owner.sql.end({ timeout: 5 });
  }
}

/**
 * Makes sure that every realm that lives elsewhere can be read; gives the bytes of their rows.
 *
 * @throws {DomainError} request.invalid that names each one that cannot
 */
export async function assertReadable(
  sources: Omit<Sources, "moment">,
  realms: readonly BackedRealm[],
): Promise<number> {
  const elsewhere = realms.filter((realm) => realm.database_url_encrypted !== null);
  const faults: string[] = [];
  let bytes = 0;
  for (let at = 0; at < elsewhere.length; at += ASKED_AT_ONCE) {
    const some = elsewhere.slice(at, at + ASKED_AT_ONCE);
    for (const found of await Promise.all(some.map((realm) => ask(sources, realm)))) {
      if (typeof found === "string") faults.push(found);
      else bytes += found;
    }
  }
  if (faults.length === 0) return bytes;
  refuse(
    `nothing is backed up, because these realms cannot be read:\n${faults.join("\n")}\n` +
      "with `--without <id>` for each of them the backup is made of the others, and says so",
  );
}

/** Gives the bytes of a realm's rows, or why they cannot be read. */
async function ask(
  { database, secrets }: Omit<Sources, "moment">,
  realm: BackedRealm,
): Promise<number | string> {
  const { id, name, schema_name, database_url_encrypted } = realm;
  const at = `realm ${id} (${name}) at ${nameServer(secrets, id, database_url_encrypted)}`;
  try {
    return await asOwner(database, realm, async (owner) => {
      return await readOnce(owner, async (tx) => {
        if (await schemaExists(tx, schema_name)) return await sumBytes(tx, [schema_name]);
        return `${at}: there is no schema ${schema_name}`;
      });
    });
  } catch (error) {
    if (isOutOfReach(error)) return `${at}: the server is not among DATABASE_HOSTS`;
    return `${at}: ${codeOf(error) ?? "its database does not answer"}`;
  }
}
