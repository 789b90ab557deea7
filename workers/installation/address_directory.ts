/**
 * Keeps the directory of own addresses: enters those of a realm that it does not have, and ends links of
 * the realm to addresses that are another's.
 * @module
 */
import type { Pool } from "../../db/database.ts";
import {
  endAssignments,
  selectCompared,
  selectLinked,
  updateCompared,
} from "../../db/accounts/external_addresses.ts";
import { markShared, selectUnshared } from "../../db/accounts/own_addresses.ts";
import { locking, reading } from "../../db/transaction.ts";
import { enterAddresses, foreignAddresses } from "../../domain/chains/address_directory.ts";
import type { Bench } from "../worker_context.ts";

const AT_ONCE = 1_000;

/**
 * Shares a realm's addresses with the directory, and obeys it. Of very many links each pass compares
 * some; the next one goes on where it ended.
 *
 * @param atOnce links that one pass compares
 */
export async function shareAddresses(
  bench: Bench,
  platform: Pool,
  atOnce: number = AT_ONCE,
): Promise<void> {
  const { id } = bench.realm;
  while (!bench.signal.aborted) {
    const own = await reading(bench.pool, (db) => selectUnshared(db, AT_ONCE));
    if (own.length === 0) break;
    await locking(platform, (tx) => enterAddresses(tx, id, own));
    await bench.step((tx) => markShared(tx, own));
  }
  const after = await reading(bench.pool, selectCompared);
  const linked = await reading(bench.pool, (db) => selectLinked(db, after, atOnce));
  const foreign = await reading(platform, (db) => foreignAddresses(db, id, linked));
  if (foreign.length > 0) {
    await bench.step((tx) => endAssignments(tx, foreign, bench.actor.at));
    bench.log("warn", "links ended: the addresses are of this installation", {
      realm: id,
      count: foreign.length,
    });
  }
  const last = linked.length < atOnce ? "" : linked.at(-1)!;
  if (last !== after) await bench.step((tx) => updateCompared(tx, last));
}
