/**
 * Migrations of an installation: the platform first, then every realm that is behind. A realm that
 * cannot be migrated delays no other: the failure is reported, the realm answers 503 until it is
 * migrated, and it is tried again later.
 * @module
 */
import { unmarkSchema } from "../../db/backup/rebuilding.ts";
import type { Database, RealmLocation, Sql, Tx } from "../../db/database.ts";
import { codeOf, Contention } from "../../db/errors.ts";
import { makeIndex } from "../../db/index_builds.ts";
import { isSuperuser } from "../../db/health.ts";
import {
  checksumOf,
  findEncodingFault,
  inParts,
  type MakeOutside,
  migratePart,
  migratePlatform,
  type Migrations,
  restateRights,
} from "../../db/migrate.ts";
import { allRealms, type PageOptions } from "../../db/realms/realm_pages.ts";
import { passOver } from "../../db/realms/realm_passes.ts";
import {
  countRealms,
  countRealmsBehind,
  lockRealm,
  markMigrated,
  type RealmRow,
  selectRealm,
  selectRealmMigratedOtherwise,
  selectRealms,
  selectRealmsBehind,
  selectRealmsWithoutRights,
  updateRealm,
} from "../../db/realms/realms.ts";
import type { Progress } from "../../progress.ts";
import { building, locking, reading } from "../../db/transaction.ts";
import { locationOf } from "./realms.ts";

/** Reports progress. */
export type Tell = (
  level: "info" | "warn" | "error",
  message: string,
  fields: Record<string, unknown>,
) => void;

/**
 * Refuses a database that cannot hold every text, before anything is written there.
 *
 * @throws {Error} that says which encoding it has, or why it cannot be asked
 */
export async function assertEncoding({ builder }: Pick<Database, "builder">): Promise<void> {
  const fault = await reading(builder, findEncodingFault).catch((error: Error) => {
    // It is the first statement of a command: what the driver says alone names no setting.
    if (codeOf(error) === null) throw error;
    throw unusable(error.message, error);
  });
  if (fault !== null) throw unusable(fault);
}

function unusable(why: string, cause?: Error): Error {
  return new Error(`the database of DATABASE_URL cannot be used: ${why}`, { cause });
}

/**
 * Applies due migrations; cheap if there are none.
 *
 * @param work `entitle` is called once the platform's tables exist; if it throws, no realm is touched
 * @returns the realms that could not be migrated
 * @throws {Error} where the platform cannot be, or a file was changed after it had been applied
 */
export async function migrateAll(
  database: Database,
  migrations: Migrations,
  tell: Tell,
  { entitle, progress }: { entitle?: () => Promise<void>; progress?: Progress } = {},
): Promise<string[]> {
  const applied = await building(
    database.builder,
    (sql) => migratePlatform(sql, migrations.platform, outsideOf(database, sql, null, tell)),
  );
  if (applied > 0) tell("info", "migrated the platform", { applied });
  await entitle?.();
  await assertUnchanged(database, migrations);
  if (await reading(database.builder, isSuperuser)) {
    tell("warn", "the login of DATABASE_URL is a superuser: no right bounds it", {});
  }
  const failed = await migrateRealms(database, migrations, tell, progress);
  return [...failed, ...await restateAll(database, migrations, tell, { progress })];
}

/** Migrates the realms that are behind, some at once on each server; gives those that could not be. */
export async function migrateRealms(
  database: Database,
  migrations: Migrations,
  tell: Tell,
  progress?: Progress,
): Promise<string[]> {
  const failed: string[] = [];
  const version = migrations.realm.length;
  const select: PageOptions["select"] = (db, after, limit) =>
    selectRealmsBehind(db, version, { after, limit });
  if (progress !== undefined) {
    const count = await reading(database.platform, (db) => countRealmsBehind(db, version));
    if (count > 0) progress.part("Migrating", count, "realms");
  }
  await passOver(allRealms(database.platform, { select }), {
    serverOf: (row) => database.serverOf(locationOf(row)),
    async work({ id }) {
      // Since its page was read it may have moved, or another process may have migrated it.
      const row = await reading(database.platform, (db) => selectRealm(db, id));
      if (row === null || row.schema_version >= version) return;
      const applied = await migrateOne(database, migrations, row, tell);
      tell("info", "migrated a realm", { realm: id, applied });
    },
    fail(row, error) {
      failed.push(row.id);
      tell("error", "a realm could not be migrated", { realm: row.id, error });
    },
    settle: () => progress?.add(1),
  });
  progress?.end();
  return failed;
}

/** Refuses files that were changed after a realm had applied them. */
async function assertUnchanged(database: Database, migrations: Migrations): Promise<void> {
  const stand = {
    schema_version: migrations.realm.length,
    migrations_checksum: checksumOf(migrations.realm),
  };
  const id = await reading(
    database.platform,
    (db) => selectRealmMigratedOtherwise(db, stand.schema_version, stand.migrations_checksum),
  );
  const row = id === null ? null : await reading(database.platform, (db) => selectRealm(db, id));
  if (row === null) return;
  await migrateOne(database, migrations, row, () => {}); // names the file
  throw new Error(`realm ${row.id} stands on other migrations than this version's`);
}

/** The realms whose rights are granted anew. */
export interface Restating {
  /** All realms, those in databases of their own too. */
  every?: boolean;
  /** Also replaces logins that were encrypted with a lost platform key. */
  newLogins?: boolean;
  progress?: Progress;
}

/**
 * Restores the roles, passwords and rights of realms that lack them after a restore. With that a restore has ended: no later one
 * may drop what it built.
 *
 * @returns the realms that could not be given theirs
 */
export async function restateAll(
  database: Database,
  migrations: Migrations,
  tell: Tell,
  { every = false, newLogins = false, progress }: Restating = {},
): Promise<string[]> {
  const failed: string[] = [];
  const select = every ? selectRealms : selectRealmsWithoutRights;
  const count = every && progress ? await reading(database.platform, countRealms) : null;
  let begun = false;
  function begin(): void {
    if (!begun) progress?.part("Granting rights", count, "realms");
    begun = true;
  }
  await passOver(allRealms(database.platform, { select }), {
    serverOf: (row) => database.serverOf(locationOf(row)),
    async work({ id }) {
      begin();
      if (!await restateWhereItLives(database, migrations, id, newLogins)) return;
      tell("info", "a realm has its rights again", { realm: id });
    },
    fail(row, error) {
      failed.push(row.id);
      tell("error", "a realm has no rights", { realm: row.id, error });
    },
    settle: () => progress?.add(1),
  });
  progress?.end();
  return failed;
}

/**
 * States a realm's rights where it lives now: since its page was read it may have moved, or it moves meanwhile.
 *
 * @returns whether it has them; false where it has no roles, or moves: its mover states them
 */
async function restateWhereItLives(
  database: Database,
  migrations: Migrations,
  id: string,
  newLogins: boolean,
): Promise<boolean> {
  for (let refused: number | null = null;;) {
    const row = await reading(database.platform, (db) => selectRealm(db, id));
    if (row === null || row.place === refused) return false;
    if (row.role_name === null && row.database_url_encrypted === null) return false;
    if (await restateOne(database, migrations, await withLogin(database, row, newLogins))) {
      return true;
    }
    refused = row.place;
  }
}

/**
 * Stores a secret of logins for a realm that has none. A secret that cannot be decrypted is
 * replaced if asked for; processes that were started with the other key can then no longer connect.
 */
async function withLogin(database: Database, row: RealmRow, anew: boolean): Promise<RealmRow> {
  const { logins } = database;
  if (logins === undefined) return row;
  return await locking(database.builder, async (tx) => {
    const { login } = (await lockRealm(tx, row.id))!;
    const opens = login !== null && logins.open(login, row.id) !== null;
    if (opens || (login !== null && !anew)) return { ...row, login };
    return { ...row, ...await updateRealm(tx, row.id, { login: logins.draw(row.id) }) };
  });
}

/** States a realm's rights in one place; false where that is fenced. */
async function restateOne(
  database: Database,
  migrations: Migrations,
  row: RealmRow,
): Promise<boolean> {
  const location = locationOf(row);
  return await building(
    database.migrating(location),
    (sql) =>
      sql.begin(async (tx) => {
        await unmarkSchema(tx, location.schema);
        if (location.role === null) return true;
        return await restateRights(tx, migrations, location, database.logins);
      }),
  ) as boolean;
}

async function migrateOne(
  database: Database,
  migrations: Migrations,
  row: RealmRow,
  tell: Tell,
): Promise<number> {
  const stand = {
    schema_version: migrations.realm.length,
    migrations_checksum: checksumOf(migrations.realm),
  };
  const location = locationOf(row);
  const mark = async (tx: Tx) => {
    if (await markMigrated(tx, row, stand)) return;
    throw new Contention("the realm has moved since its place was read");
  };
  const isHere = location.encryptedUrl === null;
  const applied = await building(
    database.migrating(location),
    (sql) =>
      inParts(sql, outsideOf(database, sql, location, tell), async (tx) => {
        const part = await migratePart(tx, migrations, location, true);
        if (isHere && part.next === null) await mark(tx);
        return part;
      }),
  );
  // In another database the mark is a transaction of its own, repeated if the process ends between them.
  if (!isHere) await building(database.builder, (sql) => sql.begin(mark));
  return applied;
}

/** Makes indexes in the schema of a realm, or null for the platform's, and tells what they wait for. */
function outsideOf(
  database: Database,
  sql: Sql,
  location: RealmLocation | null,
  tell: Tell,
): MakeOutside {
  const schema = location?.schema ?? "platform";
  const realm = location?.id ?? null;
  return (step) =>
    database.indexing(location, (index, waits) =>
      makeIndex({
        ...{ sql, index, schema, step, waits },
        say: ({ pid, application, role, openS }) =>
          tell("warn", "an index waits for the end of another transaction", {
            ...{ realm, index: step.name, pid, application, role, open_s: openS },
          }),
      }));
}
