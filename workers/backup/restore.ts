/**
 * Restores a backup into an empty database, or one realm of it into an installation. Each realm is built in one
 * transaction. Those of an installation are built before the platform's schema, without which they are no
 * installation: a restore that is ended in any way leaves nothing that could be served.
 * @module
 */
import { schemaExists, selectMajorVersion, selectRealmSchemas } from "../../db/backup/catalog.ts";
import { selectIdentity } from "../../db/backup/directory.ts";
import {
  bringRealmsHome,
  closeSchema,
  createSchema,
  dropSchema,
  estrangeRealm,
  haltInstallation,
  lockTarget,
  markFinished,
  markUnfinished,
  openSchema,
  selectOccupant,
  selectUnfinished,
} from "../../db/backup/rebuilding.ts";
import { rebuild } from "../../db/backup/snapshots.ts";
import type { Database, Pool, Tx } from "../../db/database.ts";
import {
  applyMigrations,
  checksumOf,
  enterSchema,
  type Migration,
  type Migrations,
  restateRights,
} from "../../db/migrate.ts";
import { markSchemaVersion, type RealmRow, selectRealm } from "../../db/realms/realms.ts";
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
import { locationOf } from "../../domain/realms/realms.ts";
import { NOT_COPIED, OF_PROCESSES } from "./dump.ts";
import type { FrameReader } from "./frames.ts";
import { loadTables, skipTables, takeRealmRows } from "./load.ts";

/** Where a backup is restored to. */
export interface RestoreOptions {
  readonly database: Database;
  readonly migrations: Migrations;
  readonly frames: FrameReader;
  readonly header: Header;
  /** Milliseconds. */
  readonly at: number;
  readonly tell: (text: string) => void;
}

/** What was restored. */
export interface Restored {
  readonly realms: readonly RealmPart[];
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
export function haltOf({ made_at, backup }: Header): string {
  const made = new Date(made_at).toISOString();
  return `restored from the backup ${backup} of ${made}; run \`deno task reconcile\``;
}

/** Reads a whole backup and restores nothing. */
export async function checkBackup(frames: FrameReader): Promise<Restored> {
  const realms: RealmPart[] = [];
  for (;;) {
    const part = await frames.part();
    if (part.is === "realm") realms.push(part);
    else if (part.is === "trailer") {
      return { realms, trailer: await ended(frames, part) };
    } else if (part.is !== "platform") unexpected(part);
    await skipTables(frames);
  }
}

/** Restores an installation into an empty database; one that an earlier restore left unfinished is emptied first. */
export async function restoreInstallation(
  options: RestoreOptions,
): Promise<Restored> {
  const { database: { builder }, tell } = options;
  await emptyUnfinished(builder, tell);
  await rebuild(builder, async (tx) => {
    await lockTarget(tx);
    const occupant = await selectOccupant(tx);
    if (occupant !== null) {
      refuse(
        `the database is not empty, it holds ${occupant}: restore into an empty one`,
      );
    }
    await markUnfinished(tx);
  });
  try {
    return await buildInstallation(options);
  } catch (error) {
    // Where this fails too, the next restore does it, and nothing starts on this database before.
    await emptyUnfinished(builder, tell).catch(() => {});
    throw error;
  }
}

async function buildInstallation(options: RestoreOptions): Promise<Restored> {
  const { database: { builder }, frames, tell } = options;
  const realms: RealmPart[] = [];
  for (;;) {
    const part = await frames.part();
    if (part.is === "realm") {
      await rebuild(builder, (tx) => buildRealm(tx, part, options));
      realms.push(part);
      tell(`realm ${part.id} is restored`);
    } else if (part.is === "platform") {
      const trailer = await rebuild(
        builder,
        (tx) => buildPlatform(tx, part, { options, realms }),
      );
      return { realms, trailer };
    } else unexpected(part);
  }
}

/**
 * Restores one realm into an installation that has no schema of it. Where its directory knows the realm, the row there stays as
 * it is, with its keys, and says in which database the realm is built.
 */
export async function restoreRealm(
  options: RestoreOptions,
  realm: string | null,
): Promise<Restored> {
  const { database, frames, header } = options;
  const part = await findRealm(frames, realm);
  const known = await rebuild(database.builder, async (tx) => {
    await enterSchema(tx, "platform");
    const identity = await selectIdentity(tx);
    if (
      identity!.master !== null && header.master !== null &&
      identity!.master !== header.master
    ) {
      refuse(
        "the seed of the realm is encrypted under another MASTER_KEY than this installation's",
      );
    }
    return await selectRealm(tx, part.id);
  });
  const build = (pool: Pool) =>
    rebuild(pool, async (tx) => {
      if (await schemaExists(tx, part.schema)) {
        refuse(`the schema ${part.schema} exists already`);
      }
      await buildRealm(tx, part, options);
      const trailer = await buildRows(tx, known, { options, part });
      return { realms: [part], trailer };
    });
  if (known === null || known.database_url_encrypted === null) {
    return await build(database.builder);
  }
  const owner = database.owner(locationOf(known));
  try {
    return await build(owner);
  } finally {
    await owner.sql.end();
  }
}

/** Drops what an interrupted restore of an installation left, a schema in each transaction. */
async function emptyUnfinished(
  builder: Pool,
  tell: (text: string) => void,
): Promise<void> {
  const left = await rebuild(
    builder,
    async (tx) =>
      await selectUnfinished(tx) && !await schemaExists(tx, "platform")
        ? await selectRealmSchemas(tx)
        : null,
  );
  if (left === null) return;
  tell(`a restore did not end: ${left.length} realms of it are dropped`);
  for (const schema of left) {
    await rebuild(builder, (tx) => dropSchema(tx, schema));
  }
  await rebuild(builder, markFinished);
}

/** Finds the part of a realm, or the first. */
async function findRealm(
  frames: FrameReader,
  realm: string | null,
): Promise<RealmPart> {
  for (;;) {
    const part = await frames.part();
    if (part.is === "realm" && part.id === (realm ?? part.id)) return part;
    if (part.is !== "realm") {
      refuse(`the backup does not hold the realm ${realm ?? ""}`);
    }
    await skipTables(frames);
  }
}

/** Builds a realm's schema as it was, fills it, and brings it up to date. It has no rights yet. */
async function buildRealm(
  tx: Tx,
  part: RealmPart,
  { frames, migrations: { realm } }: RestoreOptions,
): Promise<void> {
  const { schema } = part;
  await assertKnown(tx, `realm ${part.id}`, part, realm);
  await createSchema(tx, schema);
  await applyMigrations(tx, schema, realm.slice(0, part.migrations.length));
  const open = await openSchema(tx, schema, NOT_COPIED);
  await loadTables(tx, open, frames, NOT_COPIED);
  await closeSchema(tx, open, part.sequences);
  await applyMigrations(tx, schema, realm);
  await estrangeRealm(tx);
}

/** Builds the platform's schema; the backup must end after it, and what was built before counts from here on. */
async function buildPlatform(
  tx: Tx,
  part: PlatformPart,
  { options, realms }: {
    options: RestoreOptions;
    realms: readonly RealmPart[];
  },
): Promise<Trailer> {
  const { frames, header, migrations } = options;
  await lockTarget(tx);
  await assertKnown(tx, "the platform", part, migrations.platform);
  await createSchema(tx, "platform");
  await applyMigrations(
    tx,
    "platform",
    migrations.platform.slice(0, part.migrations.length),
  );
  const open = await openSchema(tx, "platform", OF_PROCESSES);
  await loadTables(tx, open, frames, OF_PROCESSES);
  await closeSchema(tx, open, part.sequences);
  await applyMigrations(tx, "platform", migrations.platform);
  await haltInstallation(tx, haltOf(header), options.at);
  await bringRealmsHome(tx);
  for (const { id } of realms) {
    await markSchemaVersion(tx, id, standOf(migrations));
  }
  await markFinished(tx);
  return await readTrailer(frames);
}

/** Adds the platform's rows of a realm where they are missing, and gives the realm its roles and rights. */
async function buildRows(
  tx: Tx,
  known: RealmRow | null,
  { options, part }: { options: RestoreOptions; part: RealmPart },
): Promise<Trailer> {
  const { frames, migrations, database } = options;
  let next = await frames.part();
  while (next.is === "realm") {
    await skipTables(frames);
    next = await frames.part();
  }
  if (next.is !== "platform") unexpected(next);
  if (known === null) {
    await assertKnown(tx, "the platform", next, migrations.platform);
    await takeRealmRows(tx, part.id, frames);
  } else await skipTables(frames);
  await enterSchema(tx, "platform");
  const row = known ?? await selectRealm(tx, part.id);
  if (row === null) {
    refuse("the backup does not hold the realm's row of the directory");
  }
  if (row.schema_name !== part.schema) {
    refuse("the directory knows the realm under another schema");
  }
  if (row.database_url_encrypted === null) {
    await markSchemaVersion(tx, part.id, standOf(migrations));
  }
  if (row.role_name !== null) {
    await restateRights(tx, migrations, locationOf(row), database.logins);
  }
  return await readTrailer(frames);
}

function standOf({ realm }: Migrations) {
  return {
    schema_version: realm.length,
    migrations_checksum: checksumOf(realm),
  };
}

async function assertKnown(
  tx: Tx,
  what: string,
  part: RealmPart | PlatformPart,
  migrations: readonly Migration[],
): Promise<void> {
  const known = migrations.map(({ checksum }) => checksum);
  assertRestorable(what, part, { known, major: await selectMajorVersion(tx) });
}

async function readTrailer(frames: FrameReader): Promise<Trailer> {
  const part = await frames.part();
  if (part.is !== "trailer") unexpected(part);
  return await ended(frames, part);
}

async function ended(frames: FrameReader, trailer: Trailer): Promise<Trailer> {
  await frames.end();
  return trailer;
}

function unexpected(part: Part): never {
  refuse(`the backup is damaged: ${part.is} is out of its place`);
}
