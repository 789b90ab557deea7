/**
 * Transactions of ours that were given up as expired, because nodes said so, and that were mined all the same: the
 * reconciliation books each like a payment that was found. Its order may have paid again, or given its value back.
 * @module
 */
import type { QuarantinedRamp } from "../../db/recovery/recoveries.ts";
import { selectOrder } from "../../db/sending/chain_orders.ts";
import {
  forgetSeen,
  type LateAttempt,
  selectLateAttempts,
} from "../../db/sending/late_attempts.ts";
import { selectAttempts } from "../../db/sending/order_attempts.ts";
import { reading } from "../../db/transaction.ts";
import { selectBatched } from "../../db/withdrawals/withdrawal_batches.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { DomainError } from "../../domain/errors.ts";
import type { FoundTransaction } from "../../domain/recovery/found_transactions.ts";
import { takeIn, type Taken } from "../../domain/recovery/recoveries.ts";
import type { OrderRow } from "../../domain/sending/chain_orders.ts";
import { type Chain, ChainError } from "../chains/chain.ts";
import type { TransactionStatus } from "../chains/outgoing.ts";
import { readFound } from "../sending/found_transactions.ts";
import { signedOf } from "../sending/signing.ts";
import type { WorkerContext } from "../worker_context.ts";
import type { Reread } from "./unknown_signatures.ts";

/** Where such transactions are sought. */
export interface LateSearch {
  readonly context: WorkerContext;
  readonly chain: Chain;
  readonly place: ChainNetwork;
  readonly ramps: readonly QuarantinedRamp[];
  readonly reread: Reread;
}

/**
 * Recovers them; one that cannot be booked yet is an obstacle. One that nodes only seemed to have mined is given up again:
 * its block was read anew without it, and as many nodes as the quorum prove that it has expired.
 */
export async function takeMinedLate(work: LateSearch, obstacles: string[]): Promise<Taken[]> {
  const { context, place } = work;
  const ids = work.ramps.map(({ account }) => account);
  const late = await reading(context.pool, (db) => selectLateAttempts(db, place, ids));
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
      obstacles.push(`${error.message}: ${one.hash} of order ${one.order} was given up as expired`);
    }
  }
  return taken;
}

/**
 * Reads what one moved, by the word of as many nodes as the quorum; null where they prove that it is in no block, and the
 * one in which a scan saw it has been read anew without it.
 *
 * @throws {ChainError} `unavailable` while too few nodes show it in a final block
 */
async function readLate(
  { context, chain, place, reread }: LateSearch,
  { hash, height, order: id }: LateAttempt,
): Promise<FoundTransaction | null> {
  const { order, attempts, members } = await reading(context.pool, async (db) => ({
    order: (await selectOrder(db, id))!,
    attempts: await selectAttempts(db, id),
    members: await selectBatched(db, id),
  }));
  const signed = signedOf(attempts.find((one) => one.hash === hash)!);
  const depth = context.chains.depth({ chain: chain.id, testnet: place.network !== "main" });
  const status = await chain.status({ attempts: [signed], since: order.since ?? 0, depth });
  const isReread = height >= reread.from && height <= reread.to && !reread.shown.has(hash) &&
    reread.addresses.has(order.sender);
  if (isReread && status.state === "dropped" && status.proof === "expired") return null;
  if (!isFinal(status)) {
    throw new ChainError(
      "unavailable",
      `block ${height} has it, and too few nodes show it in a final one: run it again when they do`,
    );
  }
  const mined = { hash, height: status.block.height, deep: true };
  const found = await readFound(context, chain, place, mined);
  if (found === null) throw new ChainError("unavailable", "no address of ours signed it");
  return {
    ...found,
    from: order.sender,
    payments: status.success ? found.payments : [],
    late: { id, ramp: order.ramp, withdrawals: withdrawalsOf([order, ...members]) },
  };
}

function isFinal(status: TransactionStatus): status is TransactionStatus & { state: "mined" } {
  return status.state === "mined" && status.final && status.confirmations > 0;
}

function withdrawalsOf(orders: readonly OrderRow[]): string[] {
  return orders.flatMap(({ purpose, reference_id }) =>
    purpose === "withdrawal" && reference_id !== null ? [reference_id] : []
  );
}
