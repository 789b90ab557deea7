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
  selectCredited,
  selectTaken,
  updateRampTransfer,
} from "../../db/exchanges/ramp_transfers.ts";
import { selectExternalRamps } from "../../db/exchanges/external_ramps.ts";
import { selectWithdrawal } from "../../db/withdrawals/withdrawals.ts";
import type { Actor } from "../actor.ts";
import { DomainError, errorField } from "../errors.ts";
import { freeBlock } from "../ledger/blocks.ts";
import { compare, subtract, trim } from "../money.ts";
import { assertNotStopped } from "../stops/stops.ts";
import { type ExchangeEnd, sameAddress, toldOf } from "./transfer_ends.ts";

/** Days after which an end that does not show waits for a person. */
const SILENT_MS = 3 * 86_400_000;
/** Pause before the first repeat. */
export const RETRY_MIN_MS = 15_000;
const RETRY_MAX_MS = 3_600_000;
/** A failure as the entity shows it. */
export interface TransferFailure {
  code: string;
  detail: string;
}

/** Puts the next try off, longer each time. */
export async function putOffTransfer(tx: Tx, actor: Actor, id: string): Promise<void> {
  const row = await lockRampTransfer(tx, id);
  if (row === null || row.state === "done" || row.state === "failed") return;
  const pause = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(row.tries, 10));
  await updateRampTransfer(tx, id, { tries: row.tries + 1, next_at: actor.at + pause }, actor.at);
}

/**
 * Marks a deposit as asked for, before the exchange is asked; null where that is no longer right, or
 * a stop is in force. The mark is set once, so of two workers one asks.
 */
export async function markAsking(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<RampTransferRow | null> {
  const row = await lockRampTransfer(tx, id);
  if (row === null || row.state !== "new" || row.kind !== "deposit") {
    return null;
  }
  const [ramp] = await selectExternalRamps(tx, [row.external_ramp]);
  if (ramp.deleted_at !== null || ramp.status === "REFUSED") return null;
  const { account, asset, chain } = row;
  const owner = { ...actor, kind: "user" as const, user: row.owner };
  await assertNotStopped(tx, owner, { account, asset, chain, destination: row.address! });
  const change = { state: "asking" as const, asked_at: actor.at, next_at: actor.at + RETRY_MIN_MS };
  return await updateRampTransfer(tx, id, change, actor.at);
}

/**
 * Stores what the exchange says of a deposit that it was asked for. One that it pays elsewhere, or
 * as another amount, waits for a person.
 */
export async function noteEnd(
  tx: Tx,
  actor: Actor,
  id: string,
  end: ExchangeEnd,
): Promise<RampTransferRow | null> {
  const row = await lockRampTransfer(tx, id);
  if (row === null || row.state === "done" || row.state === "failed") {
    return row;
  }
  if (end.reference === null) {
    return await waitFor(tx, actor, row, "the exchange named no id of it");
  }
  if (row.reference !== null && row.reference !== end.reference) return row;
  if ((await selectTaken(tx, row, [end.reference])).size > 0) {
    return await waitFor(tx, actor, row, "the exchange named the id of another transfer");
  }
  const told = toldOf(row, end);
  if (end.address !== null && !sameAddress(end.address, row.address)) {
    return await waitFor(tx, actor, row, "the exchange pays to another address", told);
  }
  if (row.kind === "deposit" && row.state !== "sent") {
    return await updateRampTransfer(tx, id, {
      ...told,
      ...{ state: "sent", tries: 0, next_at: actor.at + RETRY_MIN_MS },
    }, actor.at);
  }
  return await updateRampTransfer(tx, id, told, actor.at);
}

/** Lets a transfer wait for a person; it is looked up again in the meantime. */
export async function waitFor(
  tx: Tx,
  actor: Actor,
  row: RampTransferRow,
  reason: string,
  more: RampTransferChange = {},
): Promise<RampTransferRow> {
  const change = { ...more, state: "unclear" as const, reason, next_at: actor.at + RETRY_MAX_MS };
  return await updateRampTransfer(tx, row.id, change, actor.at);
}

/** Resumes a deposit that waited for a person, under the exchange's id of it. */
export async function resumeTransfer(
  tx: Tx,
  actor: Actor,
  row: RampTransferRow,
  reference: string,
): Promise<RampTransferRow> {
  const isTaken = (await selectTaken(tx, row, [reference])).size > 0;
  if (isTaken || (row.reference !== null && row.reference !== reference)) {
    throw new DomainError("version.conflict", "another reference is known, or it is another's");
  }
  const change = { state: "sent" as const, reference, tries: 0, next_at: actor.at };
  return await updateRampTransfer(tx, row.id, change, actor.at);
}

/** Ends a transfer as done. */
export async function finishTransfer(
  tx: Tx,
  actor: Actor,
  row: RampTransferRow,
  more: RampTransferChange = {},
): Promise<RampTransferRow> {
  return await updateRampTransfer(tx, row.id, { ...more, state: "done" }, actor.at);
}

/** Ends a transfer as failed, and releases its block if its withdrawal was not made. */
export async function failTransfer(
  tx: LedgerTx,
  actor: Actor,
  row: RampTransferRow,
  { code, detail }: TransferFailure,
): Promise<RampTransferRow> {
  if (row.kind === "withdraw" && row.state === "new") {
    await freeBlock(tx, row.block!);
  }
  const error = errorField(code, detail);
  return await updateRampTransfer(tx, row.id, { state: "failed", error }, actor.at);
}

/**
 * Follows a deposit that the exchange said it pays: it is done when our own chain has credited it,
 * failed when the exchange gave it up and no transaction is known.
 */
export async function followDeposit(tx: LedgerTx, actor: Actor, id: string): Promise<void> {
  const row = await lockRampTransfer(tx, id);
  if (row === null || (row.state !== "sent" && row.state !== "unclear")) return;
  const arrived = row.hash === null ? null : await selectCredited(tx, { ...row, hash: row.hash });
  if (arrived !== null && isExpected(row, arrived.credited)) {
    await finishTransfer(tx, actor, row, { deposit: arrived.id });
    return;
  }
  if (row.state === "unclear") return;
  if (arrived !== null) {
    const credited = trim(arrived.credited);
    await waitFor(tx, actor, row, `its transaction brought ${credited}, which is another amount`);
    return;
  }
  if (row.exchange_status === "failed" || row.exchange_status === "canceled") {
    if (row.hash !== null) {
      await waitFor(tx, actor, row, "the exchange gave it up although it named a transaction");
      return;
    }
    const detail = `the exchange gave it up: ${row.exchange_status}`;
    await failTransfer(tx, actor, row, { code: "upstream.failed", detail });
  } else if (actor.at - row.asked_at! > SILENT_MS) {
    await waitFor(tx, actor, row, "it did not arrive within three days");
  }
}

/** The exchange may take its fee from the amount, or beside it. */
function isExpected(row: RampTransferRow, credited: string): boolean {
  return [row.value, subtract(row.value, row.exchange_fee ?? "0")]
    .some((one) => compare(one, credited) === 0);
}

/**
 * Ends a deposit that a person found to be right although another amount arrived.
 *
 * @throws {DomainError} version.conflict where no such deposit was credited
 */
export async function acceptDeposit(
  tx: Tx,
  actor: Actor,
  row: RampTransferRow,
): Promise<RampTransferRow> {
  const arrived = row.hash === null ? null : await selectCredited(tx, { ...row, hash: row.hash });
  if (arrived !== null) {
    return await finishTransfer(tx, actor, row, { deposit: arrived.id });
  }
  throw new DomainError("version.conflict", "its transaction has brought no deposit");
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
    const detail = `its withdrawal ended as ${withdrawal.status}`;
    await failTransfer(tx, actor, row, { code: "withdrawal.not_found", detail });
    return;
  }
  if (withdrawal.hash === null) return;
  const hash = withdrawal.hash.toLowerCase();
  const end = ends.find((one) => one.hash?.toLowerCase() === hash && one.reference !== null);
  const isTaken = end !== undefined &&
    (await selectTaken(tx, row, [end.reference!])).size > 0;
  const told = end === undefined || isTaken ? { hash: withdrawal.hash } : {
    ...toldOf(row, end),
    reference: row.reference ?? end.reference,
    hash: withdrawal.hash,
  };
  if (withdrawal.status === "DONE" && end?.status === "ok" && !isTaken) {
    await finishTransfer(tx, actor, row, told);
    return;
  }
  const silent = withdrawal.status === "DONE" &&
    actor.at - (withdrawal.updated_at ?? withdrawal.created_at) > SILENT_MS;
  if (row.state === "sent" && (end?.status === "failed" || silent)) {
    const why = silent
      ? "it was paid three days ago, and the exchange does not show it as credited"
      : "the exchange refuses what was paid";
    await waitFor(tx, actor, row, why, told);
    return;
  }
  await updateRampTransfer(tx, row.id, told, actor.at);
}
