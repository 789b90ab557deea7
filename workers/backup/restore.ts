/**
 * Restores a backup of an installation into an empty database, and into databases of realms. Each realm is built in one
 * transaction, all before the platform's schema, without which they are no installation: a restore that is ended in any
 * way leaves nothing that could be served.
 * @module
 */
import { schemaExists, selectRealmSchemas } from "../../db/backup/catalog.ts";
import {
  closeSchema,
  createSchema,
  dropSchema,
  expectNone,
  haltInstallation,
  isOfRun,
  lockTarget,
  markFinished,
  markSchema,
  markUnfinished,
  openSchema,
  passPlaces,
  selectOccupant,
  selectOthers,
  selectRun,
  selectUnfinished,
  settlePlace,
} from "../../db/backup/rebuilding.ts";
import type { Tx } from "../../db/database.ts";
import { applyMigrations } from "../../db/migrate.ts";
import { markSchemaVersion } from "../../db/realms/realms.ts";
import {
  type PlatformPart,
  type RealmPart,
  refuse,
  type Trailer,
} from "../../domain/backup/manifests.ts";
import { nameServer } from "../../domain/realms/realm_locations.ts";
import {
  assertKnown,
  buildRealm,
  haltOf,
  readTrailer,
  type Restored,
  type RestoredRealm,
  type RestoreOptions,
  standOf,
  unexpected,
} from "./building.ts";
import { addressOf, type Destination, elsewhere, type RealmElsewhere } from "./destinations.ts";
import { OF_PROCESSES } from "./dump.ts";
import { loadTables, skipTables } from "./load.ts";
import { findServing } from "./restore_lock.ts";

/** How an installation is restored. */
export interface InstallationOptions extends RestoreOptions {
  readonly to: Destination;
  /** Ids of realms that live on in databases of their own: they are not restored. */
  readonly without: readonly string[];
}

/** What a restore has done so far. */
interface Run {
  /** Names what this restore, or the one that it begins again, has made in other databases. */
  readonly id: string;
  readonly restored: { part: RestoredRealm; address: Uint8Array | null }[];
  readonly left: RealmPart[];
  readonly built: RealmElsewhere[];
}

/** Restores an installation into an empty database; one that an earlier restore left unfinished is emptied first. */
export async function restoreInstallation(
  options: InstallationOptions,
): Promise<Restored> {
  const { database, lock, header, without, tell } = options;
  const { builder } = database;
  const unnamed = header.without.filter((id) => !without.includes(id));
  if (unnamed.length > 0) {
    refuse(
      `the backup lacks these realms, which were left out: ${
        unnamed.join(", ")
      }. Where they live on in` +
        " databases of their own, name each by `--without <id>`",
    );
  }
  await lock.step(builder, async (tx) => {
    if (await schemaExists(tx, "platform")) refuseOccupied("an installation");
  });
  const serving = await findServing(database);
  if (serving !== null) {
    refuse(
      `processes of Purser are connected to this database (${serving}): stop them all first`,
    );
  }
  const begun = await emptyUnfinished(options);
  const id = begun ?? crypto.randomUUID();
  await lock.step(builder, async (tx) => {
    await lockTarget(tx);
    const occupant = await selectOccupant(tx);
    if (occupant !== null) refuseOccupied(occupant);
    if (begun === null) await markUnfinished(tx, id);
  });
  const run: Run = { id, restored: [], left: [], built: [] };
  try {
    return await buildInstallation(options, run);
  } catch (error) {
    // Where this fails too, the next restore does it, and nothing starts on this database before.
    await clear(options, run).catch((left) => {
      tell(`what was built is left for the next restore to drop: ${(left as Error).message}`);
    });
    throw error;
  }
}

function refuseOccupied(occupant: string): never {
  refuse(`the database is not empty, it holds ${occupant}: restore into an empty one`);
}

async function buildInstallation(options: InstallationOptions, run: Run): Promise<Restored> {
  const { database: { builder }, lock, frames, tell, without } = options;
  for (;;) {
    const part = await frames.part();
    if (part.is === "realm") {
      if (without.includes(part.id)) {
        await leaveOut(options, run, part);
        continue;
      }
      await placeRealm(options, run, part);
      tell(`realm ${part.id} is restored`);
    } else if (part.is === "platform") {
      const trailer = await lock.step(
        builder,
        (tx) => buildPlatform(tx, part, { options, run }),
      );
      return { realms: run.restored.map((one) => one.part), trailer };
    } else unexpected(part);
  }
}

async function leaveOut({ frames }: InstallationOptions, { left }: Run, part: RealmPart) {
  if (part.address === null) {
    refuse(`the realm ${part.id} has no database of its own in which it could live on`);
  }
  await skipTables(frames);
  left.push(part);
}

/** Builds a realm in the database where it will live. */
async function placeRealm(options: InstallationOptions, run: Run, part: RealmPart): Promise<void> {
  const { lock, database: { builder } } = options;
  const address = addressOf(part, { ...options, alone: false });
  if (address === null) {
    const built = await lock.step(builder, (tx) => buildRealm(tx, part, options));
    run.restored.push({ part: built, address });
    return;
  }
  const realm = { id: part.id, schema: part.schema, address };
  const server = nameServer(options.secrets, part.id, address);
  const built = await elsewhere(options, realm, (owner) =>
    lock.step(owner, async (tx) => {
      await clearPlace(tx, run, { ...realm, server });
      const built = await buildRealm(tx, part, options);
      await markSchema(tx, part.schema, run.id);
      return built;
    }, part.schema));
  run.built.push(realm);
  run.restored.push({ part: built, address });
}

/** Drops what the same restore made here before it was killed; anything else stays, and is refused. */
async function clearPlace(
  tx: Tx,
  run: Run,
  { schema, server }: RealmElsewhere & { server: string },
): Promise<void> {
  if (!await schemaExists(tx, schema)) return;
  if (!await isOfRun(tx, schema, run.id)) {
    refuse(`the schema ${schema} exists already, at ${server}`);
  }
  await dropSchema(tx, schema);
}

/** Drops all that a restore has built; nothing where its last commit was done and only the answer was lost. */
async function clear(options: InstallationOptions, { id, built }: Run): Promise<void> {
  const { lock, database: { builder } } = options;
  const unfinished = await lock.step(builder, async (tx) => {
    await lockTarget(tx); // a commit that is still under way holds it
    return await selectRun(tx) === id && !await schemaExists(tx, "platform");
  });
  if (!unfinished) return;
  for (const realm of built) {
    await elsewhere(options, realm, (owner) =>
      lock.step(owner, async (tx) => {
        if (await isOfRun(tx, realm.schema, id)) await dropSchema(tx, realm.schema);
      }, realm.schema));
  }
  if (await emptyUnfinished(options) !== null) await lock.step(builder, markFinished);
}

/**
 * Drops what an interrupted restore of an installation left in the platform's database, a schema in each transaction; gives
 * the id of its run, null where there is none.
 */
async function emptyUnfinished(
  { lock, database: { builder }, tell }: InstallationOptions,
): Promise<string | null> {
  const found = await lock.step(
    builder,
    async (tx) =>
      await selectUnfinished(tx) && !await schemaExists(tx, "platform")
        ? { run: (await selectRun(tx))!, left: await selectRealmSchemas(tx) }
        : null,
  );
  if (found === null) return null;
  tell(`a restore did not end: ${found.left.length} realms of it are dropped`);
  for (const schema of found.left) {
    await lock.step(builder, (tx) => dropSchema(tx, schema));
  }
  return found.run;
}

/** Builds the platform's schema; the backup must end after it, and what was built before counts from here on. */
async function buildPlatform(
  tx: Tx,
  part: PlatformPart,
  { options, run }: { options: InstallationOptions; run: Run },
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
  await settleRealms(tx, options, run);
  await markFinished(tx);
  return await readTrailer(frames);
}

/** Makes the directory say where each realm lives now. */
async function settleRealms(
  tx: Tx,
  { header, without, migrations, at }: InstallationOptions,
  { restored, left }: Run,
): Promise<void> {
  for (const { part: { id, place }, address } of restored) {
    await settlePlace(tx, { id, place, address, at });
    await markSchemaVersion(tx, id, standOf(migrations));
  }
  for (const { id, place, address } of left) {
    await settlePlace(tx, { id, place, address: Uint8Array.fromBase64(address!), at });
  }
  const unknown = without.filter((id) =>
    !header.without.includes(id) && !left.some((part) => part.id === id)
  );
  if (unknown.length > 0) refuse(`the backup knows no realm ${unknown.join(", ")} to leave out`);
  for (const id of header.without) await passPlaces(tx, id, at);
  // What lives on may be newer than this platform, or another one's by now: it waits to be reconciled as well.
  for (const id of without) await expectNone(tx, id);
  const known = [...restored.map(({ part }) => part.id), ...without];
  const missing = await selectOthers(tx, known);
  if (missing.length > 0) refuse(`the backup lacks realms of its directory: ${missing.join(", ")}`);
}
