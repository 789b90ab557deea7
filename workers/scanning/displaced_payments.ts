/**
 * Orders that have ended, and whose transactions the chain has lost beyond the depth of their end: each pass tells of those
 * whose coins another transaction spent, of those that are not sent again here and that no block has any more, of what a
 * block has again, and of what did something else there than its order has booked. Those with a nonce, of which nobody was
 * told, are sent again.
 * @module
 */
import {
  type DisplacedRow,
  forgetSeenAgain,
  markDisplacedSeen,
  selectDoneWith,
  selectIsWanted,
  selectTaken,
  takeDisplacedDue,
  type TakenCoins,
} from "../../db/recovery/displaced_orders.ts";
import { selectQuarantine } from "../../db/sending/quarantine.ts";
import { reading, writing } from "../../db/transaction.ts";
import {
  tellReturned,
  tellTaken,
  tellUnseen,
  tellUsed,
} from "../../domain/recovery/displaced_orders.ts";
import type { SeenPayer } from "../../domain/recovery/payers.ts";
import {
  tellFailed,
  tellFailedAgain,
  tellSucceeded,
} from "../../domain/recovery/other_outcomes.ts";
import { ChainError } from "../chains/chain.ts";
import { logResent } from "../sending/resent_payments.ts";
import type { TransactionStatus } from "../chains/outgoing.ts";
import {
  type Asked,
  type AttemptSearch,
  isDropped,
  isFinal,
  isReadWithout,
  questionOf,
} from "./attempt_questions.ts";
import { isUnfunded } from "./unfunded_sweeps.ts";

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
  if (done.hashes.includes(taken.by)) warnOfPayer(work, { hash, seen: taken.by, height });
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
  const of = { signer: order.sender, inputs: query.attempts[0].inputs, agreed: true };
  if (isFinal(chain, status, query)) {
    const again = { hash, seen: seen.hash, height: status.block.height };
    if (seen_height !== null && again.height !== seen_height) {
      // A node alone had shown it elsewhere, or the scan is to follow a reorganisation.
      const block = { hash: seen.hash, height: again.height };
      await context.step((tx) => markDisplacedSeen(tx, place, [block]));
    }
    const { success } = status;
    if (success && order.state === "done" && seen.hash !== hash) warnOfPayer(work, again);
    const cost = { fee: `${status.fee}`, contract: status.feeContract };
    return await context.step((tx) => {
      if (order.state === "failed") {
        return success
          ? tellSucceeded(tx, actor, place, again)
          : tellFailedAgain(tx, actor, place, hash, again);
      }
      return success
        ? tellReturned(tx, actor, place, { ...again, cost })
        : tellFailed(tx, actor, place, again);
    });
  }
  const isSentAgain = order.nonce !== null && order.state === "done" && row.told === null;
  if (status.state === "mined") {
    // It waits to be deep enough; but what one node alone tells must not keep it from being sent again.
    if (status.confirmations > 0 || status.lacking !== true) return null;
    if (seen_height === null) {
      if (isSentAgain) await sendAgain(work, { order, query }, status);
      return null;
    }
  }
  if (seen_height !== null) {
    // Otherwise one node could keep it from being sent again.
    const isNowhere = isDropped(status) || await isReadWithout(work, seen, of);
    if (isNowhere) await context.step((tx) => forgetSeenAgain(tx, hash, seen_height));
    return null;
  }
  if (order.nonce !== null && order.state === "done" && status.state === "dropped") {
    const { by, height } = status;
    if (by === null) return null;
    return await context.step((tx) => tellUsed(tx, actor, place, { hash, by, height }));
  }
  if (isSentAgain) {
    if (status.state === "unseen" && await isUnfunded(work, row, { order, query })) {
      return await context.step((tx) => tellUnseen(tx, actor, place, row));
    }
    await sendAgain(work, { order, query }, status);
    return null;
  }
  const isFailed = order.state === "failed";
  if (!isFailed || !isDropped(status)) {
    // An index that lags hides it from the scan, and a server that is behind does not know it yet: its block tells.
    const block = { hash, height: row.lost_height };
    if (!await isReadWithout(work, block, of)) {
      await context.step((tx) => markDisplacedSeen(tx, place, [block]));
      return null;
    }
  }
  return await context.step((tx) =>
    isFailed ? tellFailedAgain(tx, actor, place, hash, null) : tellUnseen(tx, actor, place, row)
  );
}

/**
 * Sends a payment that is done again where no block has it, and nodes do not: otherwise only an order that waits for its nonce
 * would. In quarantine a newer database may know that it is not to be sent.
 */
async function sendAgain(
  { context, chain, place }: AttemptSearch,
  { order, query: { attempts: [signed] } }: Asked,
  status: TransactionStatus,
): Promise<void> {
  const isLacking = status.state === "unseen" || "lacking" in status && status.lacking;
  if (!isLacking) return;
  const { quarantined, wanted } = await reading(context.pool, async (db) => ({
    quarantined: await selectQuarantine(db, order.ramp),
    wanted: await selectIsWanted(db, signed.hash),
  }));
  if (quarantined !== null || !wanted) return;
  const sent = { order: order.id, hash: signed.hash };
  logResent(context, place, sent, await chain.broadcast(signed));
}

/** Another fee was paid than is booked: the difference is one of solvency. */
function warnOfPayer(
  { context, place }: AttemptSearch,
  { hash, seen, height }: Pick<SeenPayer, "hash" | "seen" | "height">,
): void {
  const told = { ...place, hash, instead: seen, height };
  context.log("warn", "a payment was made by another of its transactions than is booked", told);
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
