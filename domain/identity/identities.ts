/** Identities: the holders of accounts. @module */
import { z } from "zod";
import type { Tx } from "../../db/database.ts";
import { type IdentityRow, insertIdentity } from "../../db/identity/identities.ts";
import type { Actor } from "../actor.ts";
import { COUNTRIES, CURRENCIES } from "../codes.ts";
import { EntityFields, type EntityView, FreeForm, viewEntity } from "../entity.ts";
import { newId } from "../ids.ts";

/** A two-letter country code of the specification's list. */
export const Country = z.string().refine((code) => COUNTRIES.has(code), "not a known country code")
  .meta({
    id: "Country",
    description: "ISO 3166-1 alpha-2.",
    enum: [...COUNTRIES],
    example: "US",
  });

/** An accounting currency of the specification's list. */
export const AccountingCurrency = z.string()
  .refine((code) => CURRENCIES.has(code), "not a known accounting currency")
  .meta({
    id: "AccountingCurrency",
    description: "An accounting currency.",
    enum: [...CURRENCIES],
    example: "EUR",
  });

/** A request for an identity. */
export const NewIdentity = z.strictObject({
  type: z.enum(["neutral", "person", "company"]).default("neutral"),
  country: Country.optional(),
  currency: AccountingCurrency.optional(),
  data: FreeForm.default({}),
}).meta({ id: "NewIdentity" });
/** A request for an identity. */
export type NewIdentity = z.infer<typeof NewIdentity>;

/** An identity as shown. */
export const IdentityView = z.object({
  id: z.string(),
  type: z.enum(["neutral", "person", "company"]),
  alias: z.string().nullable().optional(),
  country: z.string(),
  currency: z.string(),
  person: z.string().nullable().meta({ populated: "Person" }),
  company: z.number().int().nullable().meta({ populated: "Company" }),
  ...EntityFields,
}).meta({ id: "Identity" });

/**
 * Creates an identity, with the realm's country and currency where none are given.
 *
 * @param input.id made here unless given
 * @param input.owner the user it belongs to; the actor unless given
 */
export async function createIdentity(
  tx: Tx,
  actor: Actor,
  input: NewIdentity & { id?: string; owner?: string },
): Promise<IdentityRow> {
  return await insertIdentity(tx, {
    id: input.id ?? newId(actor.at),
    type: input.type,
    country: input.country ?? actor.realm.country,
    currency: input.currency ?? actor.realm.accountingCurrency,
    data: input.data,
    owner: input.owner ?? actor.user,
    created_at: actor.at,
  });
}

/** Shows an identity. */
export function viewIdentity(row: IdentityRow): EntityView & Record<string, unknown> {
  const { id, type, country, currency, person } = row;
  const company = row.company === null ? null : Number(row.company);
  return { id, type, country, currency, person, company, ...viewEntity(row) };
}
