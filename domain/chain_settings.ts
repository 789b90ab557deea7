/** A realm's settings of chains. @module */
import { z } from "zod";
import { FreeForm } from "./entity.ts";

const PerDay = z.number().int().min(1).max(100_000);
/** Deposits at the linked addresses of one account that a day records unless the realm says otherwise. */
export const LINKED_PER_DAY = 1000;

const Addresses = z.number().int().min(0).max(100_000);
/** Addresses without a credited deposit that one customer has at most unless the realm says otherwise. */
export const UNUSED_ADDRESSES = 1000;

/** Linked addresses that one customer has at most unless the realm says otherwise. */
export const LINKED_ADDRESSES = 1000;

/** A realm's settings of chains: free-form, but for its limits. */
export const RealmChainSettings: typeof FreeForm = FreeForm.refine(
  (settings) => PerDay.optional().safeParse(settings.linked_deposits_per_day).success,
  { path: ["linked_deposits_per_day"], message: "a whole number from 1 to 100000 is expected" },
).refine(
  (settings) => Addresses.optional().safeParse(settings.unused_addresses).success,
  { path: ["unused_addresses"], message: "a whole number from 0 to 100000 is expected" },
).refine(
  (settings) => Addresses.optional().safeParse(settings.linked_addresses).success,
  { path: ["linked_addresses"], message: "a whole number from 0 to 100000 is expected" },
).meta({
  id: "RealmChainSettings",
  description: "`linked_deposits_per_day`: deposits that are recorded in 24 hours at the linked " +
    `addresses of one account, from 1 to 100000; ${LINKED_PER_DAY} unless given. Beyond it, the ` +
    "address is no longer watched (`address.paused`). `unused_addresses`: ramps and deposit addresses " +
    "without a credited deposit that one customer (a user of scope `own`, with all users that it made) " +
    `has at most, from 0 to 100000; ${UNUSED_ADDRESSES} unless given. \`linked_addresses\`: addresses that ` +
    `one customer has linked at a time at most, from 0 to 100000; ${LINKED_ADDRESSES} unless given.`,
});

/** Deposits at the linked addresses of one account that 24 hours record; undefined where the realm does not say. */
export function linkedPerDay(settings: Record<string, unknown>): number | undefined {
  const { linked_deposits_per_day: given } = (settings.chains ?? {}) as Record<string, unknown>;
  return PerDay.safeParse(given).data;
}

/** Addresses without a credited deposit that one customer has at most; undefined where the realm does not say. */
export function unusedAddresses(settings: Record<string, unknown>): number | undefined {
  const { unused_addresses: given } = (settings.chains ?? {}) as Record<string, unknown>;
  return Addresses.safeParse(given).data;
}

/** Addresses that one customer has linked at most; undefined where the realm does not say. */
export function linkedAddresses(settings: Record<string, unknown>): number | undefined {
  const { linked_addresses: given } = (settings.chains ?? {}) as Record<string, unknown>;
  return Addresses.safeParse(given).data;
}
