/** Transfers between exchanges and accounts: input schemas and views. @module */
import { z } from "zod";
import type { RampTransferRow } from "../../db/exchanges/ramp_transfers.ts";
import { PageFields } from "../collections/collection_parameters.ts";
import { Failure, FreeForm, Id, text } from "../entity.ts";
import { Amount, DecimalText, trim } from "../money.ts";
import { Speed } from "../sending/fees.ts";
import { MaxFee } from "../withdrawals/withdrawal_checks.ts";

/** A request that an exchange pays to an account. */
export const NewRampDeposit = z.strictObject({
  account: Id.meta({ description: "A virtual account with a ramp, a ramp or a deposit account." }),
  asset: text(40),
  value: Amount,
  data: FreeForm.default({}),
}).meta({ id: "NewRampDeposit" });
/** A request that an exchange pays to an account. */
export type NewRampDeposit = z.infer<typeof NewRampDeposit>;

/** A request for a withdrawal to an exchange. */
export const NewRampWithdraw = z.strictObject({
  account: Id,
  asset: text(40),
  value: Amount,
  fee: z.strictObject({
    paid_by: z.enum(["sender", "receiver"]).default("sender"),
    speed: Speed.default("medium"),
  }).default({ paid_by: "sender", speed: "medium" }),
  max_fee: MaxFee.optional(),
  address: text(200).optional().meta({
    description: "The address that the exchange is expected to name; with another it fails.",
  }),
  data: FreeForm.default({}),
}).meta({ id: "NewRampWithdraw" });
/** A request for a withdrawal to an exchange. */
export type NewRampWithdraw = z.infer<typeof NewRampWithdraw>;

/** What a person knows about a transfer that waits for one. */
export const TransferResolution = z.strictObject({
  outcome: z.enum(["sent", "done", "failed"]).meta({
    description: "`sent`: the exchange pays under `reference`; again with another where that was " +
      "mistyped. `done`: the exchange has credited it. `failed`: it neither pays nor credits it.",
  }),
  reference: text(200).optional().meta({ description: "The exchange's id of it; with `sent`." }),
}).refine(
  ({ outcome, reference }) => (outcome === "sent") === (reference !== undefined),
  { path: ["reference"], message: "given with the outcome sent, and only then" },
).meta({ id: "TransferResolution" });
/** What a person knows about a transfer that waits for one. */
export type TransferResolution = z.infer<typeof TransferResolution>;

/** The status of a transfer, as shown. */
export const Status = z.enum(["PROCESSING", "UNCLEAR", "DONE", "FAILED"]);

/** Which transfers of an external ramp are listed. */
export const RampTransferList = z.strictObject({
  status: Status.optional(),
  ...PageFields,
});
/** Which transfers of an external ramp are listed. */
export type RampTransferList = z.infer<typeof RampTransferList>;

/** A transfer as shown. */
export const RampTransferView = z.object({
  id: z.string(),
  ramp: z.string(),
  kind: z.enum(["deposit", "withdraw"]),
  account: z.string(),
  asset: z.string(),
  value: DecimalText,
  max_fee: DecimalText.nullable().meta({ description: "Of a withdraw: that of its withdrawal." }),
  address: z.string().nullable(),
  status: Status.meta({
    description: "`UNCLEAR` waits for a person: the exchange cannot tell what became of it.",
  }),
  reason: z.string().nullable(),
  exchange: z.object({
    currency: z.string(),
    network: z.string(),
    reference: z.string().nullable(),
    status: z.string().nullable(),
    amount: DecimalText.nullable(),
    fee: DecimalText.nullable(),
  }).meta({ description: "The end at the exchange, as it tells it." }),
  claims: z.array(z.object({
    reference: z.string(),
    by: z.string(),
    at: z.number().int(),
  })).meta({ description: "The ids of its payment that persons named, oldest first." }),
  hash: z.string().nullable(),
  deposit: z.string().nullable(),
  withdrawal: z.string().nullable(),
  owner: z.string().nullable(),
  created_at: z.number().int(),
  updated_at: z.number().int().optional(),
  data: z.record(z.string(), z.unknown()),
  error: Failure,
}).meta({ id: "RampTransfer" });

const STATUS: Readonly<
  Record<RampTransferRow["state"], z.infer<typeof Status>>
> = {
  new: "PROCESSING",
  asking: "PROCESSING",
  sent: "PROCESSING",
  unclear: "UNCLEAR",
  done: "DONE",
  failed: "FAILED",
};

/** The states that are shown as a status. */
export function statesOf(status: z.infer<typeof Status>): string[] {
  return Object.entries(STATUS).filter(([, shown]) => shown === status).map(([state]) => state);
}

/** Shows a transfer. */
export function viewRampTransfer(row: RampTransferRow): Record<string, unknown> {
  const amount = (text: string | null) => text === null ? null : trim(text);
  return {
    id: row.id,
    ramp: row.external_ramp,
    kind: row.kind,
    account: row.account,
    asset: row.asset,
    value: trim(row.value),
    max_fee: amount(row.max_fee),
    address: row.address,
    status: STATUS[row.state],
    reason: row.state === "unclear" ? row.reason : null,
    exchange: {
      currency: row.currency,
      network: row.exchange_network,
      reference: row.reference ?? row.claimed,
      status: row.exchange_status,
      amount: amount(row.exchange_amount),
      fee: amount(row.exchange_fee),
    },
    claims: row.claims,
    hash: row.hash,
    deposit: row.deposit,
    withdrawal: row.withdrawal,
    owner: row.owner,
    created_at: row.created_at,
    ...(row.updated_at === null ? {} : { updated_at: row.updated_at }),
    data: row.data,
    error: row.error,
  };
}
