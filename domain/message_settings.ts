/** A realm's settings of messages. @module */
import { z } from "zod";
import { FreeForm } from "./entity.ts";

const PerDay = z.number().int().min(0).max(1_000_000);
/** Messages that one customer sends in 24 hours unless the realm says otherwise. */
export const CUSTOMER_PER_DAY = 200;

/** A realm's settings of messages: free-form, but for the limit of its customers. */
export const RealmMessageSettings: typeof FreeForm = FreeForm.refine(
  (settings) => PerDay.optional().safeParse(settings.customer_per_day).success,
  { path: ["customer_per_day"], message: "a whole number from 0 to 1000000 is expected" },
).meta({
  id: "RealmMessageSettings",
  description: "`customer_per_day`: messages that one customer (a user of scope `own`, with all " +
    `users that it made) sends in 24 hours, from 0 to 1000000; ${CUSTOMER_PER_DAY} unless given.`,
});

/** Messages that one customer sends in 24 hours; undefined where the realm does not say. */
export function customerMessagesPerDay(settings: Record<string, unknown>): number | undefined {
  const { customer_per_day: given } = (settings.messages ?? {}) as Record<string, unknown>;
  return PerDay.safeParse(given).data;
}
