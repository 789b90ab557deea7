/**
 * Deposits: what arrived from a chain. One is seen, shown, and counts when it lies deep enough; then
 * it is booked once and for all, under the key (chain, network, transaction, index).
 * @module
 */
import { selectAccount } from "../db/accounts.ts";
import type { Db, Tx } from "../db/database.ts";
import {
  type DepositRow,
  lockPending,
  markConfirmed,
  markDepositError,
  markOrphaned,
  selectDeposit,
} from "../db/deposits.ts";
import type { Actor } from "./actor.ts";
import { noteDeposit } from "./deposit_apps.ts";
import { tellDeposit, trouble } from "./deposit_views.ts";
import { DomainError } from "./errors.ts";
import { isId } from "./ids.ts";
import { counterparty, postMove } from "./ledger.ts";
import { fromUnits } from "./money.ts";
import { assertMay, notFound } from "./permissions.ts";
import { forwardLater } from "./sweeps.ts";

export { type DepositRow } from "../db/deposits.ts";

/** A transfer read again at depth: what the address really gained, in base units. */
export interface Proof {
  deposit: DepositRow;
  received: bigint;
}

/**
 * Books deposits that lie deep enough, each once, in a transaction that holds the gate. One that
 * moved meanwhile is left for later; one that brought nothing is given up.
 */
export async function creditDeposits(
  tx: Tx,
  actor: Actor,
  proofs: readonly Proof[],
): Promise<void> {
  for (const proof of proofs) {
    const row = await lockPending(tx, proof.deposit.id, proof.deposit.block_hash);
    if (row === null) continue;
    if (proof.received === 0n) {
      await giveUp(tx, actor, row, "the transfer brought nothing: the token kept it, or lied");
      continue;
    }
    try {
      await tx.savepoint((sp) => credit(sp, actor, row, proof.received));
    } catch (error) {
      // One account that takes nothing must not stop the deposits of others.
      if (!(error instanceof DomainError)) throw error;
      await markDepositError(tx, row.id, trouble(error.code, error.message));
    }
  }
}

async function credit(tx: Tx, actor: Actor, row: DepositRow, received: bigint): Promise<void> {
  const account = (await selectAccount(tx, row.account))!;
  const credited = fromUnits(received, account.decimals);
  const { asset, testnet, decimals } = account;
  const world = await counterparty(tx, actor, "world", { code: asset, decimals, testnet });
  const posted = await postMove(tx, actor, {
    type: "deposit",
    source: world,
    destination: row.account,
    amount: credited,
    seal: { chain: row.chain, network: row.network, hash: row.hash, index: row.index },
    addressData: row.address_data,
  }, { force: true });
  const app = await noteDeposit(tx, actor, row.account);
  const how = { credited, transaction: posted.id, app, at: actor.at };
  const confirmed = await markConfirmed(tx, row.id, how);
  await tellDeposit(tx, actor, "deposit.confirmed", confirmed);
  if (account.type !== "deposit") return;
  await forwardLater(tx, actor, account.id);
}

/** Gives up a deposit that the chain no longer has. */
export async function orphanDeposit(
  tx: Tx,
  actor: Actor,
  deposit: Pick<DepositRow, "id" | "block_hash">,
): Promise<void> {
  const row = await lockPending(tx, deposit.id, deposit.block_hash);
  if (row !== null) await giveUp(tx, actor, row, null);
}

async function giveUp(
  tx: Tx,
  actor: Actor,
  row: DepositRow,
  why: string | null,
): Promise<void> {
  const error = why === null ? null : trouble("deposit.not_found", why);
  const orphaned = await markOrphaned(tx, row.id, { error, at: actor.at });
  await tellDeposit(tx, actor, "deposit.orphaned", orphaned);
}

/**
 * Finds a deposit that the actor may see.
 *
 * @throws {DomainError} deposit.not_found
 */
export async function findDeposit(db: Db, actor: Actor, id: string): Promise<DepositRow> {
  const row = isId(id) ? await selectDeposit(db, id) : null;
  if (row === null) throw notFound("deposit.not_found");
  assertMay(actor, "read", { owner: row.owner, what: "deposit.not_found" });
  return row;
}
