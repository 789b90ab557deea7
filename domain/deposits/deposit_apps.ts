/**
 * Deposit applications: each has an address of its own, and every deposit there is forwarded to one
 * virtual account.
 * @module
 */
import { z } from "zod";
import { selectAccount } from "../../db/accounts/accounts.ts";
import { type AddressRow, selectAddressOf } from "../../db/accounts/ramps.ts";
import type { Db, Tx } from "../../db/database.ts";
import {
  type DepositAppRow,
  selectDepositApp,
  selectDepositAppOf,
  selectDepositsOfApp,
  updateDepositApp,
} from "../../db/deposits/deposit_apps.ts";
import type { Actor } from "../actor.ts";
import { EntityFields, idOf, viewEntity } from "../entity.ts";
import { emit } from "../events.ts";
import { isId } from "../ids.ts";
import { assertMay, notFound } from "../permissions.ts";

/** A deposit application as shown. */
export const DepositAppView = z.object({
  id: z.string(),
  source: z.object({
    account: idOf("Account"),
    deposit_address: z.string().nullable(),
    owner: z.string().nullable(),
  }),
  destination: z.object({ account: idOf("Account"), owner: z.string().nullable() }),
  asset: z.string(),
  seal: z.record(z.string(), z.unknown()).nullable(),
  status: z.enum(["PENDING", "PROCESSING", "DONE", "FAILED"]),
  deposits: z.array(z.string()).optional(),
  ...EntityFields,
}).meta({ id: "DepositApplication" });

/** The parts of an application's view. */
export interface Parts {
  address: AddressRow | null;
  /** Owner of the target account. */
  target: string | null;
}

/**
 * Records that an application received a deposit; gives its id, or null if the account has none.
 */
export async function noteDeposit(tx: Tx, actor: Actor, account: string): Promise<string | null> {
  const app = await selectDepositAppOf(tx, account);
  if (app === null) return null;
  if (app.status !== "PROCESSING") await changeApp(tx, actor, app, "PROCESSING", null);
  return app.id;
}

/** Records that all deposits of an application were forwarded, or that forwarding failed. */
export async function settleApp(
  tx: Tx,
  actor: Actor,
  account: string,
  outcome: { status: "DONE" | "FAILED"; error: unknown },
): Promise<void> {
  const app = await selectDepositAppOf(tx, account);
  if (app !== null && app.status === "PROCESSING") {
    await changeApp(tx, actor, app, outcome.status, outcome.error);
  }
}

async function changeApp(
  tx: Tx,
  actor: Actor,
  app: DepositAppRow,
  status: DepositAppRow["status"],
  error: unknown,
): Promise<void> {
  const row = await updateDepositApp(tx, app.id, { status, error, at: actor.at });
  const view = viewDepositApp(row, await partsOf(tx, row));
  await emit(tx, actor, "app.deposit.updated", { id: row.id, owner: row.owner, view });
}

async function partsOf(db: Db, row: DepositAppRow): Promise<Parts> {
  return {
    address: await selectAddressOf(db, row.account),
    target: (await selectAccount(db, row.destination))?.owner ?? null,
  };
}

/** Shows an application. */
export function viewDepositApp(row: DepositAppRow, parts: Parts): Record<string, unknown> {
  return {
    id: row.id,
    source: {
      account: row.account,
      deposit_address: parts.address?.address ?? null,
      owner: parts.address?.owner ?? null,
    },
    destination: { account: row.destination, owner: parts.target },
    asset: row.asset,
    seal: row.seal,
    status: row.status,
    ...viewEntity(row),
  };
}

/** Reads the parts of an application's view and shows it. */
export async function viewWholeApp(db: Db, row: DepositAppRow): Promise<Record<string, unknown>> {
  return viewDepositApp(row, await partsOf(db, row));
}

/**
 * Finds an application that the actor may see, with the ids of its deposits.
 *
 * @throws {DomainError} deposit.not_found
 */
export async function findDepositApp(
  db: Db,
  actor: Actor,
  id: string,
): Promise<Record<string, unknown>> {
  const row = isId(id) ? await selectDepositApp(db, id) : null;
  if (row === null || row.deleted_at !== null) throw notFound("deposit.not_found");
  assertMay(actor, "read", { owner: row.owner, what: "deposit.not_found" });
  return { ...await viewWholeApp(db, row), deposits: await selectDepositsOfApp(db, row.id) };
}
