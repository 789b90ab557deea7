/**
 * Hands out own addresses. A link to such an address ends, and earlier deposits there belong to the
 * account that the address was given to.
 * @module
 */
import type { LedgerTx } from "../../db/transaction.ts";
import { endAssignments } from "../../db/accounts/external_addresses.ts";
import {
  handOverDeposits,
  insertDerived,
  type LinkedDeposit,
  selectHandedOut,
  type UnprovenRow,
} from "../../db/accounts/own_addresses.ts";
import { type AddressRow, insertAddress } from "../../db/accounts/ramps.ts";
import { reserveAddresses } from "../accounts/own_addresses.ts";
import type { Actor } from "../actor.ts";
import { errorField } from "../errors.ts";
import { counterparty, postMove } from "../ledger/posting.ts";

/**
 * Hands out an address. A link to it ends, and deposits there belong to the new account: linked
 * value is taken back, and credited like any deposit as soon as a worker has derived the address.
 * The transaction holds the ledger lock.
 */
export async function handOutAddress(
  tx: LedgerTx,
  actor: Actor,
  address: AddressRow,
): Promise<void> {
  await endAssignments(tx, [address.address], actor.at);
  await insertAddress(tx, address);
  await handOver(tx, actor, [address]);
}

/**
 * Records addresses that a worker derived after they were handed out. The transaction holds the
 * ledger lock.
 */
export async function proveAddresses(
  tx: LedgerTx,
  actor: Actor,
  rows: readonly UnprovenRow[],
): Promise<void> {
  await insertDerived(tx, rows, actor.at);
  await handOver(tx, actor, rows);
}

/**
 * Reserves addresses of a ramp, from an index on. Some may have been handed out while a worker derived them. The
 * transaction holds the ledger lock.
 */
export async function reserveFurther(
  tx: LedgerTx,
  actor: Actor,
  of: { ramp: string; from: number; addresses: readonly string[] },
): Promise<void> {
  await reserveAddresses(tx, actor, of);
  await handOver(tx, actor, await selectHandedOut(tx, of));
}

async function handOver(
  tx: LedgerTx,
  actor: Actor,
  addresses: readonly Pick<AddressRow, "id" | "asset">[],
): Promise<void> {
  const own = addresses.map(({ id, asset }) => ({
    ...{ id, error: errorField("address.invalid", `the address is one of ours for ${asset}`) },
  }));
  const linked = await handOverDeposits(tx, own, actor.at);
  for (const deposit of linked) await takeBack(tx, actor, deposit);
}

/** Takes linked value out of the account that showed it: it never belonged to that account. */
async function takeBack(tx: LedgerTx, actor: Actor, deposit: LinkedDeposit): Promise<void> {
  const { account, transaction, amount, asset: code, decimals, testnet } = deposit;
  const destination = await counterparty(tx, actor, "world", { code, decimals, testnet });
  const move = { type: "revert" as const, source: account, destination, amount };
  await postMove(tx, actor, { ...move, reverts: transaction });
}
