/** Routes of companies. @module */
import { z } from "zod";
import { notFound } from "../domain/permissions.ts";
import { assertPlatform } from "../domain/people/commands.ts";
import {
  changeCompany,
  companyOf,
  createCompany,
  removeCompany,
} from "../domain/people/companies.ts";
import { CompanyChange, CompanyView, NewCompany } from "../domain/people/company_fields.ts";
import {
  LIMIT_DEFAULT,
  ProfileParameters,
  readProfileQuery,
  ROWS_MAX,
} from "../domain/people/list_query.ts";
import { changeProfile, readProfiles } from "./http/profiles.ts";
import { type AnyRoute, route } from "./http/route.ts";

const ById = z.strictObject({ id: z.string() });
const PLATFORM = ["extension.disabled", "upstream.failed", "upstream.timeout"] as const;
const WRITE = [
  ...PLATFORM,
  "company.not_found",
  "permission.scope",
  "permission.role",
  "permission.owner",
] as const;
const shared = { tag: "Companies", access: "user" } as const;

/** The routes of companies. */
export const companyRoutes: readonly AnyRoute[] = [
  route({
    ...shared,
    method: "GET",
    path: "/v1/identities/companies",
    operation: "listCompanies",
    summary: "List companies",
    description: "Any other parameter is a field and its value: `?industry=Banking`, " +
      "`?domain=bank.example`.",
    query: ProfileParameters,
    continues: { usual: LIMIT_DEFAULT, pagesOver: ROWS_MAX },
    status: 200,
    answer: z.array(CompanyView),
    errors: [...PLATFORM, "permission.scope", "permission.role"],
    handle: (call) => {
      const asked = readProfileQuery(call.query);
      return readProfiles(call, () => Promise.resolve(null), (people) => {
        assertPlatform(call.actor, people, "read");
        return people.companies.list(call.actor, asked);
      }, { list: asked });
    },
  }),
  route({
    ...shared,
    method: "POST",
    path: "/v1/identities/companies",
    operation: "createCompany",
    summary: "Create a company",
    body: NewCompany,
    status: 201,
    answer: CompanyView,
    errors: [...PLATFORM, "company.taken", "permission.scope", "permission.role"],
    handle: (call) => changeProfile(call, (people) => createCompany(people, call.actor, call.body)),
  }),
  route({
    ...shared,
    method: "PATCH",
    path: "/v1/identities/companies/{id}",
    operation: "changeCompany",
    summary: "Change a company",
    description: "Fields that are left out stay; null removes one; `domains` replaces all.",
    params: ById,
    body: CompanyChange,
    status: 200,
    answer: CompanyView,
    errors: [...WRITE, "company.taken"],
    handle: (call) => {
      const input = { id: idOf(call.params.id), change: call.body };
      return changeProfile(call, (people) => changeCompany(people, call.actor, input));
    },
  }),
  route({
    ...shared,
    method: "DELETE",
    path: "/v1/identities/companies/{id}",
    operation: "deleteCompany",
    summary: "Delete a company",
    description: "For good: identities that had it have none.",
    params: ById,
    status: 200,
    answer: z.array(z.never()).max(0),
    errors: WRITE,
    handle: (call) => {
      const id = idOf(call.params.id);
      return changeProfile(call, (people) => removeCompany(people, call.actor, id));
    },
  }),
  route({
    ...shared,
    method: "GET",
    path: "/v1/identities/{id}/company",
    operation: "getCompany",
    summary: "Read the company of an identity",
    params: ById,
    status: 200,
    answer: CompanyView,
    errors: [...PLATFORM, "identity.not_found", "company.not_found"],
    handle: (call) =>
      readProfiles(
        call,
        (db) => companyOf(db, call.actor, call.params.id),
        async (people, id) => {
          const read = await people.companies.read(call.actor, [id]);
          return async (db) => {
            const company = (await read(db)).get(id);
            if (company === undefined) throw notFound("company.not_found");
            return company;
          };
        },
      ),
  }),
];

/** Reads the id of a company in a path. @throws {DomainError} company.not_found */
function idOf(text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : NaN;
  if (!Number.isSafeInteger(id)) throw notFound("company.not_found");
  return id;
}
