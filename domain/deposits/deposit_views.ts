/** Views and events of deposits. @module */
import { z } from "zod";
import type { Tx } from "../../db/database.ts";
import type { DepositRow } from "../../db/deposits/deposits.ts";
import type { SweepRow } from "../../db/deposits/sweeps.ts";
import { AccountView } from "../accounts/accounts.ts";
import type { Actor } from "../actor.ts";
import { emitAll } from "../events.ts";
import { Failure } from "../entity.ts";
import { DecimalText, trim } from "../money.ts";
import { errorField } from "../errors.ts";

/** A deposit as shown. */
export const DepositView = z.object({
  id: z.string(),
  account: z.string(),
  beneficiary: z.string().nullable().meta({
    description:
      "The virtual account that the value goes on to, or that is credited itself; null " +
      "where it stays on a ramp.",
  }),
  source: z.object({ account: AccountView }).optional().meta({
    description: "With `populate=source.account`: `account` whole, at whose address it arrived, " +
      "if the caller may see it.",
  }),
  destination: z.object({ account: AccountView }).optional().meta({
    description: "With `populate=destination.account`: `beneficiary` whole, where there is one " +
      "that the caller may see.",
  }),
  address: z.string(),
  asset: z.string(),
  hash: z.string(),
  index: z.number().int(),
  block: z.number().int().nullable(),
  amount: DecimalText,
  confirmations: z.number().int(),
  status: z.enum(["PENDING", "CONFIRMED", "ORPHANED"]),
  forward: z.object({
    hash: z.string().nullable(),
    fee: DecimalText.nullable(),
    status: z.string(),
    error: z.unknown().optional().meta({ description: "Why it waits, or why it failed." }),
  }).nullable(),
  transaction: z.string().nullable(),
  address_data: z.record(z.string(), z.unknown()).nullable(),
  owner: z.string().nullable(),
  created_at: z.number().int(),
  updated_at: z.number().int().optional(),
  error: Failure,
  needs: z.number().int().optional().meta({
    description: "Confirmations at which it is credited, as this installation is set. Events do " +
      "not say it.",
  }),
  eta_s: z.number().int().nullable().optional().meta({
    description: "Estimated seconds until it is credited, at the chain's usual time between " +
      "blocks. Null where nobody can say: it is in no block yet, waits for something else, or " +
      "waits no more. Events do not say it.",
  }),
}).meta({ id: "Deposit" });

/** The states of a sweep as a deposit's `forward` shows them. */
export const FORWARD: Readonly<Record<SweepRow["state"], string>> = {
  new: "PENDING",
  waiting: "WAITING",
  topping: "PROCESSING",
  topped: "PROCESSING",
  sweeping: "PROCESSING",
  done: "DONE",
  failed: "FAILED",
};

/** Shows a deposit with its sweep, as its events do. */
export function viewDeposit(
  row: DepositRow,
  sweep: SweepRow | null = null,
): z.infer<typeof DepositView> {
  return {
    id: row.id,
    account: row.account,
    beneficiary: row.beneficiary,
    address: row.address,
    asset: row.asset,
    hash: row.hash,
    index: row.index,
    block: row.block,
    amount: trim(row.credited ?? row.amount),
    confirmations: row.confirmations,
    status: row.status,
    forward: sweep === null ? null : {
      hash: sweep.hash,
      fee: sweep.fee === null ? null : trim(sweep.fee),
      status: FORWARD[sweep.state],
      ...(sweep.error === null ? {} : { error: sweep.error }),
    },
    transaction: row.transaction,
    address_data: row.address_data,
    owner: row.owner,
    created_at: row.created_at,
    ...(row.updated_at === null ? {} : { updated_at: row.updated_at }),
    error: row.held === null ? row.error : errorField("chain.quarantined", row.held),
  };
}

/** Emits an event for each of some deposits. */
export async function tellDeposits(
  tx: Tx,
  actor: Actor,
  type: "deposit.pending" | "deposit.confirmed" | "deposit.orphaned" | "deposit.forwarded",
  rows: readonly DepositRow[],
  sweep: SweepRow | null = null,
): Promise<void> {
  const told = rows.map((row) => {
    return { id: row.id, owner: row.owner, view: viewDeposit(row, sweep) };
  });
  await emitAll(tx, actor, type, told);
}
