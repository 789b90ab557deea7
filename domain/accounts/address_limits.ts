/**
 * How many addresses a customer has that nothing came to. Each is watched for ever, costs nodes and rows, and is made for
 * the price of a request.
 * @module
 */
import { countUnusedAddresses } from "../../db/accounts/unused_addresses.ts";
import type { LedgerTx } from "../../db/transaction.ts";
import { selectCustomerOf } from "../../db/identity/users.ts";
import type { Actor } from "../actor.ts";
import { UNUSED_ADDRESSES } from "../chain_settings.ts";
import { DomainError } from "../errors.ts";

/** When a refused caller may try again: nobody knows when a deposit will come. */
const RETRY_AFTER_S = 3600;

/**
 * Refuses a customer another address or ramp while too many of its have had no deposit, however many users it has made.
 * Those who work for the realm have no limit. Two at once are counted one after the other, by the ledger lock.
 *
 * @throws {DomainError} rate.limited
 */
export async function assertMayHaveAddress(tx: LedgerTx, actor: Actor): Promise<void> {
  const customer = await selectCustomerOf(tx, actor.user);
  if (customer === null) return;
  const most = actor.realm.unusedAddresses ?? UNUSED_ADDRESSES;
  if (await countUnusedAddresses(tx, { customer, most }) < most) return;
  const why = `a customer has at most ${most} addresses without a credited deposit`;
  throw new DomainError("rate.limited", why, { retryAfterS: RETRY_AFTER_S });
}
