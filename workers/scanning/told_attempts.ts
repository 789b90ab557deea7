/**
 * Transactions that were given up, and that fewer nodes than the quorum show in a block. The word of one node puts no ramp
 * into quarantine, as it may know the bytes; but one that omits a transaction must not hide a loss either. Nodes are asked
 * again at each pass, until as many as the quorum show it, or all deny it.
 * @module
 */
import { selectCursor } from "../../db/chains/cursors.ts";
import { forgetTold, type SeenAttempt, selectTold } from "../../db/sending/late_attempts.ts";
import { reading } from "../../db/transaction.ts";
import { recordFound } from "../../domain/deposits/scan_results.ts";
import { ChainError } from "../chains/chain.ts";
import {
  type AttemptSearch,
  isDropped,
  isGone,
  isUnmined,
  questionOf,
} from "./attempt_questions.ts";

/** Most of them that a pass asks about, and names. */
export const TOLD_MAX = 20;

/** Asks nodes about what too few of them have told: what as many as the quorum show is recorded as scanned. */
export async function askTold(work: AttemptSearch): Promise<void> {
  const { context, place } = work;
  const of = { ramps: null, limit: TOLD_MAX };
  for (const one of await reading(context.pool, (db) => selectTold(db, place, of))) {
    try {
      await askOne(work, one);
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      context.log("warn", "nodes do not tell of a transaction that was given up", {
        ...{ order: one.order, hash: one.hash, error },
      });
    }
  }
}

async function askOne(work: AttemptSearch, one: SeenAttempt): Promise<void> {
  const { context, chain, place } = work;
  const { hash } = one;
  const { order, query } = await questionOf(work, one);
  const status = await chain.status(query);
  if (status.state === "mined" && status.confirmations > 0) {
    const { height } = status.block;
    const cursor = await reading(context.pool, (db) => selectCursor(db, place));
    if (cursor === null || cursor.height < height) return; // the scan will show it
    const [input = `${order.sender}:${hash}`] = query.attempts[0].inputs;
    const found = { transfers: [], consumed: [{ input, hash, height }], coins: false };
    return await context.step((tx) => recordFound(tx, context.actor, place, found));
  }
  const isDenied = chain.traits.validity === null ? isUnmined : isDropped;
  if (isDenied(status) && await isGone(work, one, { order, query }, isDenied)) {
    await context.step((tx) => forgetTold(tx, one));
  }
}
