/** What never changes about an account, as the hot path needs it. @module */
import type { Db } from "./database.ts";

/** The unchanging part of an account. */
export interface AccountFacts {
  id: string;
  type: string;
  asset: string;
  testnet: boolean;
  decimals: number;
  currency: string;
  owner: string | null;
  holder: string | null;
}

/** Reads the facts of several accounts. */
export async function selectFacts(db: Db, ids: readonly string[]): Promise<AccountFacts[]> {
  return await db<AccountFacts[]>`
    select id, type, asset, testnet, decimals, currency, owner, holder from accounts
    where id = any (${`{${ids.join(",")}}`}::text::uuid[])`;
}

/** Finds what an alias stands for. */
export async function selectAliasTarget(
  db: Db,
  alias: string,
): Promise<{ account: string | null; identity: string | null } | null> {
  const [row] = await db<{ account: string | null; identity: string | null }[]>`
    select account, identity from aliases where alias = ${alias} and deleted_at is null`;
  return row ?? null;
}
