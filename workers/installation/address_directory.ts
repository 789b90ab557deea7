/**
 * Maintains the directory of own addresses: adds a realm's new addresses, and ends its links to addresses
 * of other realms.
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
import type { WorkerContext } from "../worker_context.ts";

const AT_ONCE = 1_000;

/**
 * Adds a realm's addresses to the directory, and ends links that the directory contradicts. A pass compares
 * a limited number of links; the next pass continues after them.
 *
 * @param atOnce links that one pass compares
 */
export async function shareAddresses(
  context: WorkerContext,
  platform: Pool,
  atOnce: number = AT_ONCE,
): Promise<void> {
  const { id } = context.realm;
  while (!context.signal.aborted) {
    const own = await reading(context.pool, (db) => selectUnshared(db, AT_ONCE));
    if (own.length === 0) break;
    await locking(platform, (tx) => enterAddresses(tx, id, own));
    await context.step((tx) => markShared(tx, own));
  }
  const after = await reading(context.pool, selectCompared);
  const linked = await reading(context.pool, (db) => selectLinked(db, after, atOnce));
  const foreign = await reading(platform, (db) => foreignAddresses(db, id, linked));
  if (foreign.length > 0) {
    await context.step((tx) => endAssignments(tx, foreign, context.actor.at));
    context.log("warn", "links ended: the addresses are of this installation", {
      realm: id,
      count: foreign.length,
    });
  }
  const last = linked.length < atOnce ? "" : linked.at(-1)!;
  if (last !== after) await context.step((tx) => updateCompared(tx, last));
}
