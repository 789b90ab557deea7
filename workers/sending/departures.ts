/**
 * What keeps signed bytes from leaving for the first time, and value from going back. In a database
 * that was put back from a backup, an order may stand as signed that the lost database has dissolved
 * since, and whose withdrawals it has paid otherwise: while its ramp is in quarantine such bytes wait,
 * and so does what would end an order unpaid, until the ramp is reconciled.
 * @module
 */
import { selectCursor } from "../../db/chains/cursors.ts";
import { lockQuarantine, selectQuarantine } from "../../db/sending/quarantine.ts";
import { type LedgerTx, reading } from "../../db/transaction.ts";
import type { AttemptRow, OrderRow } from "../../domain/sending/chain_orders.ts";
import { QUARANTINED } from "../../domain/sending/quarantine.ts";
import type { WorkerContext } from "../worker_context.ts";
import { ChainError } from "../chains/chain.ts";
import { signedOf } from "./signing.ts";
import { type OrderWork, stepInTurn } from "./order_work.ts";

/**
 * Refuses to send for the first time what may have been made otherwise since. Bytes that the chain
 * or its nodes have already may go on: they have left.
 *
 * @throws {ChainError} `held`
 */
export async function assertMayLeave(
  work: OrderWork,
  order: OrderRow,
  attempt: AttemptRow,
): Promise<void> {
  if (order.state !== "signed") return;
  const { context } = work;
  const row = await reading(context.pool, (db) => selectQuarantine(db, order.ramp));
  const why = row === null ? await context.signer.fault() : `${QUARANTINED}: ${row.detail}`;
  if (why === null || await hasLeft(work, order, attempt)) return;
  throw new ChainError("held", why);
}

/**
 * Has what ends or begins anew wait for the scanner: it is the blocks that tell of what our keys signed and
 * nothing here knows, and only they put the ramp into quarantine.
 *
 * @throws {ChainError} `held`
 */
export async function assertScanned(
  context: WorkerContext,
  order: OrderRow,
  height: number,
): Promise<void> {
  const cursor = await reading(context.pool, (db) => selectCursor(db, order));
  if (cursor !== null && cursor.height >= height) return;
  throw new ChainError("held", `what took its place is in block ${height}, not scanned yet`);
}

/**
 * Runs the step that ends an order, under the ledger lock. One that ends it unpaid waits while its ramp is in
 * quarantine, or the process does not know the database: what was charged for it would go back to those
 * whom a newer database may have paid.
 *
 * @throws {ChainError} `held`
 */
export async function endInTurn<T>(
  work: OrderWork,
  state: OrderRow["state"],
  end: (tx: LedgerTx, order: OrderRow) => Promise<T>,
): Promise<T> {
  const why = state === "done" ? null : await work.context.signer.fault();
  if (why !== null) throw new ChainError("held", why);
  await work.onCheckpoint("ending");
  return await stepInTurn(work, async (tx, current) => {
    const row = state === "done" ? null : await lockQuarantine(tx, current.ramp);
    if (row !== null) throw new ChainError("held", `${QUARANTINED}: ${row.detail}`);
    return await end(tx, current);
  }, { lockLedger: true });
}

/**
 * Whether the bytes were sent before, as the quorum says: one node could have them leave. Where a
 * nonce is used up, they can never pay any more.
 */
async function hasLeft(
  { context, chain, place }: OrderWork,
  order: OrderRow,
  attempt: AttemptRow,
): Promise<boolean> {
  const depth = context.chains.depth(place);
  const since = order.since ?? 0;
  const status = await chain.status({ attempts: [signedOf(attempt)], since, depth });
  if (status.state === "dropped") return chain.traits.nonces;
  if (status.state === "mined") return status.confirmations > 0;
  return status.state === "pending" && status.few !== true;
}
