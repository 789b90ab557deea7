/**
 * Orders that have ended, and whose transactions the chain has lost beyond the depth of their end: each pass tells of those
 * whose coins another transaction spent, of those that are not sent again here and that no block has any more, of what a
 * block has again, and of what did something else there than its order has booked.
 * @module
 */
import {
  type DisplacedRow,
  forgetSeenAgain,
  markDisplacedSeen,
  selectDoneWith,
  selectTaken,
  takeDisplacedDue,
  type TakenCoins,
} from "../../db/recovery/displaced_orders.ts";
import { reading, writing } from "../../db/transaction.ts";
import { tellReturned, tellTaken, tellUnseen } from "../../domain/recovery/displaced_orders.ts";
import {
  tellFailed,
  tellFailedAgain,
  tellSucceeded,
} from "../../domain/recovery/other_outcomes.ts";
import { ChainError } from "../chains/chain.ts";
import {
  type AttemptSearch,
  isDropped,
  isFinal,
  isReadWithout,
  questionOf,
} from "./attempt_questions.ts";

/** Most of them that a pass asks about; the next pass goes on behind them. */
const TOLD_MAX = 20;
/** Where a pass left off, of networks that have more taken coins than one pass asks about. */
const leftOff = new Map<string, Pick<TakenCoins, "hash" | "height">>();

/**
 * Tells of them, as of a block that was scanned. What too few nodes tell of waits for a later pass.
 *
 * @param height the newest block that was scanned
 */
export async function tellDisplacedPayments(work: AttemptSearch, height: number): Promise<void> {
  const { context, chain, place } = work;
  const depth = Math.max(
    1,
    context.chains.depth({ chain: chain.id, testnet: place.network !== "main" }),
  );
  const of = { settled: height + 1 - depth, limit: TOLD_MAX };
  if (chain.traits.coins) {
    for (const one of await nextTaken(work, of)) {
      await tellOperator(work, one.hash, askTaken(work, one));
    }
  }
  const { at } = context.actor;
  for (
    const one of await writing(context.pool, (db) => takeDisplacedDue(db, place, { ...of, at }))
  ) {
    await tellOperator(work, one.hash, askOne(work, one));
  }
}

/** Reads the next taken coins behind those of the pass before. */
async function nextTaken(
  { context, place }: AttemptSearch,
  of: { settled: number; limit: number },
): Promise<TakenCoins[]> {
  const key = `${context.actor.realm.id} ${place.chain} ${place.network}`;
  const after = leftOff.get(key) ?? null;
  const taken = await reading(context.pool, (db) => selectTaken(db, place, { ...of, after }));
  if (taken.length < of.limit) leftOff.delete(key);
  else leftOff.set(key, taken[taken.length - 1]);
  return taken;
}

/** Asks nodes whether a transaction can never be mined, as others have spent its coins, and tells of it. */
async function askTaken(work: AttemptSearch, taken: TakenCoins): Promise<string | null> {
  const { context, chain, place } = work;
  const { hash, height } = taken;
  const done = await reading(context.pool, (db) => selectDoneWith(db, hash));
  if (done === null) return null;
  const { query } = await questionOf(work, { hash, height, order: done.order.id });
  if ((await chain.status({ ...query, since: height })).state !== "dropped") return null;
  return await context.step((tx) => tellTaken(tx, context.actor, place, taken));
}

/** Asks nodes whether a block has a transaction again, and what it did there, and tells of what they say. */
async function askOne(work: AttemptSearch, row: DisplacedRow): Promise<string | null> {
  const { context, chain, place } = work;
  const { actor } = context;
  const { hash, since, seen_hash, seen_height } = row;
  const seen = { hash: seen_hash ?? hash, height: seen_height ?? since, order: row.order };
  const { order, query } = await questionOf(work, seen);
  const status = await chain.status(query);
  if (isFinal(chain, status, query)) {
    const again = { hash, seen: seen.hash, height: status.block.height };
    const { success } = status;
    return await context.step((tx) => {
      if (order.state === "failed") {
        return success
          ? tellSucceeded(tx, actor, place, again)
          : tellFailedAgain(tx, actor, place, hash, again);
      }
      return success ? tellReturned(tx, actor, place, again) : tellFailed(tx, actor, place, again);
    });
  }
  if (status.state === "mined") return null; // it waits to be deep enough
  if (seen_height !== null) {
    if (isDropped(status)) await context.step((tx) => forgetSeenAgain(tx, hash));
    return null;
  }
  if (order.state !== "failed") {
    // An index that lags hides it from the scan, and a server that is behind does not know it yet: its block tells.
    const block = { hash, height: row.lost_height };
    const of = { signer: order.sender, inputs: query.attempts[0].inputs, agreed: true };
    if (!await isReadWithout(work, block, of)) {
      await context.step((tx) => markDisplacedSeen(tx, place, [block]));
      return null;
    }
    return await context.step((tx) => tellUnseen(tx, actor, place, row));
  }
  if (!isDropped(status)) return null;
  return await context.step((tx) => tellFailedAgain(tx, actor, place, hash, null));
}

async function tellOperator(
  { context }: AttemptSearch,
  hash: string,
  asked: Promise<string | null>,
): Promise<void> {
  try {
    const detail = await asked;
    if (detail !== null) context.log("error", "a ramp is in quarantine", { detail });
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    const told = { hash, error };
    context.log("warn", "nodes do not tell of a transaction that the chain had lost", told);
  }
}
