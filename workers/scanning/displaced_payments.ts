/**
 * Orders that are done, and whose transactions the chain has lost beyond the depth of their end: each pass tells of those
 * whose coins another transaction spent, of those that are not sent again here and that no block has any more, and of what
 * a block has again.
 * @module
 */
import {
  type DisplacedRow,
  forgetSeenAgain,
  selectDisplacedDue,
  selectDoneWith,
  selectTaken,
  type TakenCoins,
} from "../../db/recovery/displaced_orders.ts";
import { reading } from "../../db/transaction.ts";
import { tellReturned, tellTaken, tellUnseen } from "../../domain/recovery/displaced_orders.ts";
import { ChainError } from "../chains/chain.ts";
import { type AttemptSearch, isFinal, questionOf } from "./attempt_questions.ts";

/** Most of them that a pass tells of. */
const TOLD_MAX = 20;

/**
 * Tells of them, as of a block that was scanned. What too few nodes tell of waits for the next pass.
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
    for (const one of await reading(context.pool, (db) => selectTaken(db, place, of))) {
      await tellOperator(work, one.hash, askTaken(work, one));
    }
  }
  for (const one of await reading(context.pool, (db) => selectDisplacedDue(db, place, of))) {
    await tellOperator(work, one.hash, askOne(work, one));
  }
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

/** Asks nodes whether a block has a transaction again, and tells of what they say. */
async function askOne(work: AttemptSearch, row: DisplacedRow): Promise<string | null> {
  const { context, chain, place } = work;
  const { actor } = context;
  const { hash, order, since, seen_hash, seen_height } = row;
  const seen = { hash: seen_hash ?? hash, height: seen_height ?? since, order };
  const { query } = await questionOf(work, seen);
  const status = await chain.status(query);
  if (isFinal(chain, status, query)) {
    const { height } = status.block;
    const returned = { hash, seen: seen.hash, height };
    return await context.step((tx) => tellReturned(tx, actor, place, returned));
  }
  if (status.state === "mined") return null; // it waits to be deep enough
  if (seen_height === null) return await context.step((tx) => tellUnseen(tx, actor, place, row));
  if (status.state === "dropped") await context.step((tx) => forgetSeenAgain(tx, hash));
  return null;
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
