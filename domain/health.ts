/** Whether the database can be used as this version needs it. @module */
import type { Pool } from "../db/database.ts";
import { type DatabaseFacts, probeDatabase } from "../db/health.ts";
import { type Rungs, selectRungs } from "../db/migrate.ts";
import { reading, writing } from "../db/transaction.ts";
import type { Ladders } from "./realms.ts";

/** What is known of the database. */
export interface DatabaseHealth extends DatabaseFacts {
  /** Whether the platform's schema is where this version needs it. */
  migrated: boolean;
  /** Realms that wait for their migration and answer 503 until then, and realms of a newer version. */
  realms: Pick<Rungs, "behind" | "ahead">;
}

/** Tries a write, and looks how far the migrations went. */
export async function checkDatabase(pool: Pool, ladders: Ladders): Promise<DatabaseHealth> {
  const { platform, behind, ahead } = await reading(
    pool,
    (db) => selectRungs(db, ladders.realm.length),
  );
  const facts = await writing(pool, probeDatabase);
  return {
    ...facts,
    migrated: platform === ladders.platform.length,
    realms: { behind, ahead },
  };
}
