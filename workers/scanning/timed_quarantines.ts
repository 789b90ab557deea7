/** The time of a chain at which the quarantine of a ramp began, by its blocks. @module */
import { noteBlockTime, selectUntimedQuarantines } from "../../db/sending/quarantine.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import type { Chain } from "../chains/chain.ts";
import type { Head } from "../chains/observations.ts";
import type { WorkerContext } from "../worker_context.ts";

/**
 * Reads the newest block, and notes its time for the ramps in quarantine for which none was noted: the quarantine had
 * begun before it was read. So a reconciliation can tell when nothing that was signed before can be mined any more, by
 * the blocks alone: the clock of the process that began the quarantine may be wrong.
 */
export async function readTimedHead(
  context: WorkerContext,
  chain: Chain,
  place: ChainNetwork,
): Promise<Head> {
  if (chain.traits.validity === null) return await chain.head();
  const untimed = await reading(context.pool, (db) => selectUntimedQuarantines(db, place));
  const head = await chain.head();
  if (untimed.length > 0) await context.step((tx) => noteBlockTime(tx, untimed, head.time));
  return head;
}
