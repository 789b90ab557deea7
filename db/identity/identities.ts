/** Statements on identities. @module */
import type { ListQuery } from "../collections/filter.ts";
import type { Db, Tx } from "../database.ts";
import { firstAlias } from "./aliases.ts";

/** An identity as stored. */
export interface IdentityRow {
  id: string;
  type: string;
  country: string;
  currency: string;
  person: string | null;
  company: string | null;
  data: Record<string, unknown>;
  owner: string;
  error: unknown;
  deleted_at: number | null;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "id",
  "type",
  "country",
  "currency",
  "person",
  "company",
  "data",
  "owner",
  "error",
  "deleted_at",
  "updated_at",
  "created_at",
] as const;

/** Fields of a new identity. */
export type NewIdentityRow = Pick<
  IdentityRow,
  "id" | "type" | "country" | "currency" | "data" | "owner" | "created_at"
>;

/** Adds an identity. */
export async function insertIdentity(tx: Tx, identity: NewIdentityRow): Promise<IdentityRow> {
  const [row] = await tx<IdentityRow[]>`
    insert into identities (id, type, country, currency, data, owner, created_at)
    values (${identity.id}, ${identity.type}, ${identity.country}, ${identity.currency},
      ${tx.json(identity.data as never)}, ${identity.owner}, ${identity.created_at})
    returning ${tx(COLUMNS)}`;
  return row;
}

/** Reads one identity, deleted ones too. */
export async function selectIdentity(db: Db, id: string): Promise<IdentityRow | null> {
  const [row] = await db<IdentityRow[]>`
    select ${db(COLUMNS)} from identities where id = ${id}`;
  return row ?? null;
}

/** Reads the identity of a user. */
export async function selectIdentityOfUser(db: Db, user: string): Promise<IdentityRow | null> {
  const [row] = await db<IdentityRow[]>`
    select ${
    db(COLUMNS)
  } from identities where id = (select identity from users where id = ${user})`;
  return row ?? null;
}

/** Reads identities by their ids, deleted ones too. */
export async function selectIdentities(db: Db, ids: string[]): Promise<IdentityRow[]> {
  return await db<IdentityRow[]>`
    select ${db(COLUMNS)} from identities where id = any (${ids}::uuid[])`;
}

/** Reads a part of a list of identities, with their aliases. */
export async function selectListedIdentities(
  db: Db,
  list: ListQuery,
): Promise<(IdentityRow & { alias: string | null })[]> {
  return await list<IdentityRow & { alias: string | null }>(
    db`${db(COLUMNS)}, ${firstAlias(db, "identity", "identities")} as alias`,
  );
}

/** Changes an identity. */
export async function updateIdentity(
  tx: Tx,
  id: string,
  to: Pick<IdentityRow, "type" | "country" | "currency" | "data">,
  now: number,
): Promise<IdentityRow> {
  const [row] = await tx<IdentityRow[]>`
    update identities set type = ${to.type}, country = ${to.country}, currency = ${to.currency},
      data = ${tx.json(to.data as never)}, updated_at = ${now}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}
