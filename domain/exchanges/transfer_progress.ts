/**
 * Progress of transfers between exchanges and accounts. Workers find out what happened outside; the
 * states change here, each in a transaction of its own. A transfer whose end cannot be told waits
 * for a person and is never asked for again.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { selectAccount } from "../../db/accounts/accounts.ts";
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
import { lockQuarantineAt } from "../../db/sending/quarantine.ts";
import { selectUser } from "../../db/identity/users.ts";
import { selectBlock } from "../../db/ledger/blocks.ts";
import { selectWithdrawal } from "../../db/withdrawals/withdrawals.ts";
import { assertAccount } from "../accounts/accounts.ts";
import { assertReceivable } from "../accounts/ramps.ts";
import type { Actor, Role, Scope } from "../actor.ts";
import { findAsset } from "../assets.ts";
import { DomainError, errorField } from "../errors.ts";
import { emit } from "../events.ts";
import { freeBlock, spendBlock } from "../ledger/blocks.ts";
import { add, compare, subtract, trim } from "../money.ts";
import { assertNotStopped } from "../stops/stops.ts";
import { viewRampTransfer } from "./ramp_transfer_views.ts";
import { type ExchangeEnd, isCredited, isExpected, sameAddress, toldOf } from "./transfer_ends.ts";

/** Days after which an end that does not show waits for a person. */
const SILENT_MS = 3 * 86_400_000;
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
  const pause = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(row.tries, 10));
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
 * Marks a deposit as asked for, before the exchange is asked; null where that is no longer right. The
 * mark is set once, so of two workers one asks. Account, asset and owner are as they must be when a
 * transfer is ordered: much may have changed since. Nothing is asked for to an address whose ramp is in
 * quarantine: somebody else may have its keys.
 *
 * @throws {DomainError} account.inactive, asset.suspended, permission.owner, stop.active,
 *   chain.quarantined
 */
export async function markAsking(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<RampTransferRow | null> {
  const row = await lockRampTransfer(tx, id);
  if (row === null || row.state !== "new" || row.kind !== "deposit" || row.doubtful) return null;
  const [ramp] = await selectExternalRamps(tx, [row.external_ramp]);
  if (ramp.deleted_at !== null) {
    throw new DomainError("ramp.not_found", "the external ramp was deleted before it was asked");
  }
  if (ramp.status === "REFUSED") return null;
  const owner = await ownerActor(tx, actor, row);
  const account = await selectAccount(tx, row.account);
  assertAccount(owner, "write", account);
  if (!account.active) throw new DomainError("account.inactive", "the account is deactivated");
  assertReceivable(findAsset(account.asset));
  const { asset, chain, address } = row;
  await assertNotStopped(tx, owner, { account: row.account, asset, chain, destination: address! });
  const quarantined = await lockQuarantineAt(tx, { ...row, address: address! });
  if (quarantined !== null) throw new DomainError("chain.quarantined", quarantined.detail);
  return await noteAsking(tx, actor, id);
}

/** Marks a deposit as asked for because the exchange shows that it was, or that this cannot be told. */
export async function noteAsking(
  tx: Tx,
  actor: Actor,
  id: string,
): Promise<RampTransferRow | null> {
  const row = await lockRampTransfer(tx, id);
  if (row === null || row.state !== "new") return row;
  const { at } = actor;
  const change = { state: "asking" as const, asked_at: at, next_at: at + RETRY_MIN_MS };
  return await changeTransfer(tx, actor, id, change);
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
  if ((row.reference ?? row.claimed ?? end.reference) !== end.reference) return row;
  if ((await selectTaken(tx, row, [end.reference])).size > 0) {
    return await waitFor(tx, actor, row, "the exchange named the id of another transfer");
  }
  const told = toldOf(row, end);
  if (end.address !== null && !sameAddress(end.address, row.address)) {
    return await waitFor(tx, actor, row, "the exchange pays to another address", told);
  }
  if (row.kind === "deposit" && row.state !== "sent") {
    return await changeTransfer(tx, actor, id, {
      ...told,
      ...{ state: "sent", tries: 0, next_at: actor.at + RETRY_MIN_MS },
    });
  }
  return await updateRampTransfer(tx, id, told, actor.at);
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

/**
 * Resumes a deposit that waited for a person, under the exchange's id of it. Until the exchange itself shows that id to
 * this record's key it takes nothing from other transfers: whoever could guess ids would else take theirs.
 */
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
  const claimed = row.reference === null ? reference : null;
  const change = { state: "sent" as const, claimed, tries: 0, next_at: actor.at };
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
 * Follows a deposit that the exchange said it pays: it is done when our own chain has credited it,
 * failed when the exchange gave it up and no transaction is known.
 */
export async function followDeposit(tx: LedgerTx, actor: Actor, id: string): Promise<void> {
  const row = await lockRampTransfer(tx, id);
  if (row === null || (row.state !== "sent" && row.state !== "unclear")) return;
  const arrived = await arrivedBy(tx, row);
  const fee = arrived === null ? null : excessiveFee(row, arrived.credited);
  if (arrived !== null && fee === null && isExpected(row, arrived.credited)) {
    await finishTransfer(tx, actor, row, { deposit: arrived.id });
    return;
  }
  if (row.state === "unclear") return;
  if (arrived !== null) {
    const why = fee === null || !isExpected(row, arrived.credited)
      ? `its transaction brought ${trim(arrived.credited)}, which is another amount`
      : `the exchange took ${fee} as its fee, far more than it asks for`;
    await waitFor(tx, actor, row, why);
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

/** The credited deposit of a transfer: a transaction may pay several transfers, each its own amount. */
async function arrivedBy(
  tx: Tx,
  row: RampTransferRow,
): Promise<{ id: string; credited: string } | null> {
  if (row.hash === null) return null;
  const credited = await selectCredited(tx, { ...row, hash: row.hash });
  return credited.find((one) => isExpected(row, one.credited)) ?? credited[0] ?? null;
}

/** What is missing, where that is more than the fee that the exchange asked for at the order can explain. */
function excessiveFee({ value, offered_fee: asked }: RampTransferRow, credited: string) {
  const taken = trim(subtract(value, credited));
  return asked !== null && compare(taken, add(asked, add(asked, asked))) > 0 ? taken : null;
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
  const arrived = await arrivedBy(tx, row);
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
    ? `the exchange has credited ${end.amount}, which is another amount`
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
  const ends = of.ends.filter((one) => one.hash?.toLowerCase() === hash && one.reference !== null);
  const own = ends.find((one) => one.reference === row.reference);
  if (row.reference !== null) return own ?? null;
  const taken = await selectTaken(tx, row, ends.map((one) => one.reference!));
  const free = ends.filter((one) => !taken.has(one.reference!));
  return free.find((one) => isCredited(one, of.amount)) ?? free[0] ?? null;
}
