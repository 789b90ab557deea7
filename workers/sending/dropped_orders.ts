/**
 * The reasons why no attempt of an order can be mined, and the coins of ours that another transaction
 * spent.
 * @module
 */
import type { Tx } from "../../db/database.ts";
import { selectCursor } from "../../db/chains/cursors.ts";
import { selectDatabaseTime } from "../../db/health.ts";
import { selectSeenOwn } from "../../db/sending/late_attempts.ts";
import { selectOldest } from "../../db/sending/utxos.ts";
import { selectAttempts } from "../../db/sending/order_attempts.ts";
import { reading } from "../../db/transaction.ts";
import type { Network } from "../../domain/chains/addresses.ts";
import type { AttemptRow, DropProof, OrderRow } from "../../domain/sending/chain_orders.ts";
import { quarantine } from "../../domain/sending/quarantine.ts";
import { ChainError } from "../chains/chain.ts";
import type { TransactionStatus } from "../chains/outgoing.ts";
import { markTaken } from "./utxos.ts";
import { assertScanned } from "./departures.ts";
import { assertCaughtUp } from "./found_transactions.ts";
import { signedAttempts } from "./signing.ts";
import { type OrderWork, Outdated, stepInTurn } from "./order_work.ts";

/** Most transactions that are signed for an order, where each expired unmined. */
const ATTEMPTS_MAX = 5;
/** A transaction is this old before a contradiction about it counts: an index of a node may lag behind its blocks. */
const DOUBTED_AFTER_MS = 600_000;

/** The reason why no attempt can be mined, and whether the order restarts. */
export interface Drop {
  readonly error: string;
  readonly again: boolean;
  readonly proof: DropProof;
}

/**
 * Makes the drop of an order whose transaction expired. Whether it restarts is decided by the
 * transactions that were signed for it. The newest blocks are scanned first: they show a transaction
 * of our keys that only a newer database knows, which puts the ramp in quarantine before anything new is
 * signed or given back.
 *
 * @throws {ChainError} `held`
 */
async function expiryOf(
  work: OrderWork,
  order: OrderRow,
  status: TransactionStatus & { state: "dropped"; proof: "expired" },
): Promise<Drop> {
  // Not up to the block of the proof: that is a newer one at each question.
  await assertCaughtUp(work, order);
  await doubtSeen(work, order);
  const all = await reading(work.context.pool, (db) => selectAttempts(db, order.id));
  const { proof, by, height, reached } = status;
  return {
    error: "it expired unmined",
    again: all.filter(({ raw }) => raw !== null).length < ATTEMPTS_MAX,
    proof: { proof, by, height, reached },
  };
}

/**
 * Puts the ramp of an order into quarantine where nodes prove that its transaction can never be mined, and a block that they
 * still have showed it when it was scanned, and that for minutes: they lied then, or lie now, and the order would wait for
 * ever. The reconciliation tells which.
 */
async function doubtSeen(work: OrderWork, order: OrderRow): Promise<void> {
  const { context, chain } = work;
  const { seen, cursor, attempts, now } = await reading(context.pool, async (db) => ({
    seen: await selectSeenOwn(db, order.id),
    cursor: await selectCursor(db, order),
    attempts: await selectAttempts(db, order.id),
    now: await selectDatabaseTime(db), // which dates what expires
  }));
  const newest = attempts[attempts.length - 1]?.created_at ?? now;
  if (seen === null || cursor === null || now - newest < DOUBTED_AFTER_MS) return;
  // A block that the chain has lost meanwhile is taken back by the scanner.
  if ((await chain.block(cursor.height))?.hash !== cursor.hash) return;
  const detail = await stepInTurn(work, async (tx, current) => {
    const still = await selectSeenOwn(tx, current.id);
    if (still === null) return null;
    const why = contradiction(still);
    return (await quarantine(tx, context.actor, [current.ramp], why)).length > 0 ? why : null;
  });
  if (detail !== null) context.log("error", "a ramp is in quarantine", { detail });
}

function contradiction({ hash, height }: { hash: string; height: number }): string {
  return `nodes say that ${hash} can never be mined, and block ${height}, which was scanned, has it`;
}

function dropOf(status: TransactionStatus & { state: "dropped" }): Drop {
  const proof = { proof: status.proof, by: status.by, height: status.height };
  const error = `another transaction took its place: ${status.by ?? "unknown"}`;
  return { error, again: false, proof };
}

/**
 * Records the transaction that spent an order's coins, so that no plan selects them again. If it spent
 * them before they were selected, the order restarts. Both wait until those chain blocks are scanned:
 * an unknown spender puts the ramp in quarantine first, and then nothing is returned.
 *
 * @throws {ChainError} `held`
 */
export async function lossOf(
  work: OrderWork,
  order: OrderRow,
  status: TransactionStatus & { state: "dropped" },
  living: readonly AttemptRow[],
): Promise<Drop> {
  const { context, chain, place } = work;
  if (status.proof === "expired") return await expiryOf(work, order, status);
  await doubtSeen(work, order);
  const drop = dropOf(status);
  if (!chain.traits.coins) return drop;
  const inputs = [...new Set(living.flatMap((one) => one.inputs))];
  const own = new Set(living.flatMap(({ hash }) => hash ?? []));
  const network = order.network as Network;
  const taken = await markTaken(context, chain, { chain: place.chain, network }, { inputs, own });
  await assertScanned(context, order, Math.max(status.height, taken?.last ?? 0));
  const before = taken !== null && taken.first <= (order.since ?? -1);
  return { ...drop, again: drop.again || before };
}

/**
 * Makes sure that a proof is about every attempt that it drops: another run may have signed one while the
 * nodes were asked. And that no scanned block shows one of them, which nodes that hide it would have paid again: such an
 * order waits until the scanner sees that the chain has lost the block, or a reconciliation that it never had it.
 *
 * @throws {Outdated}
 * @throws {ChainError} `held`
 */
export async function assertProven(
  tx: Tx,
  { id }: Pick<OrderRow, "id">,
  of: readonly AttemptRow[],
): Promise<void> {
  const living = (await selectAttempts(tx, id)).filter((one) => !one.dropped);
  if (living.map(({ attempt }) => attempt).join() !== of.map(({ attempt }) => attempt).join()) {
    throw new Outdated(`order ${id} has another attempt than the nodes were asked about`);
  }
  const seen = await selectSeenOwn(tx, id);
  if (seen === null) return;
  throw new ChainError("held", contradiction(seen));
}

/** Searches blocks before the order was planned, which a run does not read, for the spender of its coins. */
export async function earlierDropOf(
  work: OrderWork,
  order: OrderRow,
  living: readonly AttemptRow[],
  depth: number,
): Promise<TransactionStatus & { state: "dropped" } | null> {
  const { context, chain } = work;
  const inputs = living.flatMap((one) => one.inputs);
  const since = await reading(context.pool, (db) => selectOldest(db, order, inputs));
  if (since === null || since >= (order.since ?? 0)) return null;
  const attempts = await signedAttempts(work, order, living);
  const status = await chain.status({ attempts, since, depth });
  return status.state === "dropped" ? status : null;
}
