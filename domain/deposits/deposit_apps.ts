/**
 * Deposit applications: each has an address of its own, and every deposit there is forwarded to one
 * virtual account.
 * @module
 */
import { z } from "zod";
import type { Db, Tx } from "../../db/database.ts";
import {
  type AppPartsRow,
  type DepositAppRow,
  selectAppParts,
  selectDepositApp,
  selectDepositAppsOf,
  selectDepositsOfApp,
  updateDepositApps,
} from "../../db/deposits/deposit_apps.ts";
import type { Actor } from "../actor.ts";
import { EntityFields, idOf, viewEntity } from "../entity.ts";
import { emitAll } from "../events.ts";
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
  deposits: z.array(z.string()).optional().meta({ description: "The latest 1000, oldest first." }),
  ...EntityFields,
}).meta({ id: "DepositApplication" });

/**
 * Records that the applications of some deposit accounts received deposits; gives their ids by the accounts.
 */
export async function noteDeposits(
  tx: Tx,
  actor: Actor,
  accounts: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const apps = await selectDepositAppsOf(tx, accounts);
  const idle = apps.filter((app) => app.status !== "PROCESSING");
  await changeApps(tx, actor, idle, { status: "PROCESSING", error: null });
  return new Map(apps.map((app) => [app.account, app.id]));
}

/** Records that all deposits of an application were forwarded, or that forwarding failed. */
export async function settleApp(
  tx: Tx,
  actor: Actor,
  account: string,
  outcome: { status: "DONE" | "FAILED"; error: unknown },
): Promise<void> {
  const apps = await selectDepositAppsOf(tx, [account]);
  await changeApps(tx, actor, apps.filter((app) => app.status === "PROCESSING"), outcome);
}

async function changeApps(
  tx: Tx,
  actor: Actor,
  apps: readonly DepositAppRow[],
  change: { status: DepositAppRow["status"]; error: unknown },
): Promise<void> {
  if (apps.length === 0) return;
  const ids = apps.map((app) => app.id);
  const changed = await updateDepositApps(tx, ids, { ...change, at: actor.at });
  const rows = ids.flatMap((id) => changed.find((row) => row.id === id) ?? []);
  const views = await viewWholeApps(tx, rows);
  const told = rows.map(({ id, owner }, i) => ({ id, owner, view: views[i] }));
  await emitAll(tx, actor, "app.deposit.updated", told);
}

function viewDepositApp(
  row: DepositAppRow,
  parts: AppPartsRow | undefined,
): Record<string, unknown> {
  return {
    id: row.id,
    source: {
      account: row.account,
      deposit_address: parts?.address ?? null,
      owner: parts?.address_owner ?? null,
    },
    destination: { account: row.destination, owner: parts?.target_owner ?? null },
    asset: row.asset,
    seal: row.seal,
    status: row.status,
    ...viewEntity(row),
  };
}

/** Shows applications with their addresses and the owners of their target accounts. */
export async function viewWholeApps(
  db: Db,
  rows: readonly DepositAppRow[],
): Promise<Record<string, unknown>[]> {
  if (rows.length === 0) return [];
  const parts = new Map((await selectAppParts(db, rows)).map((one) => [one.id, one]));
  return rows.map((row) => viewDepositApp(row, parts.get(row.id)));
}

/** Shows one application as {@link viewWholeApps} does. */
export async function viewWholeApp(db: Db, row: DepositAppRow): Promise<Record<string, unknown>> {
  return (await viewWholeApps(db, [row]))[0];
}

/** Latest deposits that an application shows: all are in `GET /v1/deposits`, by its account. */
const DEPOSITS_SHOWN = 1000;

/**
 * Finds an application that the actor may see, with the ids of its latest deposits.
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
  const deposits = await selectDepositsOfApp(db, { ...row, limit: DEPOSITS_SHOWN });
  return { ...await viewWholeApp(db, row), deposits };
}
