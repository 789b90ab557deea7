/** Whether the database can be used as this version needs it. @module */
import type { Pool } from "../db/database.ts";
import { selectRungs } from "../db/migrate.ts";
import { reading } from "../db/transaction.ts";
import type { Ladders } from "./realms.ts";

/** Whether the platform's and every realm's schema are where this version needs them. */
export async function isMigrated(pool: Pool, ladders: Ladders): Promise<boolean> {
  const rungs = await reading(pool, (db) => selectRungs(db, ladders.realm.length));
  return rungs.platform === ladders.platform.length && !rungs.realmElsewhere;
}
