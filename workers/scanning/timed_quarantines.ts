/** The time of a chain at which the quarantine of a ramp began, by its blocks. @module */
import { noteBlock, selectUntimedQuarantines } from "../../db/sending/quarantine.ts";
import { selectDatabaseTime } from "../../db/health.ts";
import { reading } from "../../db/transaction.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { Head } from "../chains/observations.ts";
import type { WorkerContext } from "../worker_context.ts";

/** A newest block that is dated this much later than now is not followed; nor is a clock that was so far ahead. */
export const FUTURE_MS = 7_200_000;

/**
 * Reads the newest block, and notes its time for the ramps in quarantine for which none was noted: the quarantine had
 * begun before it was read. So a reconciliation can tell when nothing that was signed before can be mined any more,
 * though the clock of the process that began the quarantine was behind. The time of a block of the future is not noted:
 * the quarantine would not end before it, though its node were gone. Where blocks limit what is in flight, the number of
 * the first one that is not older than the quarantine is noted too: nodes may lag.
 *
 * @throws {ChainError} `unavailable` where the block is of the future
 */
export async function readTimedHead(
  context: WorkerContext,
  chain: Chain,
  place: ChainNetwork,
): Promise<Head> {
  const { validity } = chain.traits;
  const isCounted = validity !== null && validity.minedWithinBlocks !== null;
  const untimed = validity === null
    ? []
    : await reading(context.pool, (db) => selectUntimedQuarantines(db, place, isCounted));
  const head = await chain.head();
  const now = await timeFor(context, head);
  if (head.time * 1000 > now + FUTURE_MS) {
    throw new ChainError("unavailable", "the newest block is of the future");
  }
  if (untimed.length === 0) return head;
  const isNewer = ({ quarantined: { at } }: typeof untimed[number]) =>
    head.time * 1000 >= at || at > now + FUTURE_MS;
  await context.step(async (tx) => {
    for (const [newer, ramps] of Map.groupBy(untimed, isNewer)) {
      const count = isCounted && newer ? head.count ?? null : null;
      await noteBlock(tx, ramps, { time: head.time, count });
    }
  });
  return head;
}

/** The time, by the database too where the clock of this process calls the newest block one of the future. */
async function timeFor({ actor, pool }: WorkerContext, head: Head): Promise<number> {
  const own = Math.max(actor.at, Date.now()); // a reconciliation may take hours
  if (head.time * 1000 <= own + FUTURE_MS) return own;
  return Math.max(own, await reading(pool, selectDatabaseTime));
}
