/** Figures of the records of a range as they are asked for and shown. @module */
import { z } from "zod";
import type { CountedPart, StatisticsRow } from "../../db/collections/statistics.ts";
import { Flag, Timestamp } from "../entity.ts";
import { idBound } from "../ids.ts";
import { invalidQuery } from "./filter.ts";
import { assertOrder, Until } from "./moments.ts";

const DAY_MS = 86_400_000;
/** Records that an answer reads at most: the newest of its range. */
const COUNTED_MAX = 20_000;

/** Which records are counted. */
export const StatisticsOf = z.strictObject({
  from: Timestamp.optional().meta({
    description: "Milliseconds since the epoch, included; a day before `to` unless given.",
  }),
  to: Until,
  asset: z.string().min(1).max(40).optional().meta({
    description: "Those of one asset alone, among the newest 20000 of the range.",
  }),
  testnet: Flag.default(false),
});
/** Which records are counted. */
export type StatisticsOf = z.infer<typeof StatisticsOf>;

/** What all statistics of records begin with, besides the counts. */
export const RANGE_VIEW = {
  testnet: z.boolean(),
  asset: z.string().nullable(),
  from: z.number().int(),
  to: z.number().int(),
  complete: z.boolean().meta({
    description: "Whether all of the range are counted; otherwise the newest are, from " +
      "`counted_from` on.",
  }),
  counted_from: z.number().int(),
  count: z.number().int(),
};

const Milliseconds = z.number().int().meta({ description: "Milliseconds." });

/** Shows how long the steps took, among the records that took them. */
export const StepsView = z.array(z.object({
  step: z.string(),
  count: z.number().int().meta({ description: "How many took it." }),
  p50: Milliseconds,
  p90: Milliseconds,
  p99: Milliseconds,
  max: Milliseconds,
}));

/** A range of records, and the statement's part for it. */
export interface StatisticsRange {
  from: number;
  to: number;
  part: CountedPart;
}

/**
 * Finds the range that is meant, both ends included.
 *
 * @throws {DomainError} query.invalid
 */
export function statisticsRange(now: number, input: StatisticsOf): StatisticsRange {
  assertOrder(input);
  const { testnet, asset = null } = input;
  const to = Math.min(input.to ?? now, now);
  const from = input.from ?? Math.max(0, to - DAY_MS);
  if (from > to) throw invalidQuery("/from", "a time that has passed is expected");
  const [after, until] = [idBound(from - 1), idBound(to)];
  return { from, to, part: { after, until, testnet, asset, limit: COUNTED_MAX } };
}

/** What all statistics of records show. */
export type StatisticsView = z.infer<z.ZodObject<typeof RANGE_VIEW>> & {
  steps: z.infer<typeof StepsView>;
};

/** Shows what all statistics of records have, with the steps in their order. */
export function viewStatistics(
  { from, to, part: { testnet, asset } }: StatisticsRange,
  { complete, oldest, count, steps }: StatisticsRow,
  order: readonly string[],
): StatisticsView {
  return {
    ...{ testnet, asset, from, to, complete },
    counted_from: complete || oldest === null ? from : oldest,
    count,
    steps: order.flatMap((name) => steps.filter(({ step }) => step === name)).map((
      { step, count, p50, p90, p99, max },
    ) => ({ step, count, p50, p90, p99, max })),
  };
}
