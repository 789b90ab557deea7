/**
 * Progress of transfers between exchanges and accounts. Workers find out what happened outside; the
 * states change here, each in a transaction of its own. A transfer whose end cannot be told waits
 * for a person and is never asked for again.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import type { Tx } from "../../db/database.ts";
import {
  lockRampTransfer,
  type RampTransferChange,
  type RampTransferRow,
  selectTaken,
  updateRampTransfer,
} from "../../db/exchanges/ramp_transfers.ts";
import { selectUser } from "../../db/identity/users.ts";
import { selectBlock } from "../../db/ledger/blocks.ts";
import { selectWithdrawal } from "../../db/withdrawals/withdrawals.ts";
import type { Actor, Role, Scope } from "../actor.ts";
import { DomainError, errorField } from "../errors.ts";
import { emit } from "../events.ts";
import { freeBlock, spendBlock } from "../ledger/blocks.ts";
import { trim } from "../money.ts";
import { viewRampTransfer } from "./ramp_transfer_views.ts";
import { amountOf } from "./exchange_assets.ts";
import { type ExchangeEnd, hashOf, isCredited, toldOf } from "./transfer_ends.ts";

/** Days after which an end that does not show waits for a person. */
export const SILENT_MS = 3 * 86_400_000;
/** Pause before the first repeat. */
export const RETRY_MIN_MS = 15_000;
const RETRY_MAX_MS = 3_600_000;
/** Why a transfer that a newer database may have carried on does not go on here. */
export const DOUBTFUL: string =
  "the database was older than what was done: whether it was paid is to be read" +
  " at the exchange and on the chain";
/** A failure as the entity shows it. */
export interface TransferFailure {
  code: string;
  detail: string;
}

/** Puts the next try off, longer each time. */
export async function putOffTransfer(tx: Tx, actor: Actor, id: string): Promise<void> {
  const row = await lockRampTransfer(tx, id);
  if (row === null || row.state === "done" || row.state === "failed") return;
  const longest = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(row.tries, 10));
  const pause = Math.round(longest * (1 - Math.random() / 10)); // many that failed at once do not all return at once
  await updateRampTransfer(tx, id, { tries: row.tries + 1, next_at: actor.at + pause }, actor.at);
}

/** Changes a transfer; emits `ramp.transfer.updated` with every state. */
export async function changeTransfer(
  tx: Tx,
  actor: Actor,
  id: string,
  change: RampTransferChange,
): Promise<RampTransferRow> {
  const row = await updateRampTransfer(tx, id, change, actor.at);
  if (change.state !== undefined) await announceTransfer(tx, actor, row);
  return row;
}

/** Emits `ramp.transfer.updated`. */
export async function announceTransfer(tx: Tx, actor: Actor, row: RampTransferRow): Promise<void> {
  const { id, owner } = row;
  await emit(tx, actor, "ramp.transfer.updated", { id, owner, view: viewRampTransfer(row) });
}

/**
 * Gives the owner of a transfer as an actor with present rights.
 *
 * @throws {DomainError} permission.owner if that user is no longer active
 */
export async function ownerActor(
  tx: Tx,
  actor: Actor,
  row: RampTransferRow,
): Promise<Actor> {
  const user = await selectUser(tx, row.owner);
  if (user === null || user.deleted_at !== null || !user.active) {
    throw new DomainError("permission.owner", "the user who asked for it is no longer active");
  }
  const { id, roles, scopes } = user;
  return { ...actor, kind: "user", user: id, roles: roles as Role[], scopes: scopes as Scope[] };
}

/** Lets a transfer wait for a person; it is looked up again in the meantime, and told of once. */
export async function waitFor(
  tx: Tx,
  actor: Actor,
  row: RampTransferRow,
  reason: string,
  more: RampTransferChange = {},
): Promise<RampTransferRow> {
  const change = { ...more, state: "unclear" as const, reason, next_at: actor.at + RETRY_MAX_MS };
  if (row.state === "unclear" && row.reason === reason) {
    return await updateRampTransfer(tx, row.id, change, actor.at);
  }
  return await changeTransfer(tx, actor, row.id, change);
}

/** Ends a transfer as done. */
export async function finishTransfer(
  tx: Tx,
  actor: Actor,
  row: RampTransferRow,
  more: RampTransferChange = {},
): Promise<RampTransferRow> {
  return await changeTransfer(tx, actor, row.id, { ...more, state: "done" });
}

/**
 * Ends a withdraw that a database from before its payment does not know, and that a person found to be
 * paid: its value goes to the ramp that paid it, whose loss was booked when the payment was found.
 *
 * @param ramp the account of the ramp
 */
export async function settleUnknown(
  tx: LedgerTx,
  actor: Actor,
  row: RampTransferRow,
  ramp: string,
): Promise<RampTransferRow> {
  if (ramp === row.account) await freeBlock(tx, row.block!);
  else {
    const block = (await selectBlock(tx, row.account, row.block!))!;
    const data = { ramp_transfer: row.id };
    await spendBlock(tx, actor, { block, destination: ramp, amount: trim(row.value), data });
  }
  return await finishTransfer(tx, actor, row);
}

/** Ends a transfer as failed, and releases its block if its withdrawal was not made. */
export async function failTransfer(
  tx: LedgerTx,
  actor: Actor,
  row: RampTransferRow,
  { code, detail }: TransferFailure,
): Promise<RampTransferRow> {
  if (row.kind === "withdraw" && row.withdrawal === null) {
    await freeBlock(tx, row.block!);
  }
  const error = errorField(code, detail);
  return await changeTransfer(tx, actor, row.id, { state: "failed", error });
}

/**
 * Follows a withdraw: it fails with its withdrawal, and is done when that is done and the exchange
 * has credited its transaction.
 *
 * @param ends the deposits that the exchange shows
 */
export async function followWithdraw(
  tx: LedgerTx,
  actor: Actor,
  id: string,
  ends: readonly ExchangeEnd[],
): Promise<void> {
  const row = await lockRampTransfer(tx, id);
  if (row === null || row.withdrawal === null) return;
  if (row.state !== "sent" && row.state !== "unclear") return;
  const withdrawal = (await selectWithdrawal(tx, row.withdrawal))!;
  if (withdrawal.status === "FAILED" || withdrawal.status === "CANCELED") {
    const own = withdrawal.error as Partial<TransferFailure> | null;
    const why = own?.detail === undefined ? "" : `: ${own.detail}`;
    const detail = `its withdrawal ended as ${withdrawal.status}${why}`;
    await failTransfer(tx, actor, row, { code: own?.code ?? "version.conflict", detail });
    return;
  }
  if (withdrawal.hash === null) {
    if (withdrawal.status !== "DONE" || row.state === "unclear") return;
    await waitFor(
      tx,
      actor,
      row,
      "an operator knows it to be paid, under a transaction unknown here",
    );
    return;
  }
  const end = await creditOf(tx, row, { ends, hash: withdrawal.hash, amount: withdrawal.amount });
  const told = end === null
    ? { hash: withdrawal.hash }
    : { ...toldOf(row, end), reference: end.reference, hash: withdrawal.hash };
  const isWhole = end !== null && isCredited(end, withdrawal.amount);
  if (withdrawal.status === "DONE" && end?.status === "ok" && isWhole) {
    await finishTransfer(tx, actor, row, told);
    return;
  }
  const silent = withdrawal.status === "DONE" &&
    actor.at - (withdrawal.updated_at ?? withdrawal.created_at) > SILENT_MS;
  const why = end?.status === "failed"
    ? "the exchange refuses what was paid"
    : end?.status === "ok" && !isWhole
    ? `the exchange has credited ${
      amountOf(end.amount) ?? "what it does not tell"
    }, which is another amount`
    : silent
    ? "it was paid three days ago, and the exchange does not show it as credited"
    : null;
  if (row.state === "sent" && why !== null) {
    await waitFor(tx, actor, row, why, told);
    return;
  }
  await updateRampTransfer(tx, row.id, told, actor.at);
}

/** The exchange's end of a transaction of ours: the transfer's own, or one that no transfer has. */
async function creditOf(
  tx: Tx,
  row: RampTransferRow,
  of: { ends: readonly ExchangeEnd[]; hash: string; amount: string },
): Promise<ExchangeEnd | null> {
  const hash = of.hash.toLowerCase();
  const ends = of.ends.filter((one) =>
    hashOf(row, one)?.toLowerCase() === hash && one.reference !== null
  );
  const own = ends.find((one) => one.reference === row.reference);
  if (row.reference !== null) return own ?? null;
  const taken = await selectTaken(tx, row, ends.map((one) => one.reference!));
  const free = ends.filter((one) => !taken.has(one.reference!));
  return free.find((one) => isCredited(one, of.amount)) ?? free[0] ?? null;
}
