/** Restores one realm of a backup into an installation that has no schema of it. @module */
import { schemaExists } from "../../db/backup/catalog.ts";
import { selectIdentity } from "../../db/backup/directory.ts";
import {
  dropSchema,
  expectNone,
  isOfRun,
  markSchema,
  settlePlace,
  unmarkSchema,
} from "../../db/backup/rebuilding.ts";
import { rebuild } from "../../db/backup/snapshots.ts";
import type { Tx } from "../../db/database.ts";
import { enterSchema, restateRights } from "../../db/migrate.ts";
import { endMove } from "../../db/realms/moves.ts";
import { markSchemaVersion, type RealmRow, selectRealm } from "../../db/realms/realms.ts";
import { type RealmPart, refuse, type Trailer } from "../../domain/backup/manifests.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { nameServer } from "../../domain/realms/realm_locations.ts";
import {
  assertKnown,
  buildRealm,
  readTrailer,
  type Restored,
  type RestoreOptions,
  standOf,
  unexpected,
} from "./building.ts";
import { addressOf, assertGone, type Destination, elsewhere } from "./destinations.ts";
import type { FrameReader } from "./frames.ts";
import { skipTables, takeRealmRows } from "./load.ts";

/** How a realm is restored. */
export interface RealmOptions extends RestoreOptions {
  /** Undefined: where the directory has it, or the platform's database. */
  readonly to: Destination | undefined;
}

/**
 * Restores one realm into an installation that has no schema of it. Where its directory knows the realm, the row there stays as
 * it is, with its keys, but for the place where the realm lives.
 */
export async function restoreRealm(
  options: RealmOptions,
  realm: string | null,
): Promise<Restored> {
  const { database: { builder }, lock, frames, secrets } = options;
  const part = await findRealm(frames, realm);
  const { known, installation } = await rebuild(builder, (tx) => findKnown(tx, options, part.id));
  const address = options.to === undefined
    ? known?.database_url_encrypted ?? null
    : addressOf(part, { secrets, to: options.to, alone: true });
  if (known !== null) await assertLeft(options, part, known);
  const building = { options, part, known, address, installation };
  if (address === null) {
    return await lock.step(builder, (tx) => build(tx, tx, building));
  }
  const place = { id: part.id, schema: part.schema, address };
  // The realm is committed in its database before the platform knows that it is there.
  const restored = await lock.step(
    builder,
    (platform) =>
      elsewhere(options, place, (owner) =>
        lock.step(owner, async (tx) => {
          await clearLeft(tx, building);
          const read = await build(platform, tx, building);
          await markSchema(tx, part.schema, installation);
          return read;
        }, part.schema)),
  );
  await elsewhere(options, place, (owner) => rebuild(owner, (tx) => unmarkSchema(tx, part.schema)));
  return restored;
}

interface Building {
  options: RealmOptions;
  part: RealmPart;
  known: RealmRow | null;
  address: Uint8Array | null;
  /** Id of the installation, which names what its restore has made in another database and not ended. */
  installation: string;
}

/** Drops what a restore of the realm built here that was killed before the directory named it, and nobody has used. */
async function clearLeft(tx: Tx, building: Building): Promise<void> {
  const { options, part: { id, schema }, known, address, installation } = building;
  const serverOf = (encrypted: Uint8Array) => nameServer(options.secrets, id, encrypted);
  const former = known?.database_url_encrypted ?? null;
  // Where the directory names this place the restore had ended, and processes may serve the realm.
  if (former !== null && serverOf(former) === serverOf(address!)) return;
  if (!await schemaExists(tx, schema) || !await isOfRun(tx, schema, installation)) return;
  options.tell(`a restore did not end: what it left in the schema ${schema} is dropped`);
  await dropSchema(tx, schema);
}

async function findKnown(
  tx: Tx,
  { header }: RealmOptions,
  id: string,
): Promise<{ known: RealmRow | null; installation: string }> {
  await enterSchema(tx, "platform");
  const { id: installation, master } = (await selectIdentity(tx))!;
  if (master !== null && header.master !== null && master !== header.master) {
    refuse(
      "the seed of the realm is encrypted under another MASTER_KEY than this installation's",
    );
  }
  return { known: await selectRealm(tx, id), installation };
}

/** Refuses a realm that is still where the directory has it: its schema is renamed or dropped by its operator first. */
async function assertLeft(
  options: RealmOptions,
  { id, schema }: RealmPart,
  { database_url_encrypted: address }: RealmRow,
): Promise<void> {
  if (address === null) {
    const there = await rebuild(options.database.builder, (tx) => schemaExists(tx, schema));
    if (there) {
      refuse(
        `the schema ${schema} exists already: rename it first (alter schema … rename to lost_…)`,
      );
    }
  } else if (!await assertGone(options, { id, schema, address })) {
    const server = nameServer(options.secrets, id, address);
    options.tell(
      `${server} does not answer: the realm counts as lost there. Drop its schema there before it is used again`,
    );
  }
}

/** Builds a realm in one database, and states in the platform's, which may be the same, that it lives there. */
async function build(
  platform: Tx,
  tx: Tx,
  building: Building,
): Promise<Restored> {
  const { options, part } = building;
  if (await schemaExists(tx, part.schema)) refuse(`the schema ${part.schema} exists already`);
  const realm = await buildRealm(tx, part, options);
  const { migrations, database } = options;
  const { row, trailer } = await buildRows(platform, building);
  if (row.role_name !== null) {
    await restateRights(tx, migrations, locationOf(row), database.logins);
  }
  return { realms: [realm], trailer };
}

/** Adds the platform's rows of a realm where they are missing, and says where the realm lives. */
async function buildRows(
  tx: Tx,
  { options, part, known, address }: Building,
): Promise<{ row: RealmRow; trailer: Trailer }> {
  const { frames, migrations, at } = options;
  let next = await frames.part();
  while (next.is === "realm") {
    await skipTables(frames);
    next = await frames.part();
  }
  if (next.is !== "platform") unexpected(next);
  await enterSchema(tx, "platform");
  if (known === null) {
    await assertKnown(tx, "the platform", next, migrations.platform);
    await takeRealmRows(tx, part.id, frames);
  } else await skipTables(frames);
  await enterSchema(tx, "platform");
  const { id, place } = part;
  await settlePlace(tx, { id, place, address, at });
  const row = await selectRealm(tx, id);
  if (row === null) {
    refuse("the backup does not hold the realm's row of the directory");
  }
  if (row.schema_name !== part.schema) {
    refuse("the directory knows the realm under another schema");
  }
  await markSchemaVersion(tx, id, standOf(migrations));
  await endMove(tx, id);
  await expectNone(tx, id); // whoever still has connections to its former place finds it foreign there, too
  return { row, trailer: await readTrailer(frames) };
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
