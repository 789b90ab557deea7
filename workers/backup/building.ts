/** Parts of a backup that become schemas again: what restores of installations and of single realms share. @module */
import { selectMajorVersion } from "../../db/backup/catalog.ts";
import {
  closeSchema,
  createSchema,
  estrangeRealm,
  lockBuiltLedger,
  openSchema,
} from "../../db/backup/rebuilding.ts";
import type { Tx } from "../../db/database.ts";
import { shapeParts } from "../../db/ledger/parts.ts";
import {
  applyMigrations,
  checksumOf,
  enterSchema,
  type Migration,
  type Migrations,
} from "../../db/migrate.ts";
import {
  assertRestorable,
  FORMAT,
  type Header,
  type Part,
  type PlatformPart,
  type RealmPart,
  refuse,
  type Trailer,
} from "../../domain/backup/manifests.ts";
import { endRestoredKeys, type RestoredKeys } from "../../domain/identity/restored_keys.ts";
import { type RestoredStops, stopRestored } from "../../domain/stops/restored_stops.ts";
import type { DestinationOptions } from "./destinations.ts";
import { NOT_COPIED } from "./dump.ts";
import type { FrameReader } from "./frames.ts";
import { loadTables, skipTables } from "./load.ts";
import type { RestoreLock } from "./restore_lock.ts";

/** Where a backup is restored to. */
export interface RestoreOptions extends DestinationOptions {
  readonly migrations: Migrations;
  readonly frames: FrameReader;
  readonly lock: RestoreLock;
  /** Milliseconds. */
  readonly at: number;
  readonly tell: (text: string) => void;
  /** Whether realms begin with stops. */
  readonly stop: boolean;
  /** Whether machine keys end. */
  readonly endKeys: boolean;
}

/** A realm that was read or restored. */
export interface RestoredRealm extends RealmPart {
  /** The stops that it begins with; null: none. */
  readonly stops: RestoredStops | null;
  /** Its machine keys; null where it was read alone. */
  readonly keys: RestoredKeys | null;
}

/** What was restored. */
export interface Restored {
  readonly realms: readonly RestoredRealm[];
  readonly trailer: Trailer;
}

/** Reads the first part, and refuses a form that this version does not know. */
export async function readHeader(frames: FrameReader): Promise<Header> {
  const header = await frames.part();
  if (header.is !== "header") {
    refuse("the backup does not begin with its manifest");
  }
  if (header.format !== FORMAT) {
    refuse(`the backup has form ${header.format}, not ${FORMAT}`);
  }
  return header;
}

/** Why nothing is signed after a restore. */
export function haltOf(header: Header): string {
  return `${originOf(header)}; run \`deno task reconcile\``;
}

/** Names the backup that a realm was restored from. */
function originOf({ made_at, backup }: Header): string {
  return `restored from the backup ${backup} of ${new Date(made_at).toISOString()}`;
}

/** Reads a whole backup and restores nothing. */
export async function checkBackup(frames: FrameReader): Promise<Restored> {
  const realms: RestoredRealm[] = [];
  for (;;) {
    const part = await frames.part();
    if (part.is === "realm") realms.push({ ...part, stops: null, keys: null });
    else if (part.is === "trailer") {
      return { realms, trailer: await ended(frames, part) };
    } else if (part.is !== "platform") unexpected(part);
    await skipTables(frames);
  }
}

/**
 * Builds a realm's schema as it was, fills it, brings it up to date, ends its user keys, and sets the stops that it begins
 * with. It has no rights yet.
 */
export async function buildRealm(
  tx: Tx,
  part: RealmPart,
  options: Pick<RestoreOptions, "frames" | "migrations" | "header" | "at" | "stop" | "endKeys">,
): Promise<RestoredRealm> {
  const { frames, migrations: { realm }, header, at, stop, endKeys } = options;
  const { schema } = part;
  await assertKnown(tx, `realm ${part.id}`, part, realm);
  await createSchema(tx, schema);
  await applyMigrations(tx, schema, realm.slice(0, part.migrations.length));
  await enterSchema(tx, schema);
  await shapeParts(tx, part.parts);
  const open = await openSchema(tx, schema, NOT_COPIED);
  await loadTables(tx, open, frames, NOT_COPIED);
  await closeSchema(tx, open, part.sequences);
  await applyMigrations(tx, schema, realm);
  await estrangeRealm(tx);
  const locked = await lockBuiltLedger(tx);
  const keys = await endRestoredKeys(locked, { at, machines: endKeys });
  const reason = `${originOf(header)}; lift it when the realm is reconciled and settled`;
  const stops = stop ? await stopRestored(locked, { reason, at }) : null;
  return { ...part, stops, keys };
}

/** The version of a realm's schema that was brought up to date. */
export function standOf(
  { realm }: Migrations,
): { schema_version: number; migrations_checksum: string } {
  return {
    schema_version: realm.length,
    migrations_checksum: checksumOf(realm),
  };
}

/** Refuses a part that this version, or this server, would not build the same. */
export async function assertKnown(
  tx: Tx,
  what: string,
  part: RealmPart | PlatformPart,
  migrations: readonly Migration[],
): Promise<void> {
  const known = migrations.map(({ checksum }) => checksum);
  assertRestorable(what, part, { known, major: await selectMajorVersion(tx) });
}

/** Reads the last part; nothing may follow it. */
export async function readTrailer(frames: FrameReader): Promise<Trailer> {
  const part = await frames.part();
  if (part.is !== "trailer") unexpected(part);
  return await ended(frames, part);
}

async function ended(frames: FrameReader, trailer: Trailer): Promise<Trailer> {
  await frames.end();
  return trailer;
}

/** Refuses a part that does not belong where it stands. */
export function unexpected(part: Part): never {
  refuse(`the backup is damaged: ${part.is} is out of its place`);
}
