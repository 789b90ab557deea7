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
  to: Pick<IdentityRow, "type" | "country" | "currency" | "company" | "data">,
  now: number,
): Promise<IdentityRow> {
  const [row] = await tx<IdentityRow[]>`
    update identities set type = ${to.type}, country = ${to.country}, currency = ${to.currency},
      company = ${to.company}, data = ${tx.json(to.data as never)}, updated_at = ${now}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}

/** Reads the identity whose person it is, deleted ones too. */
export async function selectIdentityOfPerson(db: Db, person: string): Promise<IdentityRow | null> {
  const [row] = await db<IdentityRow[]>`
    select ${db(COLUMNS)} from identities where person = ${person}`;
  return row ?? null;
}

/** Reads the identities whose persons these are, deleted ones too. */
export async function selectIdentitiesOfPersons(
  db: Db,
  persons: readonly string[],
): Promise<IdentityRow[]> {
  return await db<IdentityRow[]>`
    select ${db(COLUMNS)} from identities where person = any (${persons as string[]}::text[])`;
}

/** Gives an identity a person, or takes it away. */
export async function updateIdentityPerson(
  tx: Tx,
  id: string,
  person: string | null,
  now: number,
): Promise<IdentityRow> {
  const [row] = await tx<IdentityRow[]>`
    update identities set person = ${person}, updated_at = ${now}
    where id = ${id} returning ${tx(COLUMNS)}`;
  return row;
}

/** Gives identities their persons, where they have none; gives the number of those changed. */
export async function linkPersons(
  tx: Tx,
  pairs: readonly { identity: string; person: string }[],
  now: number,
): Promise<number> {
  const rows = await tx`
    update identities i set person = l.person, updated_at = ${now}
    from unnest(${pairs.map((pair) => pair.identity)}::uuid[],
      ${pairs.map((pair) => pair.person)}::text[]) l(identity, person)
    where i.id = l.identity and i.person is null and i.deleted_at is null
      and not exists (select from identities o where o.person = l.person)`;
  return rows.count;
}

/** Takes a company away from the identities that have it; gives their number. */
export async function clearCompany(tx: Tx, company: number, now: number): Promise<number> {
  const changed = await tx`
    update identities set company = null, updated_at = ${now} where company = ${company}`;
  return changed.count;
}

/** Adds identities of persons. */
export async function insertPersonIdentities(
  tx: Tx,
  rows: readonly { id: string; person: string }[],
  shared: { country: string; currency: string; owner: string; created_at: number },
): Promise<void> {
  await tx`
    insert into identities (id, type, country, currency, person, owner, created_at)
    select n.id, 'person', ${shared.country}, ${shared.currency}, n.person, ${shared.owner},
      ${shared.created_at}
    from unnest(${rows.map((row) => row.id)}::uuid[], ${rows.map((row) => row.person)}::text[])
      n(id, person)`;
}
