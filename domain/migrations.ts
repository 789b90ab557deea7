/**
 * Bringing an installation up to date: the platform first, then every realm that is behind. A realm
 * that cannot be migrated keeps no other from it: it is told, it answers 503 until it is migrated,
 * and it is tried again later.
 * @module
 */
import type { Database } from "../db/database.ts";
import {
  checksumOf,
  type Ladders,
  migratePlatform,
  migrateRealm,
  restateRights,
  whileTablesAreFree,
} from "../db/migrate.ts";
import {
  markRung,
  type RealmRow,
  selectRealm,
  selectRealmOtherwise,
  selectRealmsBehind,
  selectRealmsWithoutRights,
} from "../db/realms.ts";
import { locking, reading } from "../db/transaction.ts";
import { placeOf } from "./realms.ts";

/** Tells of progress. */
export type Tell = (
  level: "info" | "error",
  message: string,
  fields: Record<string, unknown>,
) => void;

const PAGE = 100;

/**
 * Applies what is due; cheap when nothing is.
 *
 * @returns the realms that could not be migrated
 * @throws {Error} where the platform cannot be, or a file was changed after it had been applied
 */
export async function migrateAll(
  database: Database,
  ladders: Ladders,
  tell: Tell,
): Promise<string[]> {
  const applied = await migratePlatform(database.platform.sql, ladders.platform);
  if (applied > 0) tell("info", "migrated the platform", { applied });
  await assertUnchanged(database, ladders);
  const failed = await migrateRealms(database, ladders, tell);
  return [...failed, ...await restateAll(database, ladders, tell)];
}

/** Gives realms their roles and rights back that a restore has left without; gives those that it could not. */
async function restateAll(database: Database, ladders: Ladders, tell: Tell): Promise<string[]> {
  const failed: string[] = [];
  for (let after: string | null = null;;) {
    const without: RealmRow[] = await reading(
      database.platform,
      (db) => selectRealmsWithoutRights(db, { after, limit: PAGE }),
    );
    for (const { id, schema_name: schema, role_name: role } of without) {
      try {
        await locking(
          database.platform,
          (tx) => restateRights(tx, ladders, { schema, role: role! }),
        );
        tell("info", "a realm has its rights again", { realm: id });
      } catch (error) {
        failed.push(id);
        tell("error", "a realm has no rights", { realm: id, error });
      }
    }
    if (without.length < PAGE) return failed;
    after = without[without.length - 1].id;
  }
}

/** Migrates the realms that are behind; gives those that could not be. */
export async function migrateRealms(
  database: Database,
  ladders: Ladders,
  tell: Tell,
): Promise<string[]> {
  const failed: string[] = [];
  for (let after: string | null = null;;) {
    const behind: RealmRow[] = await reading(
      database.platform,
      (db) => selectRealmsBehind(db, ladders.realm.length, { after, limit: PAGE }),
    );
    for (const row of behind) {
      try {
        const count = await whileTablesAreFree(() => migrateOne(database, ladders, row));
        tell("info", "migrated a realm", { realm: row.id, applied: count });
      } catch (error) {
        failed.push(row.id);
        tell("error", "a realm could not be migrated", { realm: row.id, error });
      }
    }
    if (behind.length < PAGE) return failed;
    after = behind[behind.length - 1].id;
  }
}

/** Refuses files that were changed after a realm had applied them. */
async function assertUnchanged(database: Database, ladders: Ladders): Promise<void> {
  const stand = { rung: ladders.realm.length, ladder: checksumOf(ladders.realm) };
  const id = await reading(
    database.platform,
    (db) => selectRealmOtherwise(db, stand.rung, stand.ladder),
  );
  const row = id === null ? null : await reading(database.platform, (db) => selectRealm(db, id));
  if (row === null) return;
  await migrateOne(database, ladders, row); // names the file
  throw new Error(`realm ${row.id} stands on other migrations than this version's`);
}

async function migrateOne(database: Database, ladders: Ladders, row: RealmRow): Promise<number> {
  const stand = { rung: ladders.realm.length, ladder: checksumOf(ladders.realm) };
  const place = placeOf(row);
  if (row.placement === null) {
    return await database.platform.sql.begin(async (tx) => {
      const done = await migrateRealm(tx, ladders, place);
      await markRung(tx, row.id, stand);
      return done;
    });
  }
  // Two databases, two transactions: the second is repeated if the process ends between them.
  const owner = database.owner(place);
  try {
    const done = await owner.sql.begin((tx) => migrateRealm(tx, ladders, place));
    await database.platform.sql.begin((tx) => markRung(tx, row.id, stand));
    return done;
  } finally {
    await owner.sql.end();
  }
}
