/** Reads whose time is measured: they begin on a connection of their own. @module */
import type { Db } from "./pool_types.ts";

/** Runs reads on a connection that they have when they begin, so that their time is that of their own work. */
export async function onConnection<T>(db: Db, work: (db: Db) => Promise<T>): Promise<T> {
  return "savepoint" in db ? await work(db) : await db.begin("read only", work) as T;
}
