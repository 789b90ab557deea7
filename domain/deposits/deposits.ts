/**
 * Deposits: what arrived from a chain. One is seen, shown, and counts when it lies deep enough; then
 * it is booked once and for all, under the key (chain, network, transaction, index).
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { type AccountRow, selectAccounts } from "../../db/accounts/accounts.ts";
import type { Tx } from "../../db/database.ts";
import { selectAppAccounts } from "../../db/deposits/deposit_apps.ts";
import {
  type DepositRow,
  lockAllPending,
  lockPending,
  markConfirmed,
  markOrphaned,
  putOffDeposit,
} from "../../db/deposits/deposits.ts";
import { applyMoves } from "../../db/ledger/posting.ts";
import type { Move } from "../../db/ledger/posting_protocol.ts";
import type { Actor } from "../actor.ts";
import { noteDeposit } from "./deposit_apps.ts";
import { tellDeposit } from "./deposit_views.ts";
import { counterparty, refusal } from "../ledger/posting.ts";
import { fromUnits } from "../money.ts";
import { scheduleSweep } from "./sweeps.ts";
import { errorField } from "../errors.ts";

export { type DepositRow } from "../../db/deposits/deposits.ts";

/** A transfer read again at depth: what the address really gained, in base units. */
export interface Proof {
  deposit: DepositRow;
  received: bigint;
}

/** A deposit that is about to be booked. */
interface Booking {
  row: DepositRow;
  account: AccountRow;
  /** Whole units. */
  credited: string;
  move: Move;
}

/** A deposit that was booked. */
interface Booked extends Booking {
  transaction: string;
}

/**
 * Books deposits that lie deep enough, each once, in a transaction that holds the ledger lock. One that
 * moved meanwhile is left for later; one that brought nothing is given up; one that the ledger refuses
 * says so, is tried again, and does not stop the others. A deleted account is credited all the same:
 * what arrived is its holder's, and shown again when it is restored.
 */
export async function creditDeposits(
  tx: LedgerTx,
  actor: Actor,
  proofs: readonly Proof[],
): Promise<void> {
  const received = new Map(proofs.map((proof) => [proof.deposit.id, proof.received]));
  const pending = await lockAllPending(
    tx,
    proofs.map(({ deposit }) => ({ id: deposit.id, block_hash: deposit.block_hash })),
  );
  const rows = pending.filter((row) => received.get(row.id)! > 0n);
  for (const row of pending.filter((one) => received.get(one.id) === 0n)) {
    await giveUp(tx, actor, row, "the transfer brought nothing: the token kept it, or lied");
  }
  if (rows.length === 0) return;
  const bookings = await bookingsOf(tx, actor, { rows, received });
  const outcomes = await applyMoves(tx, bookings.map((one) => one.move), {
    type: "deposit",
    force: true,
  });
  const booked: Booked[] = [];
  for (const [at, outcome] of outcomes.entries()) {
    if ("posted" in outcome) booked.push({ ...bookings[at], transaction: outcome.posted.id });
    else if ("refused" in outcome) {
      const { code, message } = refusal(outcome.refused, true);
      await putOffDeposit(tx, bookings[at].row.id, errorField(code, message));
    }
  }
  await confirm(tx, actor, booked);
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

/** Marks what was booked, tells of it, and has it go on where it belongs. */
async function confirm(tx: Tx, actor: Actor, booked: readonly Booked[]): Promise<void> {
  const accounts = [...new Set(booked.map((one) => one.account.id))];
  const apps = await selectAppAccounts(tx, accounts);
  for (const account of apps.keys()) await noteDeposit(tx, actor, account);
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
  for (const row of confirmed) await tellDeposit(tx, actor, "deposit.confirmed", row);
  const forwarding = new Set(
    booked.filter((one) => one.account.type === "deposit").map((one) => one.account.id),
  );
  for (const account of forwarding) await scheduleSweep(tx, actor, account);
}

/**
 * Gives up a deposit that the chain no longer has.
 *
 * @param denied what is said of one that nodes deny, and that is asked for again
 */
export async function orphanDeposit(
  tx: Tx,
  actor: Actor,
  deposit: Pick<DepositRow, "id" | "block_hash">,
  denied: unknown = null,
): Promise<void> {
  const row = await lockPending(tx, deposit.id, deposit.block_hash);
  if (row !== null) await orphan(tx, actor, row, { error: denied, again: denied !== null });
}

async function giveUp(tx: Tx, actor: Actor, row: DepositRow, why: string): Promise<void> {
  await orphan(tx, actor, row, { error: errorField("deposit.not_found", why) });
}

async function orphan(
  tx: Tx,
  actor: Actor,
  row: DepositRow,
  how: { error: unknown; again?: boolean },
): Promise<void> {
  const orphaned = await markOrphaned(tx, row.id, { ...how, at: actor.at });
  await tellDeposit(tx, actor, "deposit.orphaned", orphaned);
}
