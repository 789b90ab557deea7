/** All realms of an installation, read in pages. @module */
import type { Database } from "../db/database.ts";
import { type RealmRow, selectRealms } from "../db/realms/realms.ts";
import { reading } from "../db/transaction.ts";

const PAGE = 200;

/** Reads all realms, in pages. */
export async function* allRealms(database: Database): AsyncGenerator<RealmRow> {
  for (let after: string | null = null;;) {
    const page: RealmRow[] = await reading(
      database.platform,
      (db) => selectRealms(db, after, PAGE),
    );
    yield* page;
    if (page.length < PAGE) return;
    after = page[page.length - 1].id;
  }
}
