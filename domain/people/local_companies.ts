/** Companies in the realm's own tables. @module */
import type { Db, Tx } from "../../db/database.ts";
import { brokenConstraint } from "../../db/errors.ts";
import {
  type CompanyColumn,
  type CompanyRow,
  deleteCompany,
  insertCompany,
  lockCompany,
  selectCompanies,
  selectCompanyPage,
  updateCompany,
} from "../../db/people/companies.ts";
import { invalidQuery } from "../collections/filter.ts";
import { answerable, openAnswer } from "../answers.ts";
import { DomainError } from "../errors.ts";
import { notFound, rightsOf } from "../permissions.ts";
import type { Company, NewCompany } from "./company_fields.ts";
import { conditionsOf } from "./list_query.ts";
import { assertRoom, mergeAttributes } from "./person_fields.ts";
import type { CompaniesProvider } from "./provider.ts";

/** Fields that a list can be filtered by, with their columns. */
const COLUMNS: Readonly<Record<string, CompanyColumn | "domain">> = {
  id: "id",
  name: "name",
  country: "country",
  region: "region",
  accountManager: "account_manager",
  customerStage: "customer_stage",
  industry: "industry",
  vatNumber: "vat_number",
  domain: "domain",
  domains: "domain",
};

/** Companies that are read at a time. */
const READ_AT_ONCE = 100;

/** Opens the companies of the realms' own tables. */
export function openLocalCompanies(): CompaniesProvider {
  return {
    list: (actor, { filters, filter, limit, page }) => {
      const asked = [...Object.entries(filters), ...conditionsOf(filter)].map(([name, value]) => {
        if (Object.hasOwn(COLUMNS, name)) return { column: COLUMNS[name], value };
        throw invalidQuery(`/${name.slice(0, 60)}`, "companies are not filtered by this field");
      });
      const owner = rightsOf(actor).read === "all" ? null : actor.user;
      const part = { filters: asked, owner, limit, offset: (page - 1) * limit };
      return Promise.resolve(async (db) => {
        const ids = await selectCompanyPage(db, part);
        return await showAll(db, ids);
      });
    },
    read: (_actor, ids) =>
      Promise.resolve(async (db) =>
        new Map((await showAll(db, ids)).map((company) => [company.id, company]))
      ),
    create: (actor, input) =>
      Promise.resolve(async (tx) => {
        const row = { ...rowOf(input), owner: actor.user, created_at: actor.at };
        return viewCompany(await unlessTaken(tx, (sp) => insertCompany(sp, row)));
      }),
    change: (actor, id, change) =>
      Promise.resolve(async (tx) => {
        const before = await lockCompany(tx, id);
        if (before === null) throw notFound("company.not_found");
        const merged: Record<string, unknown> = { ...fieldsOf(before) };
        for (const [name, value] of Object.entries(change)) {
          if (value === null) delete merged[name];
          else if (value !== undefined) merged[name] = value;
        }
        merged.customAttributes = mergeAttributes(
          before.custom_attributes,
          change.customAttributes ?? {},
        );
        assertRoom({ customAttributes: merged.customAttributes as Record<string, unknown> });
        const row = { ...rowOf(merged as NewCompany), id, updated_at: actor.at };
        return viewCompany(await unlessTaken(tx, (sp) => updateCompany(sp, row)));
      }),
    remove: (_actor, id) =>
      Promise.resolve(async (tx) => {
        await deleteCompany(tx, id);
        return true;
      }),
    ownerOf: (id) => async (db) => (await selectCompanies(db, [id]))[0]?.owner ?? null,
    exists: null,
  };
}

/** Reads companies in the order of their ids, few at a time. */
async function showAll(db: Db, ids: readonly number[]): Promise<Company[]> {
  const companies: Company[] = [];
  const hasRoom = openAnswer();
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const part = ids.slice(from, from + READ_AT_ONCE);
    const rows = new Map((await selectCompanies(db, part)).map((row) => [row.id, row]));
    const shown = part.flatMap((id) => rows.has(id) ? [viewCompany(rows.get(id)!)] : []);
    companies.push(...ids.length > READ_AT_ONCE ? answerable(shown, hasRoom) : shown);
  }
  return companies;
}

async function unlessTaken<T>(tx: Tx, work: (tx: Tx) => Promise<T>): Promise<T> {
  try {
    return await tx.savepoint((sp) => work(sp)) as T;
  } catch (error) {
    if (brokenConstraint(error) !== "company_domains_pkey") throw error;
    throw new DomainError("company.taken", "another company has one of these domains");
  }
}

function rowOf(fields: NewCompany) {
  return {
    name: fields.name,
    notes: fields.notes ?? null,
    country: fields.country ?? null,
    region: fields.region ?? null,
    account_manager: fields.accountManager ?? null,
    customer_stage: fields.customerStage ?? null,
    industry: fields.industry ?? null,
    vat_number: fields.vatNumber ?? null,
    custom_attributes: fields.customAttributes ?? {},
    domains: fields.domains ?? [],
  };
}

function fieldsOf(row: CompanyRow): NewCompany {
  const fields = {
    name: row.name,
    notes: row.notes,
    country: row.country,
    region: row.region,
    accountManager: row.account_manager,
    customerStage: row.customer_stage,
    industry: row.industry,
    vatNumber: row.vat_number,
    customAttributes: row.custom_attributes,
    domains: row.domains,
  };
  const given = Object.entries(fields).filter(([, value]) => value !== null);
  return Object.fromEntries(given) as NewCompany;
}

function viewCompany(row: CompanyRow): Company {
  return {
    id: row.id,
    createdAt: new Date(row.created_at).toISOString(),
    modifiedAt: new Date(row.updated_at ?? row.created_at).toISOString(),
    ...fieldsOf(row),
  };
}
