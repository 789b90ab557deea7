/** Copies of the installation's rates in the realms: each realm reads its own. @module */
import {
  copyRateRows,
  type RatePlace,
  type RateRow,
  selectRatesAfter,
  setMarketRates,
  type UndatedRate,
} from "../../db/currencies/rates.ts";
import type { Database, Pool } from "../../db/database.ts";
import { realmPages } from "../../db/realms/realm_pages.ts";
import { locking, reading } from "../../db/transaction.ts";
import { locationOf } from "./realm_locations.ts";

const REALMS_AT_ONCE = 4;
/** Rates that one transaction copies. */
const COPIED_AT_ONCE = 5000;
/** How much later than its date a rate may be committed: it is dated as it is written. */
const COMMIT_MS = 60_000;

/**
 * Stores fetched rates of the installation, but those that are far from what was fetched before; gives them as stored, with
 * their time.
 */
export async function keepRates(
  platform: Pool,
  rates: readonly UndatedRate[],
): Promise<RateRow[]> {
  return rates.length === 0 ? [] : await locking(platform, (tx) => setMarketRates(tx, rates));
}

/**
 * Copies rates into every realm that can be reached.
 *
 * @param only id of the only realm to copy into; null for all
 */
export async function spreadRates(
  database: Database,
  rates: readonly RateRow[],
  only: string | null = null,
): Promise<void> {
  for await (const page of realmPages(database.platform, { only })) {
    for (let i = 0; i < page.length; i += REALMS_AT_ONCE) {
      // A realm that is away catches up by its timetable.
      await Promise.allSettled(
        page.slice(i, i + REALMS_AT_ONCE).map(async (realm) => {
          const location = locationOf(realm);
          const pool = location.encryptedUrl === null
            ? database.sharedPool(location)
            : database.realm(location);
          await locking(pool, (tx) => copyRateRows(tx, rates));
        }),
      );
    }
  }
}

/** Copies the installation's rates since a time into one realm, so many at once; gives the newest time. */
export async function copyRates(
  platform: Pool,
  realm: Pool,
  after: number,
  atOnce: number = COPIED_AT_ONCE,
): Promise<number> {
  let newest = after;
  for (let from: RatePlace = { updated_at: after - COMMIT_MS, base: "", currency: "" };;) {
    const last = from;
    const rates = await reading(platform, (db) => selectRatesAfter(db, last, atOnce));
    if (rates.length === 0) return newest;
    await locking(realm, (tx) => copyRateRows(tx, rates));
    from = rates[rates.length - 1];
    newest = Math.max(newest, from.updated_at);
    if (rates.length < atOnce) return newest;
  }
}
