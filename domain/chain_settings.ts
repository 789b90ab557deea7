/** A realm's settings of chains. @module */
import { z } from "zod";
import { FreeForm } from "./entity.ts";

const PerDay = z.number().int().min(1).max(100_000);
/** Deposits at the linked addresses of one account that a day records unless the realm says otherwise. */
export const LINKED_PER_DAY = 1000;

/** A realm's settings of chains: free-form, but for the limit of linked deposits. */
export const RealmChainSettings: typeof FreeForm = FreeForm.refine(
  (settings) => PerDay.optional().safeParse(settings.linked_deposits_per_day).success,
  "linked_deposits_per_day is a whole number from 1 to 100000",
).meta({
  id: "RealmChainSettings",
  description: "`linked_deposits_per_day`: deposits that are recorded in 24 hours at the linked " +
    `addresses of one account, from 1 to 100000; ${LINKED_PER_DAY} unless given. Beyond it, the ` +
    "address is no longer watched (`address.paused`).",
});

/** Deposits at the linked addresses of one account that 24 hours record; undefined where the realm does not say. */
export function linkedPerDay(settings: Record<string, unknown>): number | undefined {
  const { linked_deposits_per_day: given } = (settings.chains ?? {}) as Record<string, unknown>;
  return PerDay.safeParse(given).data;
}
