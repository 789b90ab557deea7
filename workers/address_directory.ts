/**
 * Keeps the directory of own addresses: enters those of a realm that it does not have, and ends links of
 * the realm to addresses that are another's.
 * @module
 */
import type { Pool } from "../db/database.ts";
import { endAssignments, selectLinked } from "../db/external_addresses.ts";
import { markShared, selectUnshared } from "../db/own_addresses.ts";
import { locking, reading } from "../db/transaction.ts";
import { enterAddresses, foreignAddresses } from "../domain/address_directory.ts";
import type { Bench } from "./bench.ts";

const AT_ONCE = 1_000;

/** Shares a realm's addresses with the directory, and obeys it. */
export async function shareAddresses(bench: Bench, platform: Pool): Promise<void> {
  const { id } = bench.realm;
  while (!bench.signal.aborted) {
    const own = await reading(bench.pool, (db) => selectUnshared(db, AT_ONCE));
    if (own.length === 0) break;
    await locking(platform, (tx) => enterAddresses(tx, id, own));
    await bench.step((tx) => markShared(tx, own));
  }
  for (let after = ""; !bench.signal.aborted;) {
    const linked = await reading(bench.pool, (db) => selectLinked(db, after, AT_ONCE));
    if (linked.length === 0) return;
    const foreign = await reading(platform, (db) => foreignAddresses(db, id, linked));
    if (foreign.length > 0) {
      await bench.step((tx) => endAssignments(tx, foreign, bench.actor.at));
      bench.log("warn", "links ended: the addresses are of this installation", {
        realm: id,
        count: foreign.length,
      });
    }
    after = linked.at(-1)!;
  }
}
