/** Views of withdrawals. @module */
import { z } from "zod";
import { HISTORY_EVENTS, type WithdrawalRow } from "../../db/withdrawals/withdrawals.ts";
import { type ChainId, explorerUrl } from "../assets.ts";
import { EntityFields, idOf, viewEntity } from "../entity.ts";
import { Speed } from "../sending/fees.ts";
import { jsonNumber, subtract, trim } from "../money.ts";

/** A JSON number that carries exact digits. */
const Figure = z.number();

/** A withdrawal as shown. */
export const WithdrawalView = z.object({
  id: z.string(),
  source: z.object({
    account: idOf("Account"),
    ramp: z.string(),
    address: z.string(),
  }),
  destination: z.object({ address: z.string() }),
  asset: z.string(),
  value: Figure,
  fee: z.object({
    paid_by: z.enum(["sender", "receiver"]),
    speed: Speed,
    value: Figure,
    gas: z.object({ asset: z.string(), value: Figure }).optional(),
  }),
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
    amount: jsonNumber(trim(row.amount)),
    status: row.status,
    ...(row.hash === null ? {} : { chain: chainOf(row, row.hash) }),
    history: row.history,
    ...viewEntity(row),
  };
}

function chainOf(row: WithdrawalRow, hash: string): Record<string, unknown> {
  const testnet = row.network !== "main";
  return {
    hash,
    ...(row.nonce === null ? {} : { nonce: row.nonce }),
    block: row.height,
    confirmations: row.confirmations,
    explorer_url: explorerUrl(row.chain as ChainId, testnet, hash),
  };
}
