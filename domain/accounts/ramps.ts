/**
 * Ramps: the accounts that connect the ledger to a chain. A ramp has a number on its chain, an xpub
 * below which its addresses lie, and an address of its own (index 0). This module has no keys.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { type AccountRow, selectAccount } from "../../db/accounts/accounts.ts";
import type { Tx } from "../../db/database.ts";
import { insertRamp, markAccountError } from "../../db/accounts/ramps.ts";
import type { Actor } from "../actor.ts";
import { type Asset, takesDeposits } from "../assets.ts";
import { DomainError } from "../errors.ts";
import { isId } from "../ids.ts";
import { enqueue } from "../jobs.ts";
import { assertMay, notFound } from "../permissions.ts";
import type { ChainNetwork } from "../chains/networks.ts";

/**
 * Refuses assets that no chain can deliver.
 *
 * @throws {DomainError} asset.unknown for a virtual currency, asset.suspended
 */
export function assertReceivable(asset: Asset | null): asserts asset is Asset {
  if (asset === null) {
    throw new DomainError("asset.unknown", "a virtual currency lives on no chain");
  }
  if (!takesDeposits(asset)) {
    throw new DomainError("asset.suspended", asset.reason ?? `${asset.code} takes no deposits`);
  }
}

/**
 * Gives a new ramp account its number; a worker derives its xpub and address, then enables it.
 *
 * @throws {DomainError} chain.quarantined
 */
export async function registerRamp(
  tx: Tx,
  actor: Actor,
  account: AccountRow,
  place: ChainNetwork,
): Promise<void> {
  if (!await insertRamp(tx, { account: account.id, ...place, created_at: actor.at })) {
    const why = "no ramp is made before a worker has confirmed that the database is the newest";
    throw new DomainError("chain.quarantined", why);
  }
  await enqueue(tx, actor, "ramp.open", { account: account.id });
}

/** Records why a ramp cannot be opened; it stays disabled. */
export async function refuseRamp(tx: LedgerTx, account: string, detail: string): Promise<void> {
  await markAccountError(tx, account, { code: "token.invalid", detail });
}

/**
 * Finds the ramp of a virtual account.
 *
 * @throws {DomainError} ramp.not_found, account.asset_mismatch
 */
export async function resolveRamp(
  tx: Tx,
  actor: Actor,
  id: string,
  of: { asset: string; testnet: boolean },
): Promise<AccountRow> {
  const ramp = isId(id) ? await selectAccount(tx, id) : null;
  if (ramp === null || ramp.deleted_at !== null || ramp.type !== "ramp") {
    throw notFound("ramp.not_found", "/ramp");
  }
  assertMay(actor, "read", { owner: ramp.owner, what: "ramp.not_found", path: "/ramp" });
  if (ramp.asset !== of.asset || ramp.testnet !== of.testnet) {
    throw new DomainError("account.asset_mismatch", "the ramp is of another asset or network");
  }
  return ramp;
}
