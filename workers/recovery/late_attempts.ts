/**
 * Transactions of ours that were given up and mined all the same: they had expired, or another had used their nonce or
 * coins, as nodes told, or their order was canceled before they left. The reconciliation books them like a payment that
 * was found: their order may have paid again, or given its value back. What a scanned block had, and all nodes deny, it
 * forgets.
 * @module
 */
import type { QuarantinedRamp } from "../../db/recovery/recoveries.ts";
import {
  forgetSeen,
  type SeenAttempt,
  selectLateAttempts,
  selectSeenOpen,
  selectTold,
} from "../../db/sending/late_attempts.ts";
import { reading } from "../../db/transaction.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import { DomainError } from "../../domain/errors.ts";
import type { FoundTransaction } from "../../domain/recovery/found_transactions.ts";
import { takeIn, type Taken } from "../../domain/recovery/recoveries.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { ChainError } from "../chains/chain.ts";
import {
  type AttemptSearch,
  isDropped,
  isFinal,
  isGone,
  isUnmined,
  questionOf,
} from "../scanning/attempt_questions.ts";
import { TOLD_MAX } from "../scanning/told_attempts.ts";
import { readFound } from "../sending/found_transactions.ts";

/** Where such transactions are sought. */
export interface LateSearch extends AttemptSearch {
  readonly ramps: readonly QuarantinedRamp[];
}

/**
 * Recovers what was given up and mined; one that cannot be booked yet is an obstacle. One that nodes only seemed to have
 * mined is given up again: its block was read anew without it, and all nodes prove that it can never be mined, or, where
 * it does not expire, none has it in a block.
 */
export async function takeMinedLate(work: LateSearch, obstacles: string[]): Promise<Taken[]> {
  const { context, place } = work;
  const ids = work.ramps.map(({ account }) => account);
  const late = await reading(context.pool, (db) => selectLateAttempts(db, place, ids));
  const of = { ramps: ids, limit: TOLD_MAX };
  for (const one of await reading(context.pool, (db) => selectTold(db, place, of))) {
    obstacles.push(
      `too few nodes say that block ${one.height} has ${one.hash} of order ${one.order}, which was given up: find out` +
        " which omit or invent it, take them out of the configuration, and run it again",
    );
  }
  const taken: Taken[] = [];
  for (const one of late) {
    try {
      const found = await readLate(work, one);
      if (found === null) {
        await context.step((tx) => forgetSeen(tx, one));
        continue;
      }
      const result = await context.step((tx) => takeIn(tx, context.actor, place, found), {
        lockLedger: true,
      });
      if (result !== null) taken.push(result);
    } catch (error) {
      if (!(error instanceof ChainError) && !(error instanceof DomainError)) throw error;
      obstacles.push(`${error.message}: ${one.hash} of order ${one.order} was given up`);
    }
  }
  return taken;
}

/**
 * Forgets the blocks in which scans saw transactions of open orders, where these blocks are read anew without them and
 * all nodes prove that they can never be mined: each order is then given up by the worker's own proof. What only as many
 * nodes as the quorum deny is an obstacle: some of them lie now, or lied when the block was scanned.
 *
 * @returns whether there was one
 */
export async function forgetVanished(work: LateSearch, obstacles: string[]): Promise<boolean> {
  const { context, place } = work;
  const ids = work.ramps.map(({ account }) => account);
  const seen = await reading(context.pool, (db) => selectSeenOpen(db, place, ids));
  let forgotten = false;
  for (const one of seen) {
    const what = `block ${one.height} had ${one.hash} of order ${one.order} when it was scanned`;
    try {
      const { order, query } = await questionOf(work, one);
      if ((await work.chain.status(query)).state !== "dropped") continue;
      if (await isGone(work, one, { order, query }, isDropped)) {
        await context.step((tx) => forgetSeen(tx, one));
        forgotten = true;
      } else {
        obstacles.push(
          `${what}, nodes say that it can never be mined, and not all say so: find out which lie, take them out` +
            " of the configuration, and run it again",
        );
      }
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      obstacles.push(`${what}: ${error.message}`);
    }
  }
  return forgotten;
}

/**
 * Reads what one moved, by the word of as many nodes as the quorum; null where all prove that it is in no block, and the
 * one in which a scan saw it is read anew without it.
 *
 * @throws {ChainError} `unavailable` while too few nodes show it in a final block
 */
async function readLate(work: LateSearch, late: SeenAttempt): Promise<FoundTransaction | null> {
  const { context, chain, place } = work;
  const { hash, height } = late;
  const { order, query } = await questionOf(work, late);
  const status = await chain.status(query);
  const isDenied = chain.traits.validity === null ? isUnmined : isDropped;
  if (isDenied(status) && await isGone(work, late, { order, query }, isDenied)) return null;
  if (!isFinal(chain, status, query)) {
    throw new ChainError(
      "unavailable",
      `block ${height} has it, and too few nodes show it in a final one: run it again when they do` +
        (await isKept(work, height) ? "" : ", with nodes that keep that block, as these do not"),
    );
  }
  const mined = { hash, height: status.block.height, deep: true };
  const found = await readFound(context, chain, place, mined);
  if (found === null) throw new ChainError("unavailable", "no address of ours signed it");
  const members = await reading(context.pool, (db) => selectBatched(db, order.id));
  const { id, ramp, purpose } = order;
  return {
    ...found,
    from: order.sender,
    // A sweep that failed in its block ends as one: its fee is its deposit account's.
    payments: status.success || purpose === "sweep" ? found.payments : [],
    late: { id, ramp, purpose, withdrawals: withdrawalsOf([order, ...members]) },
  };
}

/** Whether nodes still show a block. */
async function isKept({ chain }: LateSearch, height: number): Promise<boolean> {
  try {
    return await chain.block(height) !== null;
  } catch (error) {
    if (error instanceof ChainError) return false;
    throw error;
  }
}

function withdrawalsOf(orders: readonly OrderRow[]): string[] {
  return orders.flatMap(({ purpose, reference_id }) =>
    purpose === "withdrawal" && reference_id !== null ? [reference_id] : []
  );
}
