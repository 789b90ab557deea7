/** Views of withdrawals. @module */
import { z } from "zod";
import { HISTORY_EVENTS, type WithdrawalRow } from "../../db/withdrawals/withdrawals.ts";
import { AccountView } from "../accounts/accounts.ts";
import { type ChainId, explorerUrl } from "../assets.ts";
import { EntityFields, idOf, viewEntity } from "../entity.ts";
import { ERROR_CODES } from "../errors.ts";
import { Speed } from "../sending/fees.ts";
import { PayingOrderView } from "../sending/order_views.ts";
import { DecimalText, jsonNumber, subtract, trim } from "../money.ts";

/** A JSON number that carries exact digits. */
const Figure = z.number();

const Act = z.union([z.literal(true), z.enum(ERROR_CODES)]).meta({
  id: "WithdrawalAct",
  description: "`true`, or the code of the problem that would refuse it.",
});

/** What a speed-up changes. */
const SpeedUp = z.object({
  fee: z.object({ before: Figure, after: Figure }).meta({
    description: "What the withdrawal is charged for its fee, in its own asset.",
  }),
  price: z.object({ asset: z.string(), before: Figure.nullable(), after: Figure }).meta({
    description: "What the transaction was reckoned to cost when it was charged (`null` where " +
      "nobody is), and what by the newest prices. In the asset that pays the network.",
  }),
  replaces: z.boolean().meta({
    description: "Whether a sent transaction is replaced; `false` before one is sent.",
  }),
}).meta({ id: "WithdrawalSpeedUp" });

/** A withdrawal as shown. */
export const WithdrawalView = z.object({
  id: z.string(),
  source: z.object({
    account: idOf("Account"),
    ramp: z.string(),
    address: z.string(),
  }),
  destination: z.object({
    address: z.string(),
    account: AccountView.optional().meta({
      description: "With `populate=destination.account`: the account of this realm whose " +
        "address it is, if the caller may see it.",
    }),
  }),
  asset: z.string(),
  value: Figure,
  fee: z.object({
    paid_by: z.enum(["sender", "receiver"]),
    speed: Speed,
    value: Figure,
    gas: z.object({ asset: z.string(), value: Figure }).optional(),
  }),
  max_fee: DecimalText.nullable(),
  amount: Figure,
  status: z.enum(["PROCESSING", "DONE", "FAILED", "CANCELED"]),
  chain: z.object({
    hash: z.string(),
    nonce: z.number().int().optional(),
    block: z.number().int().nullable(),
    confirmations: z.number().int(),
    explorer_url: z.string().nullable(),
  }).optional(),
  history: z.array(z.looseObject({ at: z.number().int(), event: z.enum(HISTORY_EVENTS) })),
  order: PayingOrderView.optional().meta({
    description: "Of one withdrawal that an administrator of the realm reads by its id: the " +
      "transaction that pays it.",
  }),
  acts: z.object({ cancel: Act, speed_up: Act }).optional().meta({
    description: "Of one withdrawal that is read by its id: what the caller may do with it now. " +
      "Whether balance and gas cover the price of a speed-up is told by its dry run.",
  }),
  speed_up: SpeedUp.optional().meta({ description: "Of a speed-up, or a dry run of one." }),
  ...EntityFields,
}).meta({ id: "Withdrawal" });

/** Shows a withdrawal. */
export function viewWithdrawal(row: WithdrawalRow): Record<string, unknown> {
  return {
    id: row.id,
    source: { account: row.account, ramp: row.ramp, address: row.sender },
    destination: { address: row.destination },
    asset: row.asset,
    value: jsonNumber(trim(row.value)),
    fee: {
      paid_by: row.paid_by,
      speed: row.speed,
      value: jsonNumber(trim(subtract(row.fee, row.returned))),
      ...(row.gas_asset === null
        ? {}
        : { gas: { asset: row.gas_asset, value: jsonNumber(trim(row.gas!)) } }),
    },
    max_fee: row.max_fee === null ? null : trim(row.max_fee),
    amount: jsonNumber(trim(row.amount)),
    status: row.status,
    ...(row.hash === null ? {} : { chain: chainOf(row, row.hash) }),
    history: row.history,
    ...viewEntity(row),
  };
}

function chainOf(row: WithdrawalRow, hash: string): Record<string, unknown> {
  return {
    hash,
    ...(row.nonce === null ? {} : { nonce: row.nonce }),
    block: row.height,
    confirmations: row.confirmations,
    explorer_url: explorerUrl(row.chain as ChainId, row.network, hash),
  };
}
