/**
 * Own addresses. A ramp's next addresses are derived ahead and reserved, so nobody can link one. If
 * a linked address is reserved or handed out all the same, the link ends and its deposits belong to
 * the ramp.
 * @module
 */
import type { NetworkKey } from "../../db/chains/cursors.ts";
import type { Db, Tx } from "../../db/database.ts";
import { endAssignments } from "../../db/accounts/external_addresses.ts";
import { insertReserved, selectOwnAddress } from "../../db/accounts/own_addresses.ts";
import { type RampRow } from "../../db/accounts/ramps.ts";
import type { Actor } from "../actor.ts";
import { findAsset } from "../assets.ts";
import { DomainError } from "../errors.ts";

/** Addresses of each ramp that are reserved beyond the next one. */
export const RESERVED_AHEAD = 200;
/** More addresses are derived when fewer than these are left. */
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
 * Refuses to link an own address, handed out or reserved.
 *
 * @throws {DomainError} address.assigned
 */
export async function assertNotOurs(db: Db, address: string): Promise<void> {
  const { uses, reserved } = await selectOwnAddress(db, address);
  if (uses.length > 0 || reserved) throw ours();
}

/**
 * The refusal of an address that is taken; the same for every owner, so it does not reveal the
 * owner.
 */
export function ours(): DomainError {
  return new DomainError("address.assigned", "the address is assigned, or the service's own");
}

/**
 * Refuses a payment to an own address where it would be stranded: an address of another asset or
 * chain, or one that was not handed out yet.
 *
 * @param payment.fromRamp a ramp may send its coins to another ramp, which pays fees with them
 * @throws {DomainError} address.invalid
 */
export async function assertNotStranding(
  db: Db,
  payment: { place: NetworkKey; address: string; asset: string; fromRamp: boolean },
): Promise<void> {
  const { place, address, asset, fromRamp } = payment;
  const { uses, reserved } = await selectOwnAddress(db, address);
  if (uses.length === 0) {
    if (!reserved) return;
    throw new DomainError("address.invalid", "the address is ours and was not handed out yet");
  }
  const here = uses.find((one) => one.chain === place.chain && one.network === place.network);
  if (here === undefined) {
    throw new DomainError("address.invalid", "the address is ours, and for another chain");
  }
  const isGas = fromRamp && here.ramp && findAsset(asset)?.contract === null;
  if (here.asset === asset || isGas) return;
  throw new DomainError("address.invalid", `the address is ours, and for ${here.asset}`);
}
