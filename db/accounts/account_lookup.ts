/** Account lookup: the unchanging fields of accounts, and the targets of aliases. @module */
import type { Db } from "../database.ts";

/** The unchanging part of an account. */
export interface AccountSummary {
  id: string;
  type: string;
  asset: string;
  testnet: boolean;
  decimals: number;
  currency: string;
  owner: string | null;
  holder: string | null;
}

/** The target of an alias: an account or an identity. */
export interface AliasTarget {
  alias: string;
  account: string | null;
  identity: string | null;
}

/** Reads the summaries of several accounts. */
export async function selectAccountSummaries(
  db: Db,
  ids: readonly string[],
): Promise<AccountSummary[]> {
  return await db<AccountSummary[]>`
    select id, type, asset, testnet, decimals, currency, owner, holder from accounts
    where id = any (${`{${ids.join(",")}}`}::text::uuid[])`;
}

/** Finds the targets of aliases; unknown ones, and those of deleted identities, are left out. */
export async function selectAliasTargets(
  db: Db,
  aliases: readonly string[],
): Promise<AliasTarget[]> {
  return await db<AliasTarget[]>`
    select alias, account, identity from aliases
    where alias = any (${aliases as string[]}::text[]) and deleted_at is null
      and not exists (select from identities i where i.id = identity and i.deleted_at is not null)`;
}

/** Finds the target of an alias. */
export async function selectAliasTarget(db: Db, alias: string): Promise<AliasTarget | null> {
  const [target] = await selectAliasTargets(db, [alias]);
  return target ?? null;
}

/** Finds the default account of an identity for an asset. */
export async function selectDefaultAccount(
  db: Db,
  of: { holder: string; asset: string; testnet: boolean },
): Promise<string | null> {
  const [row] = await db<{ id: string }[]>`
    select id from accounts
    where holder = ${of.holder} and asset = ${of.asset} and testnet = ${of.testnet}
      and is_default and type = 'virtual' and deleted_at is null`;
  return row?.id ?? null;
}
