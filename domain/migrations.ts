/** Bringing an installation up to date: the platform first, then every realm that is behind. @module */
import type { Database } from "../db/database.ts";
import { type Ladders, migratePlatform, migrateRealm } from "../db/migrate.ts";
import { markRung, selectRealmsBehind } from "../db/realms.ts";
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
      const { schema, role } = placeOf(row);
      const count = await database.platform.sql.begin(async (tx) => {
        const done = await migrateRealm(tx, ladders, { schema, role });
        await markRung(tx, row.id, rung);
        return done;
      });
      tell("info", "migrated a realm", { realm: row.id, applied: count });
    }
  }
}
