/**
 * Conditions for the first broadcast of signed bytes, and for the return of value. After a restore
 * from a backup, a signed order of the database may have been dissolved since, and its withdrawals
 * paid by another transaction. While a ramp is in quarantine, bytes that were never sent wait, and so
 * does every end that leaves an order unpaid, until the ramp is reconciled.
 * @module
 */
import { selectCursor } from "../../db/chains/cursors.ts";
import { brokenConstraint } from "../../db/errors.ts";
import { lockQuarantine, selectQuarantine } from "../../db/sending/quarantine.ts";
import { type LedgerTx, reading } from "../../db/transaction.ts";
import type { AttemptRow, OrderRow } from "../../domain/sending/chain_orders.ts";
import { QUARANTINED } from "../../domain/sending/quarantine.ts";
import type { WorkerContext } from "../worker_context.ts";
import { ChainError } from "../chains/chain.ts";
import { signedOf } from "./signing.ts";
import { type OrderWork, stepInTurn } from "./order_work.ts";

/**
 * Refuses the first broadcast of bytes that a newer database may have replaced. Bytes that the chain
 * or its nodes already have may be sent again. Where it permits the broadcast, the host's record shows that
 * the database has the bytes: one that loses them, as a standby that was behind, is older than the record.
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
  const why = await quarantineOf(context, order) ?? await context.signer.fault();
  if (why !== null) {
    if (await hasLeft(work, order, attempt)) return;
    throw new ChainError("held", why);
  }
  await context.noteRealm?.();
  await context.signer.record();
  const found = await quarantineOf(context, order); // by the comparison of the realm
  if (found !== null) throw new ChainError("held", found);
}

async function quarantineOf(context: WorkerContext, order: OrderRow): Promise<string | null> {
  const row = await reading(context.pool, (db) => selectQuarantine(db, order.ramp));
  return row === null ? null : `${QUARANTINED}: ${row.detail}`;
}

/**
 * Makes an order wait for the scanner before it ends or restarts: only scanned blocks show
 * transactions of our keys that the database does not know, and these put the ramp into quarantine.
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
  throw new ChainError(
    "held",
    `block ${height} proves that it is not mined, and is not scanned yet`,
  );
}

/** Nodes told of its block before a reorganisation that was followed meanwhile, or the scan is to follow one. */
const SCANNED_WITHOUT = "another block was scanned at the height of the one that nodes say has it";

/**
 * Runs the step that ends an order, under the ledger lock. An end without payment waits while the ramp
 * is in quarantine, or the fence is closed: the charge would go back to users that a newer database
 * may have paid. Every end waits where the scan has passed its block without it: only of an order that has
 * ended before is it noted that its block is lost, or was not found.
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
  try {
    return await stepInTurn(work, async (tx, current) => {
      const row = state === "done" ? null : await lockQuarantine(tx, current.ramp);
      if (row !== null) throw new ChainError("held", `${QUARANTINED}: ${row.detail}`);
      return await end(tx, current);
    }, { lockLedger: true });
  } catch (error) {
    if (brokenConstraint(error) !== "chain_orders_scanned") throw error;
    throw new ChainError("held", SCANNED_WITHOUT);
  }
}

/**
 * Tells whether the quorum reports that the bytes were sent before; one node alone could claim that and
 * cause the broadcast. Where their nonce is used up, or they have expired, the bytes can never pay any
 * more.
 */
async function hasLeft(
  { context, chain, place }: OrderWork,
  order: OrderRow,
  attempt: AttemptRow,
): Promise<boolean> {
  const depth = context.chains.depth(place);
  const since = order.since ?? 0;
  const status = await chain.status({ attempts: [signedOf(attempt)], since, depth });
  if (status.state === "dropped") return chain.nonces !== null || status.proof === "expired";
  if (status.state === "mined") return status.confirmations > 0;
  return status.state === "pending" && status.few !== true;
}
