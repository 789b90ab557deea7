/** Bringing an installation up to date: the platform first, then every realm that is behind. @module */
import type { Database } from "../db/database.ts";
import { type Ladders, migratePlatform, migrateRealm } from "../db/migrate.ts";
import { markRung, type RealmRow, selectRealmsBehind } from "../db/realms.ts";
import { reading } from "../db/transaction.ts";
import { placeOf } from "./realms.ts";

/** Tells of progress. */
export type Tell = (level: "info", message: string, fields: Record<string, unknown>) => void;

/** Applies what is due; cheap when nothing is. */
export async function migrateAll(
  database: Database,
  ladders: Ladders,
  tell: Tell,
): Promise<void> {
  const applied = await migratePlatform(database.platform.sql, ladders.platform);
  if (applied > 0) tell("info", "migrated the platform", { applied });
  const rung = ladders.realm.length;
  while (true) {
    const behind = await reading(
      database.platform,
      (db) => selectRealmsBehind(db, rung, 100),
    );
    if (behind.length === 0) return;
    for (const row of behind) {
      const place = placeOf(row);
      const count = row.placement === null
        ? await database.platform.sql.begin(async (tx) => {
          const done = await migrateRealm(tx, ladders, place);
          await markRung(tx, row.id, rung);
          return done;
        })
        : await migrateElsewhere(database, ladders, row);
      tell("info", "migrated a realm", { realm: row.id, applied: count });
    }
  }
}

/** Two databases, two transactions: the second is repeated if the process ends between them. */
async function migrateElsewhere(
  database: Database,
  ladders: Ladders,
  row: RealmRow,
): Promise<number> {
  const place = placeOf(row);
  const owner = database.owner(place);
  try {
    const done = await owner.sql.begin((tx) => migrateRealm(tx, ladders, place));
    await database.platform.sql.begin((tx) => markRung(tx, row.id, ladders.realm.length));
    return done;
  } finally {
    await owner.sql.end();
  }
}
