/** Statements on accounts. Balances are changed by the ledger alone. @module */
import type { LedgerTx } from "../transaction.ts";
import type { ListQuery } from "../collections/filter.ts";
import type { Db } from "../database.ts";
import { firstAlias } from "../identity/aliases.ts";
import { insertOf, type NewJobRow } from "../jobs.ts";

/** An account as stored. Amounts are decimals in whole units of the asset. */
export interface AccountRow {
  id: string;
  total: string;
  blocked: string;
  /** Value at linked addresses: part of the total, never available. */
  linked: string;
  type: "virtual" | "ramp" | "deposit" | "system";
  asset: string;
  testnet: boolean;
  decimals: number;
  active: boolean;
  frozen: boolean;
  /** Whether a manager or administrator of the realm, or the service itself, has frozen it. */
  frozen_by_realm: boolean;
  enabled: boolean;
  is_default: boolean;
  currency: string;
  currency_places: number;
  country: string;
  holder: string | null;
  owner: string | null;
  system: "world" | "fees" | null;
  ramp: string | null;
  reference: string | null;
  data: Record<string, unknown>;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "total",
  "blocked",
  "linked",
  "type",
  "asset",
  "testnet",
  "decimals",
  "active",
  "frozen",
  "frozen_by_realm",
  "enabled",
  "is_default",
  "currency",
  "currency_places",
  "country",
  "holder",
  "owner",
  "system",
  "ramp",
  "reference",
  "data",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** A new account; it starts empty. */
export type NewAccountRow = Omit<
  AccountRow,
  | "total"
  | "blocked"
  | "linked"
  | "frozen"
  | "frozen_by_realm"
  | "error"
  | "deleted_at"
  | "updated_at"
  | "system"
>;

/** Adds an account, together with the job that it causes, if there is one. */
export async function insertAccount(
  tx: LedgerTx,
  account: NewAccountRow,
  job: NewJobRow | null = null,
): Promise<AccountRow> {
  const [row] = await tx<AccountRow[]>`
    ${job === null ? tx`` : tx`with job as (${insertOf(tx, job)})`}
    insert into accounts (id, type, asset, testnet, decimals, active, enabled, is_default, currency,
      currency_places, country, holder, owner, ramp, reference, data, created_at)
    values (${account.id}, ${account.type}, ${account.asset}, ${account.testnet},
      ${account.decimals}, ${account.active}, ${account.enabled}, ${account.is_default},
      ${account.currency}, ${account.currency_places}, ${account.country}, ${account.holder},
      ${account.owner}, ${account.ramp}, ${account.reference}, ${tx.json(account.data as never)},
      ${account.created_at})
    returning ${tx(COLUMNS)}`;
  return row;
}

/** Removes the default mark from the account of this holder and asset that has it. */
export async function clearDefault(
  tx: LedgerTx,
  of: { holder: string; asset: string; testnet: boolean },
): Promise<void> {
  await tx`
    update accounts set is_default = false
    where holder = ${of.holder} and asset = ${of.asset} and testnet = ${of.testnet}
      and is_default and deleted_at is null`;
}

/**
 * Finds or creates the system account of an asset, the counterparty of value that enters or leaves
 * the ledger.
 */
export async function upsertSystemAccount(
  tx: LedgerTx,
  account:
    & Pick<
      AccountRow,
      | "id"
      | "asset"
      | "testnet"
      | "decimals"
      | "currency"
      | "currency_places"
      | "country"
      | "created_at"
    >
    & { system: "world" | "fees" },
): Promise<string> {
  const [found] = await tx<{ id: string }[]>`
    select id from accounts
    where type = 'system' and asset = ${account.asset} and testnet = ${account.testnet}
      and system = ${account.system}`;
  if (found !== undefined) return found.id;
  const [made] = await tx<{ id: string }[]>`
    insert into accounts ${tx({ ...account, type: "system", active: true, enabled: true })}
    returning id`;
  return made.id;
}

/** Reads one account, deleted ones too. */
export async function selectAccount(db: Db, id: string): Promise<AccountRow | null> {
  const [row] = await db<AccountRow[]>`select ${db(COLUMNS)} from accounts where id = ${id}`;
  return row ?? null;
}

/** Reads which of some accounts are enabled. */
export async function selectEnabledAmong(db: Db, ids: string[]): Promise<string[]> {
  const rows = await db<{ id: string }[]>`
    select id from accounts where id = any (${ids}::text[]::uuid[]) and enabled`;
  return rows.map(({ id }) => id);
}

/** Enables an account; returns whether it was disabled before. */
export async function markEnabled(tx: LedgerTx, id: string): Promise<AccountRow | null> {
  const [row] = await tx<AccountRow[]>`
    update accounts set enabled = true, active = true, updated_at = now()
    where id = ${id} and not enabled returning ${tx(COLUMNS)}`;
  return row ?? null;
}

/** Reads accounts by their ids, deleted ones too. */
export async function selectAccounts(db: Db, ids: string[]): Promise<AccountRow[]> {
  return await db<AccountRow[]>`select ${
    db(COLUMNS)
  } from accounts where id = any (${ids}::uuid[])`;
}

/** Reads a part of a list of accounts, with their aliases. */
export async function selectListedAccounts(
  db: Db,
  list: ListQuery,
): Promise<(AccountRow & { alias: string | null })[]> {
  return await list<AccountRow & { alias: string | null }>(
    db`${db(COLUMNS)}, ${firstAlias(db, "account", "accounts")} as alias`,
  );
}

/** Changes fields of an account other than balances. */
export async function updateAccount(
  tx: LedgerTx,
  id: string,
  to: Pick<AccountRow, "data" | "is_default" | "ramp">,
  now: number,
): Promise<void> {
  await tx`
    update accounts set data = ${tx.json(to.data as never)}, is_default = ${to.is_default},
      ramp = ${to.ramp}, updated_at = ${now}
    where id = ${id}`;
}

/**
 * Freezes an account. If the realm freezes an account that its owner froze, the freeze is the
 * realm's from then on, never the other way.
 */
export async function freezeAccount(
  tx: LedgerTx,
  id: string,
  by: { user: string | null; realm: boolean; at: number },
): Promise<void> {
  await tx`
    update accounts set frozen = true, frozen_by = ${by.user}, frozen_by_realm = ${by.realm},
      updated_at = ${by.at}
    where id = ${id} and (not frozen or (${by.realm} and not frozen_by_realm))`;
}

/** Unfreezes an account. A freeze by the realm is lifted by the realm alone. */
export async function unfreezeAccount(
  tx: LedgerTx,
  id: string,
  by: { realm: boolean; at: number },
): Promise<void> {
  await tx`
    update accounts set frozen = false, frozen_by = null, frozen_by_realm = false,
      updated_at = ${by.at}
    where id = ${id} and frozen and (${by.realm} or not frozen_by_realm)`;
}

/** Activates or deactivates an account. */
export async function markActive(
  tx: LedgerTx,
  id: string,
  active: boolean,
  now: number,
): Promise<void> {
  await tx`
    update accounts set active = ${active}, updated_at = ${now} where id = ${id} and active <> ${active}`;
}

/** The reason why an account cannot be deleted. */
export type AccountTie = "balance" | "withdrawal" | "sweep" | "deposit" | "forward";

/** Returns the reason why an account cannot be deleted; null if there is none. */
export async function selectAccountTie(db: Db, id: string): Promise<AccountTie | null> {
  const [row] = await db<{ tie: AccountTie | null }[]>`select account_ties(${id}) as tie`;
  return row.tie;
}

/** Whether anybody holds value of a virtual currency. */
export async function selectCirculating(db: Db, asset: string): Promise<boolean> {
  const [row] = await db<{ circulates: boolean }[]>`
    select is_circulating(${asset}) as circulates`;
  return row.circulates;
}
