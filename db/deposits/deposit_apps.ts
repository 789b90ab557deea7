/** Statements on deposit applications. @module */
import type { Db, Tx } from "../database.ts";

/** A deposit application as stored. */
export interface DepositAppRow {
  id: string;
  /** Its deposit account. */
  account: string;
  /** The virtual account that deposits are forwarded to. */
  destination: string;
  asset: string;
  seal: Record<string, unknown> | null;
  data: Record<string, unknown>;
  status: "PENDING" | "PROCESSING" | "DONE" | "FAILED";
  owner: string;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "account",
  "destination",
  "asset",
  "seal",
  "data",
  "status",
  "owner",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** Adds an application. */
export async function insertDepositApp(
  tx: Tx,
  app: Omit<DepositAppRow, "status" | "error" | "deleted_at" | "updated_at">,
): Promise<DepositAppRow> {
  const row = {
    ...app,
    seal: app.seal === null ? null : tx.json(app.seal as never),
    data: tx.json(app.data as never),
  };
  const [made] = await tx<DepositAppRow[]>`
    insert into deposit_apps ${tx(row)} returning ${tx(COLUMNS)}`;
  return made;
}

/** Reads an application. */
export async function selectDepositApp(db: Db, id: string): Promise<DepositAppRow | null> {
  const [row] = await db<DepositAppRow[]>`
    select ${db(COLUMNS)} from deposit_apps where id = ${id}`;
  return row ?? null;
}

/** Reads applications by their ids. */
export async function selectDepositApps(db: Db, ids: string[]): Promise<DepositAppRow[]> {
  return await db<DepositAppRow[]>`
    select ${db(COLUMNS)} from deposit_apps where id = any (${`{${ids.join(",")}}`}::text::uuid[])`;
}

/** Changes an application's data. */
export async function updateDepositAppData(
  tx: Tx,
  id: string,
  change: { data: Record<string, unknown>; at: number },
): Promise<void> {
  await tx`
    update deposit_apps set data = ${tx.json(change.data as never)}, updated_at = ${change.at}
    where id = ${id}`;
}

/** Finds the application that a deposit account was made for. */
export async function selectDepositAppOf(db: Db, account: string): Promise<DepositAppRow | null> {
  const [row] = await db<DepositAppRow[]>`
    select ${db(COLUMNS)} from deposit_apps where account = ${account} and deleted_at is null`;
  return row ?? null;
}

/** Finds those of some deposit accounts that belong to applications. */
export async function selectAppAccounts(
  db: Db,
  accounts: readonly string[],
): Promise<Map<string, string>> {
  const rows = await db<{ id: string; account: string }[]>`
    select id, account from deposit_apps
    where deleted_at is null and account = any (${`{${accounts.join(",")}}`}::text::uuid[])`;
  return new Map(rows.map((row) => [row.account, row.id]));
}

/** Changes an application's status. */
export async function updateDepositApp(
  tx: Tx,
  id: string,
  change: { status: DepositAppRow["status"]; error: unknown; at: number },
): Promise<DepositAppRow> {
  const [row] = await tx<DepositAppRow[]>`
    update deposit_apps set status = ${change.status}, updated_at = ${change.at},
      error = ${change.error === null ? null : tx.json(change.error as never)}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}

/** Lists the deposits that an application has received, oldest first. */
export async function selectDepositsOfApp(db: Db, id: string): Promise<string[]> {
  const rows = await db<{ id: string }[]>`select id from deposits where app = ${id} order by id`;
  return rows.map((row) => row.id);
}
