/**
 * The records of a realm's place in its own databases. A place that the realm has left says where to, and one that it
 * has moved to says its number, whatever the directory says: that may lose a commit, or be an old backup.
 * @module
 */
import type { Tx } from "../database.ts";
import { FENCE, isFenced } from "../migrate.ts";
import { quoted, within } from "./tables.ts";

/** Where a realm has gone to from a place. */
export interface Departure {
  move: string;
  /** The run of the move that may drop what was left. */
  runner: string;
  /** Number of the new place. */
  place: number;
  /** Its encrypted address; null: the database of the platform. */
  address: Uint8Array | null;
}

/** A place that a move has opened. */
export interface OpenedPlace {
  move: string;
  place: number;
}

/** What a database says of a realm's place there. */
export interface PlaceRecord {
  /** Whether the realm's schema is there. */
  present: boolean;
  fenced: boolean;
  /** Null where the realm has not left it. */
  departure: Departure | null;
  /** Null where no move has brought the realm there, or has not ended. */
  opened: OpenedPlace | null;
}

/** The table that says which move has brought a realm to its database; it neither moves nor is in backups. */
const OPENED = "move_place";

/** Reads where a realm has gone to from a fenced place, and locks that; null where it has not left it. */
export async function lockDeparture(tx: Tx, schema: string): Promise<Departure | null> {
  if (!await isFenced(tx, schema)) return null;
  const [row] = await tx.unsafe<(Omit<Departure, "place"> & { place: number | null })[]>(
    `select move, runner, place, address from ${within(schema, FENCE)} for update`,
  );
  return row === undefined || row.place === null ? null : { ...row, place: row.place };
}

/**
 * States in a fenced place that the realm has left it: nothing opens it again. What an earlier run of the move has stated
 * stays: the directory's address may have been encrypted anew since.
 *
 * @returns whether the fence is this run's
 */
export async function recordDeparture(
  tx: Tx,
  schema: string,
  { move, runner, place, address }: Departure,
): Promise<boolean> {
  if (!await isFenced(tx, schema)) return false;
  const to = address === null ? "null" : `'\\x${address.toHex()}'::bytea`;
  const rows = await tx.unsafe(
    `update ${within(schema, FENCE)} set move = '${move}', place = ${place},
       address = case when move is null then ${to} else address end
     where runner = '${runner}' and (move is null or move = '${move}') returning place`,
  );
  return rows.length > 0;
}

/** Reads which move has opened a place; null where none has. */
export async function selectOpened(tx: Tx, schema: string): Promise<OpenedPlace | null> {
  const table = within(schema, OPENED);
  const [{ there }] = await tx<{ there: boolean }[]>`
    select to_regclass(${table}) is not null as there`;
  if (!there) return null;
  const [row] = await tx.unsafe<OpenedPlace[]>(`select move, place from ${table}`);
  return row ?? null;
}

/** States that a realm lives here from now on. */
export async function recordOpened(
  tx: Tx,
  schema: string,
  { move, place }: OpenedPlace,
): Promise<void> {
  const table = within(schema, OPENED);
  await tx.unsafe(`create table if not exists ${table} (
      singleton boolean primary key default true check (singleton),
      move uuid not null, place integer not null check (place > 0));
    insert into ${table} (move, place) values ('${move}', ${place})
      on conflict (singleton) do update set move = excluded.move, place = excluded.place`);
}

/** Reads all that a database says of a realm's place there. */
export async function readPlace(tx: Tx, schema: string): Promise<PlaceRecord> {
  const [{ present }] = await tx<{ present: boolean }[]>`
    select to_regnamespace(${quoted(schema)}) is not null as present`;
  if (!present) return { present, fenced: false, departure: null, opened: null };
  const departure = await lockDeparture(tx, schema);
  const opened = await selectOpened(tx, schema);
  return { present, fenced: await isFenced(tx, schema), departure, opened };
}
