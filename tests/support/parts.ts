/** Parts of a realm's ledger, cut at times that a test does not wait a day for. @module */
import { selectPartBounds } from "../../db/ledger/parts.ts";
import { reading } from "../../db/transaction.ts";
import { type CutOptions, cutParts } from "../../workers/schedule/parts.ts";
import { until } from "./eventually.ts";
import type { TestRealm } from "./realm.ts";

const AHEAD_MS = 500;

/** Carries a cut of the newest part on, as the timetable does: with these options, however few rows there are. */
export async function carryCutOn(realm: TestRealm, options: Partial<CutOptions> = {}) {
  const { pool, services: { log } } = realm;
  await cutParts({ pool, log }, { rowsMax: 0, ...options });
}

/** Cuts the newest part of a realm that posts nothing meanwhile, and waits until the time of the cut has passed. */
export async function cutNow(realm: TestRealm): Promise<void> {
  const parts = await countParts(realm);
  const bound = Date.now() + AHEAD_MS;
  await until(async () => { // a cut is left to the next round where others have the tables
    await carryCutOn(realm, { boundAfter: () => bound, givenUpMs: -Infinity });
    return await countParts(realm) > parts;
  });
  await until(() => Date.now() > bound);
}

/** Counts the parts of a realm. */
export async function countParts(realm: TestRealm): Promise<number> {
  return (await reading(realm.pool, selectPartBounds)).length + 1;
}
