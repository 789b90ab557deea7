/**
 * Chains over time: samples of how far they are scanned, which workers take each minute. They are kept for 30 days, one of
 * each hour for two years.
 * @module
 */
import { z } from "zod";
import { type ChainSampleRow, selectChainSamples } from "../../db/chains/chain_samples.ts";
import type { Db } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { type ChainId, CHAINS } from "../assets.ts";
import type { ChainSettings } from "../installation_settings.ts";
import { invalidQuery } from "../collections/filter.ts";
import { assertOrder, momentsOf, Points, Until } from "../collections/moments.ts";
import { Flag, Timestamp } from "../entity.ts";
import { lagOf } from "./chain_status.ts";
import { networkOf } from "./networks.ts";

const DAY_MS = 86_400_000;

/** Which samples are asked for. */
export const ChainHistoryOf = z.strictObject({
  chain: z.enum(CHAINS.map((chain) => chain.id) as [ChainId, ...ChainId[]]),
  testnet: Flag.default(false),
  from: Timestamp.optional().meta({
    description: "Milliseconds since the epoch, included; a day before `to` unless given.",
  }),
  to: Until,
  points: Points,
});
/** Which samples are asked for. */
export type ChainHistoryOf = z.infer<typeof ChainHistoryOf>;

/** A chain over time as shown. */
export const ChainHistoryView = z.object({
  chain: z.string().meta({ description: "Identifier of the chain.", example: "ETHEREUM" }),
  network: z.string(),
  testnet: z.boolean(),
  from: z.number().int(),
  to: z.number().int(),
  points: z.array(z.object({
    sampled_at: z.number().int(),
    height: z.number().int().meta({ description: "The newest block seen until then." }),
    scanned: z.number().int().meta({ description: "The last block scanned." }),
    lag: z.number().int().meta({ description: "Blocks seen and not yet scanned." }),
    scanned_at: z.number().int().meta({
      description: "When a node last answered. Where that is long before, `lag` tells nothing.",
    }),
    healthy: z.boolean(),
  })),
}).meta({ id: "ChainHistory" });

/**
 * Shows how far a chain was scanned at evenly spaced moments: the last sample until each, none of them twice.
 *
 * @throws {DomainError} query.invalid
 */
export async function chainOver(
  db: Db,
  actor: Actor,
  settings: ChainSettings,
  input: ChainHistoryOf,
): Promise<z.infer<typeof ChainHistoryView>> {
  assertOrder(input);
  const { chain, testnet } = input;
  const to = Math.min(input.to ?? actor.at, actor.at);
  const from = input.from ?? Math.max(0, to - DAY_MS);
  if (from > to) throw invalidQuery("/from", "a time that has passed is expected");
  const network = networkOf(settings, chain, testnet);
  const moments = momentsOf(from, to, input.points);
  const rows = await selectChainSamples(db, { chain, network }, moments);
  return { chain, network, testnet, from, to, points: rows.map(viewSample) };
}

function viewSample({ sampled_at, height, scanned, scanned_at, healthy }: ChainSampleRow) {
  return { sampled_at, height, scanned, lag: lagOf(height, scanned), scanned_at, healthy };
}
