/**
 * Repairs the directory where it has lost a move: by the records in the realm's own databases, it names again the place
 * in which the realm lives, and knows the move that ended there.
 * @module
 */
import type { Pool, RealmLocation, Tx } from "../../db/database.ts";
import { codeOf, isDatabaseMissing, isUnanswered } from "../../db/errors.ts";
import { assertReachable, enterSchema } from "../../db/migrate.ts";
import {
  type Departure,
  type PlaceRecord,
  readPlace,
  recordDeparture,
  recordOpened,
} from "../../db/moves/departures.ts";
import { raiseFence } from "../../db/moves/fence.ts";
import { selectTables } from "../../db/moves/tables.ts";
import { inspectTarget } from "../../db/moves/target.ts";
import { restoreMove, updatePlace } from "../../db/realms/moves.ts";
import { lockRealm, selectRealm } from "../../db/realms/realms.ts";
import { building, locking, reading } from "../../db/transaction.ts";
import { DomainError } from "../../domain/errors.ts";
import { isId } from "../../domain/ids.ts";
import { notFound } from "../../domain/permissions.ts";
import { locationOf, nameServer } from "../../domain/realms/realm_locations.ts";
import type { OrderOptions } from "./move.ts";
import { lockingAll } from "./run.ts";

/** What is asked for. */
export interface RepairOrder {
  realm: string;
  /** Address where the realm lives, for where the place that the directory names tells of none; null: the platform's database. */
  to?: string | null;
}

/** What a repair has found. */
export interface RepairReport {
  place: number;
  /** Host, port and database. */
  server: string;
  /** Whether the directory was wrong. */
  changed: boolean;
}

type Location = RealmLocation & { role: string };

/** A place where a realm lives, and the one before it. */
interface Found {
  at: Location;
  record: PlaceRecord;
  last: { from: Location; departure: Departure } | null;
}

/**
 * Finds where a realm lives, and makes the directory say so.
 *
 * @throws {DomainError} realm.not_found, request.invalid where the records do not tell it
 */
export async function repair(
  options: OrderOptions,
  { realm, to }: RepairOrder,
  at: number,
): Promise<RepairReport> {
  const { database, secrets } = options;
  const row = isId(realm) ? await reading(database.platform, (db) => selectRealm(db, realm)) : null;
  if (row === null) throw notFound("realm.not_found");
  if (row.role_name === null) throw refused("a realm without roles of its own does not move");
  const here: Location = { ...locationOf(row), role: row.role_name };
  const found = to === undefined
    ? await walk(options, here)
    : await claim(options, here, to === null ? null : secrets.encrypt("database_url", realm, to));
  const { encryptedUrl, place } = found.at;
  const server = nameServer(secrets, realm, encryptedUrl);
  if (place === here.place && found.last === null) return { place, server, changed: false };
  await locking(database.builder, async (tx) => {
    await enterSchema(tx, "platform");
    const now = await lockRealm(tx, realm);
    const change = { place, database_url_encrypted: encryptedUrl };
    if (now === null || !await updatePlace(tx, { id: realm, from: here.place }, change)) {
      throw refused("the directory has changed meanwhile: run the command again");
    }
    await restoreMove(tx, realm, moveOf(found, at));
  });
  return { place, server, changed: true };
}

/** The move that the directory has lost, as one that has switched: `realm move` then ends it. */
function moveOf({ at, last }: Found, now: number) {
  if (last === null) return null;
  const { from, departure: { move, runner } } = last;
  const addresses = { source_encrypted: from.encryptedUrl, target_encrypted: at.encryptedUrl };
  return { id: move, runner, place: at.place, ...addresses, created_at: now };
}

/** Goes from place to place, where the realm has gone. */
async function walk(options: OrderOptions, start: Location): Promise<Found> {
  let last: Found["last"] = null;
  for (let at = start;;) {
    const { record, departure } = await arrive(options, at, last?.departure ?? null);
    if (departure === null) {
      const place = Math.max(at.place, record.opened?.place ?? 0);
      return { at: { ...at, place }, record, last };
    }
    if (departure.place <= at.place) {
      throw refused("the records of its places contradict each other");
    }
    const encryptedUrl = encryptedAnew(options, at, departure.address);
    last = { from: at, departure };
    at = { ...at, place: departure.place, encryptedUrl };
  }
}

/** The address of a record under the present platform key: the one that it was written under may be dropped soon. */
function encryptedAnew(
  { secrets }: OrderOptions,
  { id, encryptedUrl }: Location,
  address: Uint8Array | null,
): Uint8Array | null {
  if (address === null) return null;
  const plain = secrets.decrypt("database_url", id, address);
  if (plain !== null) return secrets.encrypt("database_url", id, plain);
  throw refused(
    `${
      nameServer(secrets, id, encryptedUrl)
    } says under another platform key where the realm has gone to:` +
      " set that one as PLATFORM_KEY_PREVIOUS, or say where the realm lives, by --to -",
  );
}

/** Reads a place; one that a move has left for, and has not opened, is opened where the copy is whole. */
async function arrive(options: OrderOptions, at: Location, by: Departure | null) {
  const server = nameServer(options.secrets, at.id, at.encryptedUrl);
  return await asOwner(options, at, async (pool) => {
    await assertAnswering(pool, server);
    return await locking(pool, async (tx) => {
      const record = await readPlace(tx, at.schema);
      const { present, fenced, departure, opened } = record;
      if (!present) {
        throw refused(`${server} has no schema of the realm: say where it lives, by --to -`);
      }
      if (departure !== null) return { record, departure };
      if (fenced) {
        throw refused(
          `a move has stopped the writes at ${server}, and the realm has not left it: carry it on, or --cancel it`,
        );
      }
      if (by !== null && opened?.move !== by.move) await open(tx, at, by);
      return { record, departure };
    });
  });
}

async function open(tx: Tx, { schema }: Location, { move, place }: Departure): Promise<void> {
  const { mark } = await inspectTarget(tx, schema);
  if (mark?.move !== move || mark.state !== "complete") {
    throw refused("the copy that the realm was moved to is not whole, or another's");
  }
  await recordOpened(tx, schema, { move, place });
}

/** Finds the realm at the address that the operator gives, and closes the place that the directory names. */
async function claim(
  options: OrderOptions,
  here: Location,
  encryptedUrl: Uint8Array | null,
): Promise<Found> {
  const found = await walk(options, { ...here, encryptedUrl, place: 0 });
  const { opened } = found.record;
  if (opened === null || found.at.place <= here.place) {
    throw refused(
      `no move has brought the realm there after it came to place ${here.place}, where the directory has it`,
    );
  }
  const departure: Departure = {
    ...opened,
    runner: crypto.randomUUID(),
    address: found.at.encryptedUrl,
  };
  const closed = await close(options, here, departure);
  return { ...found, last: closed === null ? found.last : { from: here, departure: closed } };
}

/**
 * Makes the place that the directory names one that the realm has left.
 *
 * @returns the departure that is recorded there; null where nothing is left there, or it is the place itself
 */
async function close(
  options: OrderOptions,
  here: Location,
  departure: Departure,
): Promise<Departure | null> {
  return await asOwner(options, here, async (pool) => {
    try {
      await assertReachable(pool);
    } catch (error) {
      // A server that answers anything else may well have the realm.
      if (isUnanswered(error) || isDatabaseMissing(error)) return null;
      throw error;
    }
    const tables = await building(pool, (sql) => selectTables(sql, here.schema));
    let recorded: Departure | null = null;
    await lockingAll(pool, async (tx) => {
      const record = await readPlace(tx, here.schema);
      recorded = record.departure;
      if (!record.present || recorded !== null || record.opened?.move === departure.move) return;
      await raiseFence(tx, here, tables, departure.runner);
      await recordDeparture(tx, here.schema, departure);
      recorded = departure;
    });
    return recorded;
  });
}

async function assertAnswering(pool: Pool, server: string): Promise<void> {
  try {
    await assertReachable(pool);
  } catch (error) {
    const code = codeOf(error);
    if (code === null) throw error;
    throw refused(`${server} does not answer (${code}): say where the realm lives, by --to -`);
  }
}

async function asOwner<T>(
  { database }: OrderOptions,
  at: Location,
  work: (pool: Pool) => Promise<T>,
): Promise<T> {
  const pool = database.owner(at);
  try {
    return await work(pool);
  } finally {
    await pool.sql.end({ timeout: 5 });
  }
}

function refused(message: string): DomainError {
  return new DomainError("request.invalid", message);
}
