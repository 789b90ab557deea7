/** Moments that a series is asked for: evenly spaced, the first and the last included. @module */
import { z } from "zod";
import { Timestamp } from "../entity.ts";
import { invalidQuery } from "./filter.ts";

/** Most moments of an answer: each costs a look-up. */
const POINTS_MAX = 500;

/** How many moments a series has. */
export const Points: z.ZodDefault<z.ZodCoercedNumber<unknown>> = z.coerce.number().int().min(2)
  .max(POINTS_MAX).default(100).meta({
    description: "How many moments, the first at `from` and the last at `to`.",
  });

/** The end of a series. */
export const Until: z.ZodOptional<typeof Timestamp> = Timestamp.optional().meta({
  description: "Milliseconds since the epoch, included; the present unless given.",
});

/**
 * Refuses a range that ends before it begins.
 *
 * @throws {DomainError} query.invalid
 */
export function assertOrder({ from, to }: { from?: number; to?: number }): void {
  if (from === undefined || to === undefined || to >= from) return;
  throw invalidQuery("/to", "a time not before from is expected");
}

/** Evenly spaced moments from one to another, in whole milliseconds; none of them twice. */
export function momentsOf(from: number, to: number, points: number): number[] {
  const step = (to - from) / (points - 1);
  const moments = Array.from({ length: points }, (_, i) => from + Math.floor(step * i));
  moments[points - 1] = to;
  return [...new Set(moments)];
}
