/** Statements on aliases: one directory for accounts and identities. @module */
import type { Fragment } from "../collections/filter.ts";
import type { Db, Tx } from "../database.ts";

/** An alias as stored. */
export interface AliasRow {
  id: string;
  alias: string;
  type: "account" | "identity";
  account: string | null;
  identity: string | null;
  data: Record<string, unknown>;
  owner: string;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "alias",
  "type",
  "account",
  "identity",
  "data",
  "owner",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** Fields of a new alias. */
export type NewAliasRow = Omit<AliasRow, "error" | "deleted_at" | "updated_at"> & {
  /** The form under which no other alias may be. */
  folded: string;
};

/** Adds an alias. */
export async function insertAlias(tx: Tx, alias: NewAliasRow): Promise<AliasRow> {
  const [row] = await tx<AliasRow[]>`
    insert into aliases (id, alias, folded, type, account, identity, data, owner, created_at)
    values (${alias.id}, ${alias.alias}, ${alias.folded}, ${alias.type}, ${alias.account}, ${alias.identity},
      ${tx.json(alias.data as never)}, ${alias.owner}, ${alias.created_at})
    returning ${tx(COLUMNS)}`;
  return row;
}

/** Reads aliases by their ids, deleted ones too. */
export async function selectAliases(db: Db, ids: string[]): Promise<AliasRow[]> {
  return await db<AliasRow[]>`select ${db(COLUMNS)} from aliases where id = any (${ids}::uuid[])`;
}

/** Gives the oldest living alias of each account or identity that has one. */
export async function selectFirstAliases(
  db: Db,
  targets: string[],
): Promise<{ target: string; alias: string }[]> {
  return await db<{ target: string; alias: string }[]>`
    select u.target, a.alias from (select distinct unnest(${targets}::uuid[]) as target) u
      cross join lateral (
        (select alias from aliases x where x.account = u.target and deleted_at is null order by id limit 1)
        union all
        (select alias from aliases x where x.identity = u.target and deleted_at is null order by id limit 1)) a`;
}

/** Writes the alias that a row of a table is shown with: its oldest. */
export function firstAlias(
  db: Db,
  of: "account" | "identity",
  table: "accounts" | "identities",
): Fragment {
  return db`(select x.alias from aliases x
    where x.${db(of)} = ${db(table)}.id and x.deleted_at is null order by x.id limit 1)`;
}

/** Changes an alias's data. */
export async function updateAliasData(
  tx: Tx,
  id: string,
  data: Record<string, unknown>,
  now: number,
): Promise<void> {
  await tx`update aliases set data = ${
    tx.json(data as never)
  }, updated_at = ${now} where id = ${id}`;
}
