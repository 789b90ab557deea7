/**
 * Deposits: transfers from a chain to an address of the realm. A deposit is shown as soon as it is
 * read, and credited once when it is deep enough, under the key (chain, network, transaction,
 * index).
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { type AccountRow, selectAccounts } from "../../db/accounts/accounts.ts";
import type { Tx } from "../../db/database.ts";
import { type DepositRow, lockPending, markOrphaned } from "../../db/deposits/deposits.ts";
import { lockAllPending, markConfirmed } from "../../db/deposits/pending_deposits.ts";
import { putOffDeposits, selectCalled } from "../../db/deposits/deposit_proofs.ts";
import { applyMoves } from "../../db/ledger/posting.ts";
import type { Move } from "../../db/ledger/posting_protocol.ts";
import type { Actor } from "../actor.ts";
import { noteDeposits } from "./deposit_apps.ts";
import { tellDeposits } from "./deposit_views.ts";
import { counterparty, refusal } from "../ledger/posting.ts";
import { compare, fromUnits } from "../money.ts";
import { scheduleSweeps } from "./sweeps.ts";
import { errorField } from "../errors.ts";

/**
 * A transfer that was read again at its depth, with the amount that the address gained, in base
 * units.
 */
export interface Proof {
  deposit: DepositRow;
  received: bigint;
  /** What calls brought the address in its block and was credited when nodes proved it; null where that is not known. */
  called: string | null;
}

/** A deposit with the posting that credits it. */
interface Booking {
  row: DepositRow;
  account: AccountRow;
  /** Whole units. */
  credited: string;
  move: Move;
}

/** A credited deposit. */
interface Booked extends Booking {
  transaction: string;
}

/**
 * Credits deposits that are deep enough, each once, in a transaction that holds the ledger lock. A
 * deposit whose block changed meanwhile stays pending. One that brought nothing becomes ORPHANED.
 * One that the ledger refuses stays pending with the error, is tried again, and does not stop the
 * others. A deleted account is credited too: the value is its holder's, and shown when the account
 * is restored.
 */
export async function creditDeposits(
  tx: LedgerTx,
  actor: Actor,
  proofs: readonly Proof[],
): Promise<void> {
  const received = new Map(proofs.map((proof) => [proof.deposit.id, proof.received]));
  const locked = await lockAllPending(
    tx,
    proofs.map(({ deposit }) => ({ id: deposit.id, block_hash: deposit.block_hash })),
  );
  const pending = await withoutOvertaken(tx, locked, proofs);
  const rows = pending.filter((row) => received.get(row.id)! > 0n);
  const vain = pending.filter((one) => received.get(one.id) === 0n);
  const why = "the address gained nothing: the token kept the amount, or reported a false transfer";
  await orphan(tx, actor, vain, { error: errorField("deposit.not_found", why) });
  if (rows.length === 0) return;
  const bookings = await bookingsOf(tx, actor, { rows, received });
  const outcomes = await applyMoves(tx, bookings.map((one) => one.move), {
    type: "deposit",
    force: true,
  });
  const booked: Booked[] = [];
  const refused: { id: string; error: unknown }[] = [];
  for (const [at, outcome] of outcomes.entries()) {
    if ("posted" in outcome) booked.push({ ...bookings[at], transaction: outcome.posted.id });
    else if ("refused" in outcome) {
      const { code, message } = refusal(outcome.refused, true);
      refused.push({ id: bookings[at].row.id, error: errorField(code, message) });
    }
  }
  if (refused.length > 0) await putOffDeposits(tx, refused);
  await confirm(tx, actor, booked);
}

/**
 * Leaves out deposits of calls whose proof does not count another of their block: one balance may prove each of them, and
 * not all together. They are proven anew by the next pass.
 */
async function withoutOvertaken(
  tx: Tx,
  rows: readonly DepositRow[],
  proofs: readonly Proof[],
): Promise<DepositRow[]> {
  const calls = rows.filter(isOfCalls);
  if (calls.length === 0) return [...rows];
  const called = new Map(proofs.map((proof) => [proof.deposit.id, proof.called]));
  const now = new Map(
    (await selectCalled(tx, calls.map(({ id }) => id))).map((one) => [one.id, one.called]),
  );
  const taken = new Set<string>();
  return rows.filter((row) => {
    if (!isOfCalls(row)) return true;
    const key = `${row.address} ${row.block_hash}`;
    const told = called.get(row.id) ?? null;
    if (taken.has(key) || (told !== null && compare(told, now.get(row.id)!) !== 0)) return false;
    taken.add(key);
    return true;
  });
}

/** Whether a deposit stands for the coins that calls inside a transaction brought. */
export function isOfCalls({ index, contract }: Pick<DepositRow, "index" | "contract">): boolean {
  return index === -2 && contract === null;
}

async function bookingsOf(
  tx: LedgerTx,
  actor: Actor,
  of: { rows: readonly DepositRow[]; received: ReadonlyMap<string, bigint> },
): Promise<Booking[]> {
  const { rows, received } = of;
  const found = await selectAccounts(tx, [...new Set(rows.map((row) => row.account))]);
  const accounts = new Map(found.map((account) => [account.id, account]));
  const worlds = new Map<string, string>();
  const bookings: Booking[] = [];
  for (const row of rows) {
    const account = accounts.get(row.account)!;
    const { asset, testnet, decimals } = account;
    const key = `${asset} ${testnet}`;
    const world = worlds.get(key) ??
      await counterparty(tx, actor, "world", { code: asset, decimals, testnet });
    worlds.set(key, world);
    const credited = fromUnits(received.get(row.id)!, decimals);
    const move = moveOf(actor, { world, row, credited });
    bookings.push({ row, account, credited, move });
  }
  return bookings;
}

function moveOf(
  actor: Actor,
  of: { world: string; row: DepositRow; credited: string },
): Move {
  const { chain, network, hash, index, address_data } = of.row;
  return {
    source: of.world,
    destination: of.row.account,
    amount: of.credited,
    actor: null,
    mayMoveAny: true,
    clientIp: actor.address,
    apiKey: null,
    seal: JSON.stringify({ chain, network, hash, index }),
    data: null,
    reference: null,
    extras: address_data === null ? null : JSON.stringify({ address_data }),
  };
}

/** Marks credited deposits, emits their events, and schedules sweeps of deposit accounts. */
async function confirm(tx: Tx, actor: Actor, booked: readonly Booked[]): Promise<void> {
  if (booked.length === 0) return;
  const accounts = [...new Set(booked.map((one) => one.account.id))];
  const apps = await noteDeposits(tx, actor, accounts);
  const confirmed = await markConfirmed(
    tx,
    booked.map(({ row, credited, transaction }) => ({
      id: row.id,
      credited,
      transaction,
      app: apps.get(row.account) ?? null,
    })),
    actor.at,
  );
  await tellDeposits(tx, actor, "deposit.confirmed", confirmed);
  const swept = new Set(
    booked.filter((one) => one.account.type === "deposit").map((one) => one.account.id),
  );
  await scheduleSweeps(tx, actor, [...swept]);
}

/**
 * Marks a deposit that the chain no longer has as ORPHANED.
 *
 * @param denied the error of a deposit that the quorum denies; nodes are asked for it again later
 */
export async function orphanDeposit(
  tx: Tx,
  actor: Actor,
  deposit: Pick<DepositRow, "id" | "block_hash">,
  denied: unknown = null,
): Promise<void> {
  const row = await lockPending(tx, deposit.id, deposit.block_hash);
  if (row !== null) await orphan(tx, actor, [row], { error: denied, again: denied !== null });
}

async function orphan(
  tx: Tx,
  actor: Actor,
  rows: readonly DepositRow[],
  how: { error: unknown; again?: boolean },
): Promise<void> {
  if (rows.length === 0) return;
  const orphaned = await markOrphaned(tx, rows.map(({ id }) => id), { ...how, at: actor.at });
  await tellDeposits(tx, actor, "deposit.orphaned", orphaned);
}
