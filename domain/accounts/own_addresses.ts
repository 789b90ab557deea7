/**
 * Addresses of our own. Those that a ramp will hand out are derived ahead and reserved, so that
 * nobody links one; and when one is reserved or handed out that is linked all the same, the link ends
 * and what came there is the ramp's.
 * @module
 */
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Db, Tx } from "../../db/database.ts";
import { endAssignments } from "../../db/accounts/external_addresses.ts";
import { insertReserved, isReserved, selectOwnAddress } from "../../db/accounts/own_addresses.ts";
import { type RampRow } from "../../db/accounts/ramps.ts";
import type { Actor } from "../actor.ts";
import { findAsset } from "../assets.ts";
import { DomainError } from "../errors.ts";

/** So many addresses of each ramp are reserved beyond the next one, */
export const RESERVED_AHEAD = 200;
/** and more are derived when fewer than these are left. */
const RESERVED_LEAST = RESERVED_AHEAD / 2;

/** Whether more addresses of a ramp are to be reserved. */
export function needsReserve(ramp: Pick<RampRow, "next_index" | "reserved">): boolean {
  return ramp.reserved - ramp.next_index < RESERVED_LEAST;
}

/** Reserves addresses of a ramp, from an index on. Links to them end. */
export async function reserveAddresses(
  tx: Tx,
  actor: Actor,
  of: { ramp: string; from: number; addresses: readonly string[] },
): Promise<void> {
  await endAssignments(tx, of.addresses, actor.at);
  await insertReserved(tx, { ...of, at: actor.at });
}

/**
 * Refuses to link an address that is ours or will be.
 *
 * @throws {DomainError} address.assigned
 */
export async function assertNotOurs(db: Db, address: string): Promise<void> {
  const own = await selectOwnAddress(db, address);
  if (own.length > 0 || await isReserved(db, address)) throw ours();
}

/** Says that an address is taken: the same whoever's it is, so that nobody learns whose. */
export function ours(): DomainError {
  return new DomainError("address.assigned", "the address is assigned, or the service's own");
}

/**
 * Refuses a payment to an address of ours where it would be stranded: one of another asset or
 * chain, or one that nobody was given yet.
 *
 * @param payment.fromRamp a ramp may send its coins to another ramp, which pays fees with them
 * @throws {DomainError} address.invalid
 */
export async function assertNotStranding(
  db: Db,
  payment: { place: NetworkKey; address: string; asset: string; fromRamp: boolean },
): Promise<void> {
  const { place, address, asset, fromRamp } = payment;
  const own = await selectOwnAddress(db, address);
  if (own.length === 0) {
    if (!await isReserved(db, address)) return;
    throw new DomainError("address.invalid", "the address is ours and nobody was given it yet");
  }
  const here = own.find((one) => one.chain === place.chain && one.network === place.network);
  if (here === undefined) {
    throw new DomainError("address.invalid", "the address is ours, and for another chain");
  }
  const isGas = fromRamp && here.ramp && findAsset(asset)?.contract === null;
  if (here.asset === asset || isGas) return;
  throw new DomainError("address.invalid", `the address is ours, and for ${here.asset}`);
}
