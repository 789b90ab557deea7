/**
 * How many addresses a customer has that nothing came to, and how many of others it has linked. Each is watched, costs
 * nodes and rows, and is made for the price of a request.
 * @module
 */
import { countUnusedAddresses } from "../../db/accounts/unused_addresses.ts";
import { countLinked } from "../../db/accounts/external_addresses.ts";
import type { Tx } from "../../db/database.ts";
import type { LedgerTx } from "../../db/transaction.ts";
import { selectCustomerOf } from "../../db/identity/users.ts";
import type { Actor } from "../actor.ts";
import { LINKED_ADDRESSES, UNUSED_ADDRESSES } from "../chain_settings.ts";
import { DomainError } from "../errors.ts";

/** When a refused caller may try again: nobody knows when a deposit will come. */
const RETRY_AFTER_S = 3600;
/** The part that users whom a customer has made leave to itself. */
const OF_CUSTOMER = 0.1;

/**
 * Refuses a customer another address or ramp while too many of its have had no deposit, however many users it has made. One
 * of these has never more than are free for the others, and all of them leave a tenth to the customer itself. Those who
 * work for the realm have no limit. Two at once are counted one after the other, by the ledger lock.
 *
 * @throws {DomainError} rate.limited
 */
export async function assertMayHaveAddress(tx: LedgerTx, actor: Actor): Promise<void> {
  const most = actor.realm.unusedAddresses ?? UNUSED_ADDRESSES;
  const refused = await beyond(tx, actor, most, countUnusedAddresses);
  if (refused === null) return;
  const why = `a customer has at most ${most} addresses without a credited deposit${refused}`;
  throw new DomainError("rate.limited", why, { retryAfterS: RETRY_AFTER_S });
}

/**
 * Refuses a customer another linked address in the same way: of two at once one is counted anew, as the transaction is
 * serializable.
 *
 * @throws {DomainError} rate.limited
 */
export async function assertMayLink(tx: Tx, actor: Actor): Promise<void> {
  const most = actor.realm.linkedAddresses ?? LINKED_ADDRESSES;
  const refused = await beyond(tx, actor, most, countLinked);
  if (refused === null) return;
  const why = `a customer has at most ${most} linked addresses: unassign one first${refused}`;
  throw new DomainError("rate.limited", why, { retryAfterS: RETRY_AFTER_S });
}

/** Null where the actor may have one more; else what is to be said besides. */
async function beyond(
  tx: Tx,
  { user }: Actor,
  most: number,
  count: typeof countLinked,
): Promise<string | null> {
  const customer = await selectCustomerOf(tx, user);
  if (customer === null) return null;
  const { all, own } = await count(tx, { customer, user, most });
  const isMade = user !== customer;
  const free = most - all - (isMade ? Math.floor(OF_CUSTOMER * most) : 0);
  if (isMade ? free > own : free > 0) return null;
  return isMade
    ? ", and one of the users that it made has no more than are free for the others"
    : "";
}
