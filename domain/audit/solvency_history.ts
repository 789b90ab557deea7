/**
 * Solvency over time: samples of the comparisons that workers make. They are kept for 30 days, one of each hour for
 * two years.
 * @module
 */
import { z } from "zod";
import type { Db } from "../../db/database.ts";
import { selectSolvencySamples, type SolvencySampleRow } from "../../db/audit/solvency_samples.ts";
import type { Actor } from "../actor.ts";
import { invalidQuery } from "../collections/filter.ts";
import { assertOrder, momentsOf, Points, Until } from "../collections/moments.ts";
import { Flag, Timestamp } from "../entity.ts";
import { DecimalText, trim } from "../money.ts";
import { assertRealmAdmin } from "../permissions.ts";

const DAY_MS = 86_400_000;

/** Which samples are asked for. */
export const SolvencyHistoryOf = z.strictObject({
  asset: z.string().min(1).max(40),
  testnet: Flag.default(false),
  from: Timestamp.optional().meta({
    description: "Milliseconds since the epoch, included; a day before `to` unless given.",
  }),
  to: Until,
  points: Points,
});
/** Which samples are asked for. */
export type SolvencyHistoryOf = z.infer<typeof SolvencyHistoryOf>;

/** Solvency over time as shown. */
export const SolvencyHistoryView = z.object({
  asset: z.string(),
  testnet: z.boolean(),
  from: z.number().int(),
  to: z.number().int(),
  points: z.array(z.object({
    checked_at: z.number().int(),
    height: z.number().int(),
    assets: DecimalText,
    liabilities: DecimalText,
    fees: DecimalText,
    pending: DecimalText,
    sending: DecimalText,
    drift: DecimalText,
    solvent: z.boolean(),
  })),
}).meta({ id: "SolvencyHistory" });

/**
 * Shows how chain and ledger compared at evenly spaced moments: the last sample until each, none of them twice.
 *
 * @throws {DomainError} permission.role, permission.scope, query.invalid
 */
export async function solvencyOver(
  db: Db,
  actor: Actor,
  input: SolvencyHistoryOf,
): Promise<z.infer<typeof SolvencyHistoryView>> {
  assertRealmAdmin(actor);
  assertOrder(input);
  const { asset, testnet } = input;
  const to = Math.min(input.to ?? actor.at, actor.at);
  const from = input.from ?? Math.max(0, to - DAY_MS);
  if (from > to) throw invalidQuery("/from", "a time that has passed is expected");
  const moments = momentsOf(from, to, input.points);
  const rows = await selectSolvencySamples(db, { asset, testnet }, moments);
  return { asset, testnet, from, to, points: rows.map(viewSample) };
}

function viewSample(row: SolvencySampleRow) {
  return {
    checked_at: row.checked_at,
    height: row.height,
    assets: trim(row.assets),
    liabilities: trim(row.liabilities),
    fees: trim(row.fees),
    pending: trim(row.pending),
    sending: trim(row.sending),
    drift: trim(row.drift),
    solvent: row.solvent,
  };
}
