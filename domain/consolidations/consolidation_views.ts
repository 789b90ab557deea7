/** Consolidations: input schemas and views. @module */
import { z } from "zod";
import type { ConsolidationRow } from "../../db/consolidations/consolidations.ts";
import { type ChainId, explorerUrl } from "../assets.ts";
import { PageFields } from "../collections/collection_parameters.ts";
import { Failure, FreeForm } from "../entity.ts";
import { Speed } from "../sending/fees.ts";
import { Amount, DecimalText, trim } from "../money.ts";

const FeeCeilingFields = {
  max_fee: Amount.optional().meta({
    description: "The most that it may cost, in whole units. Unset: whatever its size comes to.",
  }),
  max_fee_rate: Amount.optional().meta({
    description:
      "The most that 1000 virtual bytes may cost, in whole units. Unset: the rate up to " +
      "which fees count as low, 0.00005 BTC, 0.00005 LTC, 0.00002 BCH, 0.02 DOGE.",
  }),
};

/** A request for a consolidation. */
export const NewConsolidation = z.strictObject({
  speed: Speed.default("slow"),
  ...FeeCeilingFields,
  data: FreeForm.default({}),
}).meta({ id: "NewConsolidation" });
/** A request for a consolidation. */
export type NewConsolidation = z.infer<typeof NewConsolidation>;

/** A request to speed up a consolidation. */
export const ConsolidationSpeedUp = z.strictObject({ speed: Speed, ...FeeCeilingFields })
  .meta({ id: "ConsolidationSpeedUp" });
/** A request to speed up a consolidation. */
export type ConsolidationSpeedUp = z.infer<typeof ConsolidationSpeedUp>;

const Status = z.enum(["PROCESSING", "DONE", "FAILED"]);

/** Which consolidations of a ramp are listed. */
export const ConsolidationList = z.strictObject({
  status: Status.optional(),
  ...PageFields,
});
/** Which consolidations of a ramp are listed. */
export type ConsolidationList = z.infer<typeof ConsolidationList>;

/** A consolidation as shown. */
export const ConsolidationView = z.object({
  id: z.string(),
  account: z.string(),
  address: z.string(),
  asset: z.string(),
  speed: Speed,
  max_fee: DecimalText.nullable(),
  max_fee_rate: DecimalText,
  coins: z.number().int().meta({
    description: "Coins that it is expected to spend; once it is planned, those it spends.",
  }),
  amount: DecimalText.meta({ description: "The sum of these coins." }),
  estimate: DecimalText.meta({ description: "The highest cost that was expected." }),
  fee: DecimalText.nullable().meta({ description: "The cost; null until it is planned." }),
  status: Status,
  chain: z.object({
    hash: z.string(),
    block: z.number().int().nullable(),
    confirmations: z.number().int(),
    explorer_url: z.string().nullable(),
  }).optional(),
  owner: z.string().nullable(),
  created_at: z.number().int(),
  updated_at: z.number().int().optional(),
  data: z.record(z.string(), z.unknown()),
  error: Failure,
}).meta({ id: "Consolidation" });

/** Shows a consolidation. */
export function viewConsolidation(row: ConsolidationRow): Record<string, unknown> {
  return {
    id: row.id,
    account: row.account,
    address: row.address,
    asset: row.asset,
    speed: row.speed,
    max_fee: row.max_fee === null ? null : trim(row.max_fee),
    max_fee_rate: trim(row.max_fee_rate),
    coins: row.coins,
    amount: trim(row.amount),
    estimate: trim(row.estimate),
    fee: row.fee === null ? null : trim(row.fee),
    status: row.status,
    ...(row.hash === null ? {} : { chain: chainOf(row, row.hash) }),
    owner: row.owner,
    created_at: row.created_at,
    ...(row.updated_at === null ? {} : { updated_at: row.updated_at }),
    data: row.data,
    error: row.error,
  };
}

function chainOf(row: ConsolidationRow, hash: string): Record<string, unknown> {
  return {
    hash,
    block: row.height,
    confirmations: row.confirmations,
    explorer_url: explorerUrl(row.chain as ChainId, row.network, hash),
  };
}
