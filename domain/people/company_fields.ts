/** Fields of companies, as callers give them and as they are shown. @module */
import { z } from "zod";
import { text } from "../entity.ts";
import { CustomAttributes } from "./person_fields.ts";

const DOMAIN = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const Domains = z.array(
  z.string().max(253).transform((name) => name.toLowerCase()).pipe(
    z.string().regex(DOMAIN, "the name of a domain is expected"),
  ).meta({ type: "string", maxLength: 253 }),
).max(100).refine(
  (names) => new Set(names).size === names.length,
  "a domain is named twice",
).meta({ description: "Each belongs to one company." });

const TEXTS = {
  notes: text(4096),
  country: text(50),
  region: text(255),
  accountManager: text(255),
  customerStage: text(255),
  industry: text(255),
  vatNumber: text(50),
};

/** A request for a company. */
export const NewCompany = z.strictObject({
  name: text(255),
  notes: TEXTS.notes.optional(),
  country: TEXTS.country.optional(),
  region: TEXTS.region.optional(),
  accountManager: TEXTS.accountManager.optional(),
  customerStage: TEXTS.customerStage.optional(),
  industry: TEXTS.industry.optional(),
  vatNumber: TEXTS.vatNumber.optional(),
  customAttributes: CustomAttributes.optional(),
  domains: Domains.optional(),
}).meta({ id: "NewCompany" });
/** A request for a company. */
export type NewCompany = z.infer<typeof NewCompany>;

/** A change of a company; null removes a field, `domains` replaces all. */
export const CompanyChange = z.strictObject({
  name: text(255).optional(),
  notes: TEXTS.notes.nullable().optional(),
  country: TEXTS.country.nullable().optional(),
  region: TEXTS.region.nullable().optional(),
  accountManager: TEXTS.accountManager.nullable().optional(),
  customerStage: TEXTS.customerStage.nullable().optional(),
  industry: TEXTS.industry.nullable().optional(),
  vatNumber: TEXTS.vatNumber.nullable().optional(),
  customAttributes: CustomAttributes.optional(),
  domains: Domains.optional(),
}).meta({ id: "CompanyChange" });
/** A change of a company. */
export type CompanyChange = z.infer<typeof CompanyChange>;

/** A company, as the platform has it. */
export const CompanyView = z.looseObject({
  id: z.number().int(),
  createdAt: z.string().optional(),
  modifiedAt: z.string().optional(),
  name: z.string().optional(),
  notes: z.string().optional(),
  country: z.string().optional(),
  region: z.string().optional(),
  accountManager: z.string().optional(),
  customerStage: z.string().optional(),
  industry: z.string().optional(),
  vatNumber: z.string().optional(),
  customAttributes: z.record(z.string(), z.unknown()).optional(),
  domains: z.array(z.string()).optional(),
}).meta({ id: "Company" });
/** A company, as the platform has it. */
export type Company = z.infer<typeof CompanyView>;
