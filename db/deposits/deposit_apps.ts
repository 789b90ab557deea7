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

/** Finds the applications that some deposit accounts were made for, oldest first. */
export async function selectDepositAppsOf(
  db: Db,
  accounts: readonly string[],
): Promise<DepositAppRow[]> {
  return await db<DepositAppRow[]>`
    select ${db(COLUMNS)} from deposit_apps
    where deleted_at is null and account = any (${`{${accounts.join(",")}}`}::text::uuid[])
    order by id`;
}

/** Changes the status of some applications. */
export async function updateDepositApps(
  tx: Tx,
  ids: string[],
  change: { status: DepositAppRow["status"]; error: unknown; at: number },
): Promise<DepositAppRow[]> {
  return await tx<DepositAppRow[]>`
    update deposit_apps set status = ${change.status}, updated_at = ${change.at},
      error = ${change.error === null ? null : tx.json(change.error as never)}
    where id = any (${ids}::uuid[]) returning ${tx(COLUMNS)}`;
}

/** The deposit address of an application, and the owner of its target account. */
export interface AppPartsRow {
  id: string;
  address: string | null;
  /** Owner of the address. */
  address_owner: string | null;
  target_owner: string | null;
}

/** Reads the parts of some applications' views. */
export async function selectAppParts(
  db: Db,
  apps: readonly Pick<DepositAppRow, "id" | "account" | "destination">[],
): Promise<AppPartsRow[]> {
  const given = apps.map(({ id, account, destination }) => ({ id, account, destination }));
  return await db<AppPartsRow[]>`
    select g.id, d.address, d.owner as address_owner, t.owner as target_owner
    from jsonb_to_recordset(${db.json(given)}) g(id uuid, account uuid, destination uuid)
      left join lateral (select a.address, a.owner from addresses a
        where a.account = g.account offset 0) d on true
      left join lateral (select a.owner from accounts a
        where a.id = g.destination offset 0) t on true`;
}

/** Lists the deposits that an application has received, oldest first. */
export async function selectDepositsOfApp(
  db: Db,
  { id, account, limit }: Pick<DepositAppRow, "id" | "account"> & { limit: number },
): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from (select id from deposits where account = ${account} and app = ${id}
      order by account desc, id desc limit ${limit}) latest order by id`;
  return rows.map((row) => row.id);
}
