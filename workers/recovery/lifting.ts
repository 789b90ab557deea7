/** The end of a quarantine. @module */
import {
  type QuarantinedRamp,
  releaseDeposits,
  selectHeldDeposits,
  selectUnknownSpends,
  selectUnsigned,
} from "../../db/recovery/recoveries.ts";
import { skipIndices } from "../../db/recovery/passed_over.ts";
import { selectLateAttempts, selectTold } from "../../db/sending/late_attempts.ts";
import { liftQuarantine, lockQuarantines } from "../../db/sending/quarantine.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { enqueue } from "../../domain/jobs.ts";
import { announceDisplaced } from "../../domain/recovery/displaced_orders.ts";
import { passedTime } from "../../domain/recovery/passed_over.ts";
import { scheduleOrder } from "../../domain/sending/chain_orders.ts";
import type { Chain } from "../chains/chain.ts";
import type { WorkerContext } from "../worker_context.ts";

/** The ramps of a network whose quarantine may end. */
export interface Lifting {
  readonly context: WorkerContext;
  readonly chain: Chain;
  readonly place: ChainNetwork;
  readonly ramps: readonly QuarantinedRamp[];
}

/** What an operator is told where it may not. */
export const LATE = "a transaction of ours was mined, or lost, meanwhile: run it again";

/** What an operator is told where another run has ended the quarantine, and one began since. */
export const ANEW = "the quarantine began anew meanwhile, for another reason: run it again";

/**
 * Ends the quarantine: held deposits are released, and waiting orders are scheduled. Not, and nothing is
 * changed, where a worker has scanned a block meanwhile that has a transaction which was given up, or in which an unknown
 * one spends coins, or has found that a payment which was followed can never be mined, so that nobody was asked about it;
 * nor where another run has ended it, and it began anew. It begins anew where orders were displaced in it, so that an
 * operator hears of them whichever process ended meanwhile.
 *
 * @returns why it goes on; null where it has ended
 * @param unasked the orders of withdrawals that were open when the run began, and that nobody was asked about
 */
export async function lift(
  { context, chain, place, ramps }: Lifting,
  unasked: ReadonlySet<string>,
): Promise<string | null> {
  const known = new Map(ramps.map(({ account, quarantined: { at } }) => [account, at]));
  return await context.step(async (tx) => {
    const standing = await lockQuarantines(tx, [...known.keys()]);
    if (standing.some(({ ramp, quarantined: { at } }) => at !== known.get(ramp))) return ANEW;
    const ids = standing.map(({ ramp }) => ramp);
    if (ids.length === 0) return null; // another run has ended them
    const { coins } = chain.traits;
    if (coins && (await selectUnknownSpends(tx, place, ids)).length > 0) return LATE;
    if ((await selectLateAttempts(tx, place, ids)).length > 0) return LATE;
    if ((await selectTold(tx, place, { ramps: ids, limit: 1 })).length > 0) return LATE;
    const waiting = await selectUnsigned(tx, place, ids);
    if (waiting.some(({ id }) => unasked.has(id))) return LATE;
    const displaced = await announceDisplaced(tx, context.actor, ids);
    if (displaced.length > 0) {
      return `${displaced.join("; ")}: run it again when you have read that`;
    }
    await releaseDeposits(tx, await selectHeldDeposits(tx, place, ids));
    for (const id of ids) {
      await skipIndices(tx, id, passedTime(context.actor.at));
      await liftQuarantine(tx, id);
      await enqueue(tx, context.actor, "ramp.reserve", { account: id }, { dedupe: id });
    }
    for (const order of waiting) {
      if (order.state !== "batched") await scheduleOrder(tx, context.actor, order.id);
    }
    return null;
  });
}
