/** Reads the directory of realms in pages; all work on every realm uses this loop. @module */
import type { Pool } from "../database.ts";
import { reading } from "../transaction.ts";
import { type RealmRow, selectRealms, selectRealmsById } from "./realms.ts";

/** The realms to read, and how many at once. */
export interface PageOptions {
  /** Realms of a page. */
  size?: number;
  /** Id of the only realm to read; null or absent: all. */
  only?: string | null;
  /** Reads one page, in the order of ids, after the realm with the id `after`. */
  select?: typeof selectRealms;
}

const SIZE = 200;

/** Reads realms page by page; no connection is held between two pages. */
export async function* realmPages(
  platform: Pool,
  { size = SIZE, only = null, select = selectRealms }: PageOptions = {},
): AsyncGenerator<RealmRow[]> {
  if (only !== null) {
    yield await reading(platform, (db) => selectRealmsById(db, [only]));
    return;
  }
  for (let after: string | null = null;;) {
    const page: RealmRow[] = await reading(platform, (db) => select(db, after, size));
    if (page.length === 0) return; // realms may have been made since a short page was read
    yield page;
    after = page[page.length - 1].id;
  }
}

/** Reads realms one by one, in pages. */
export async function* allRealms(
  platform: Pool,
  options: PageOptions = {},
): AsyncGenerator<RealmRow> {
  for await (const page of realmPages(platform, options)) yield* page;
}
