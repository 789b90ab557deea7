/** Statements on companies of the realm's own tables. @module */
import type { Db, Tx } from "../database.ts";

/** A company as stored, with its domains in their order. */
export interface CompanyRow {
  id: number;
  name: string;
  notes: string | null;
  country: string | null;
  region: string | null;
  account_manager: string | null;
  customer_stage: string | null;
  industry: string | null;
  vat_number: string | null;
  custom_attributes: Record<string, unknown>;
  domains: string[];
  owner: string;
  updated_at: number | null;
  created_at: number;
}

const COLUMNS = [
  "name",
  "notes",
  "country",
  "region",
  "account_manager",
  "customer_stage",
  "industry",
  "vat_number",
  "custom_attributes",
  "owner",
  "updated_at",
  "created_at",
] as const;

/** Columns that a list can be filtered by. */
export type CompanyColumn = Exclude<keyof CompanyRow, "custom_attributes" | "domains">;

/** The part of a list of companies that is read. */
export interface CompanyPage {
  filters: readonly { column: CompanyColumn | "domain"; value: string }[];
  /** Only companies of this user; null: all. */
  owner: string | null;
  limit: number;
  offset: number;
}

function whole(db: Db) {
  return db`c.id::float8 as id, ${db(COLUMNS)}, array(select d.domain from company_domains d
    where d.company = c.id order by d.position) as domains`;
}

/** Adds a company. */
export async function insertCompany(
  tx: Tx,
  row: Omit<CompanyRow, "id" | "updated_at">,
): Promise<CompanyRow> {
  const [{ id }] = await tx<{ id: number }[]>`
    insert into companies (name, notes, country, region, account_manager, customer_stage, industry,
      vat_number, custom_attributes, owner, created_at)
    values (${row.name}, ${row.notes}, ${row.country}, ${row.region}, ${row.account_manager},
      ${row.customer_stage}, ${row.industry}, ${row.vat_number},
      ${tx.json(row.custom_attributes as never)}, ${row.owner}, ${row.created_at})
    returning id::float8 as id`;
  await insertDomains(tx, id, row.domains);
  return (await selectCompanies(tx, [id]))[0];
}

/** Replaces the fields of a company. */
export async function updateCompany(
  tx: Tx,
  row: Omit<CompanyRow, "owner" | "created_at">,
): Promise<CompanyRow> {
  await tx`
    update companies set name = ${row.name}, notes = ${row.notes}, country = ${row.country},
      region = ${row.region}, account_manager = ${row.account_manager},
      customer_stage = ${row.customer_stage}, industry = ${row.industry},
      vat_number = ${row.vat_number},
      custom_attributes = ${tx.json(row.custom_attributes as never)}, updated_at = ${row.updated_at}
    where id = ${row.id}`;
  await tx`delete from company_domains where company = ${row.id}`;
  await insertDomains(tx, row.id, row.domains);
  return (await selectCompanies(tx, [row.id]))[0];
}

async function insertDomains(tx: Tx, company: number, domains: readonly string[]): Promise<void> {
  if (domains.length === 0) return;
  await tx`
    insert into company_domains (domain, company, position)
    select d.domain, ${company}, d.place - 1
    from unnest(${domains as string[]}::text[]) with ordinality d(domain, place)`;
}

/** Reads companies by their ids. */
export async function selectCompanies(db: Db, ids: readonly number[]): Promise<CompanyRow[]> {
  return await db<CompanyRow[]>`
    select ${whole(db)} from companies c where c.id = any (${ids.map(String)}::text[]::bigint[])`;
}

/** Reads and locks a company. */
export async function lockCompany(tx: Tx, id: number): Promise<CompanyRow | null> {
  await tx`select id from companies where id = ${id} for update`;
  return (await selectCompanies(tx, [id]))[0] ?? null;
}

/** Finds a part of the list of companies, oldest first. */
export async function selectCompanyPage(db: Db, page: CompanyPage): Promise<number[]> {
  const conditions = page.filters.map(({ column, value }) =>
    column === "domain"
      ? db`exists (select from company_domains d where d.company = c.id
          and d.domain = ${value.toLowerCase()})`
      : db`c.${db(column)}::text = ${value}`
  );
  const own = page.owner === null ? db`true` : db`c.owner = ${page.owner}`;
  const all = conditions.reduce((before, one) => db`${before} and ${one}`, own);
  const found = await db<{ id: number }[]>`
    select c.id::float8 as id from companies c where ${all}
    order by c.id limit ${page.limit} offset ${page.offset}`;
  return found.map(({ id }) => id);
}

/** Deletes a company; no identity names it any more. */
export async function deleteCompany(tx: Tx, id: number): Promise<void> {
  await tx`delete from companies where id = ${id}`;
}
