/** A realm's settings of events and webhooks. @module */
import { z } from "zod";
import { FreeForm } from "./entity.ts";

const Days = z.number().int().min(1).max(365);

/** A realm's settings of events: free-form, but for how long events are kept. */
export const EventSettings: typeof FreeForm = FreeForm.refine(
  (settings) => Days.optional().safeParse(settings.retention_days).success,
  { path: ["retention_days"], message: "a whole number from 1 to 365 is expected" },
).meta({
  id: "EventSettings",
  description: "`retention_days`: how long events are kept, from 1 to 365 days; 30 unless given.",
});

/** Days that the realm keeps events; undefined where it does not say. */
export function eventDays(settings: Record<string, unknown>): number | undefined {
  const { retention_days } = (settings.webhooks ?? {}) as { retention_days?: unknown };
  return Days.safeParse(retention_days).data;
}
