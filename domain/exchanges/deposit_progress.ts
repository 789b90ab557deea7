/**
 * Progress of deposits from exchanges: an exchange is asked to pay once, its payment is found again, and what arrived is
 * told apart from what did not. An id that a person named is believed as far as the exchange shows it to be the transfer's.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { selectAccount } from "../../db/accounts/accounts.ts";
import type { Tx } from "../../db/database.ts";
import {
  lockRampTransfer,
  type RampTransferRow,
  selectCredited,
  selectTaken,
  updateRampTransfer,
} from "../../db/exchanges/ramp_transfers.ts";
import { selectExternalRamps } from "../../db/exchanges/external_ramps.ts";
import { lockQuarantineAt } from "../../db/sending/quarantine.ts";
import { assertAccount } from "../accounts/accounts.ts";
import { assertReceivable } from "../accounts/ramps.ts";
import type { Actor } from "../actor.ts";
import { findAsset } from "../assets.ts";
import { DomainError, invalidField } from "../errors.ts";
import { add, compare, subtract, toUnits, trim } from "../money.ts";
import { assertNotStopped } from "../stops/stops.ts";
import {
  contradictionOf,
  type ExchangeEnd,
  isAgreed,
  isExpected,
  sameAddress,
  toldOf,
} from "./transfer_ends.ts";
import {
  changeTransfer,
  failTransfer,
  finishTransfer,
  ownerActor,
  RETRY_MIN_MS,
  SILENT_MS,
  waitFor,
} from "./transfer_progress.ts";

/** More than any amount has after the point. */
const PLACES = 100;
/** Ids that persons may name for a transfer, one after another. */
const CLAIMS_MAX = 20;

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
 * Stores what the exchange says of a deposit that it was asked for. One that it pays elsewhere, or as another amount,
 * waits for a person. A payment that a person named, and that contradicts the transfer, is not taken for it: the id may be
 * mistyped, and another transfer's.
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
  // What carries our own id is it, whatever a person named.
  const known = row.reference ?? (end.marked ? null : row.claimed);
  if (known !== null && known !== end.reference) return row;
  if ((await selectTaken(tx, row, [end.reference])).size > 0) {
    return await waitFor(tx, actor, row, "the exchange named the id of another transfer");
  }
  const told = toldOf(row, end);
  if (row.reference === null && row.claimed === end.reference && !end.marked) {
    const why = contradictionOf(row, end);
    if (why !== null) {
      return await waitFor(tx, actor, row, `the payment under the id that was named ${why}`);
    }
    if (!isAgreed(row, end)) {
      const reason = "the payment under the id that was named is of another amount";
      return await waitFor(tx, actor, row, reason, { ...told, reference: null });
    }
  }
  if (end.address !== null && !sameAddress(end.address, row.address)) {
    return await waitFor(tx, actor, row, "the exchange pays to another address", told);
  }
  if (row.state === "sent" || row.reference === end.reference) {
    return await updateRampTransfer(tx, id, told, actor.at);
  }
  return await changeTransfer(tx, actor, id, {
    ...told,
    ...{ state: "sent", tries: 0, next_at: actor.at + RETRY_MIN_MS },
  });
}

/** Whether a person may name an id for a deposit: it waits for one, or goes on under an id that a person named. */
export function isClaimable(row: RampTransferRow, reference: string): boolean {
  if (row.kind !== "deposit" || row.deposit !== null) return false;
  if (row.state === "unclear") return true;
  return row.state === "sent" && row.claimed !== null && row.claimed !== reference;
}

/**
 * Resumes a deposit under the exchange's id of it that a person names. Until the exchange itself shows that id to this
 * record's key it takes nothing from other transfers: whoever could guess ids would else take theirs. An id that a person
 * named may be named anew while no deposit is known: what the exchange told of the former is dropped with it (the database
 * does that), and its payment is free for the transfer that it belongs to. Every id stays in the list of claims.
 *
 * @throws {DomainError} version.conflict where the exchange itself named another, or it is another transfer's;
 *   request.invalid where too many were named
 */
export async function resumeTransfer(
  tx: Tx,
  actor: Actor,
  row: RampTransferRow,
  reference: string,
): Promise<RampTransferRow> {
  const isTaken = (await selectTaken(tx, row, [reference])).size > 0;
  const isTold = row.reference !== null && row.reference !== row.claimed;
  if (isTaken || (isTold && row.reference !== reference)) {
    throw new DomainError("version.conflict", "another reference is known, or it is another's");
  }
  const change = { state: "sent" as const, tries: 0, next_at: actor.at };
  if (isTold || row.claimed === reference) return await changeTransfer(tx, actor, row.id, change);
  if (row.claims.length >= CLAIMS_MAX) {
    throw invalidField("/reference", `at most ${CLAIMS_MAX} ids are named for a transfer`);
  }
  const claims = [...row.claims, { reference, by: actor.user, at: actor.at }];
  return await changeTransfer(tx, actor, row.id, { ...change, claimed: reference, claims });
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

/**
 * What is missing, where that is more than the fee that the exchange asked for at the order can explain; where it told
 * none, more than a tenth.
 */
function excessiveFee({ value, offered_fee: asked }: RampTransferRow, credited: string) {
  const taken = trim(subtract(value, credited));
  const isExcessive = asked === null
    ? toUnits(taken, PLACES) * 10n > toUnits(value, PLACES)
    : compare(taken, add(asked, add(asked, asked))) > 0;
  return isExcessive ? taken : null;
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
