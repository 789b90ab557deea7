/** Identities as a collection: lists, changes, deletion; and identities made with an alias. @module */
import { z } from "zod";
import type { Tx } from "../../db/database.ts";
import {
  type IdentityRow,
  selectIdentities,
  selectListedIdentities,
  updateIdentity,
} from "../../db/identity/identities.ts";
import type { Actor } from "../actor.ts";
import { addAlias, withAliases } from "./aliases.ts";
import {
  type Collection,
  MUTABLE_COLUMNS,
  rowFor,
  setDeleted,
  textColumn,
} from "../collections/collection.ts";
import { AliasCode, FreeForm } from "../entity.ts";
import {
  AccountingCurrency,
  Country,
  createIdentity,
  NewIdentity,
  viewIdentity,
} from "./identities.ts";
import { ownIdentity } from "./user_collection.ts";

/** A request for an identity, optionally with an alias. */
export const NewIdentityWithAlias = z.strictObject({
  ...NewIdentity.shape,
  alias: AliasCode.optional(),
}).meta({ id: "NewIdentityWithAlias" });

/** The id of a company. */
export const CompanyId = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER);

/** A change of an identity. */
export const IdentityChange = z.strictObject({
  type: z.enum(["neutral", "person", "company"]).optional(),
  country: Country.optional(),
  currency: AccountingCurrency.optional(),
  company: CompanyId.nullable().optional().meta({ description: "Null removes it." }),
  data: FreeForm.optional(),
}).meta({ id: "IdentityChange" });

/** The collection of identities. */
export const IDENTITIES: Collection<IdentityRow> = {
  name: "identities",
  table: "identities",
  deletable: true,
  counted: true,
  notFound: "identity.not_found",
  populate: ["person", "company"],
  fields: ["alias", "error", "deleted"],
  columns: {
    ...MUTABLE_COLUMNS,
    type: textColumn("type"),
    country: textColumn("country"),
    currency: textColumn("currency"),
    person: textColumn("person", true),
    company: { column: "company", type: "integer", nullable: true },
  },
  read: selectIdentities,
  readListed: selectListedIdentities,
  show: (db, _actor, rows) => withAliases(db, rows, rows.map(viewIdentity)),
  ownId: ownIdentity,
  ownIsRead: true,
};

/** Creates an identity and, if requested, its alias. @throws {DomainError} alias.taken */
export async function createIdentityWithAlias(
  tx: Tx,
  actor: Actor,
  input: z.infer<typeof NewIdentityWithAlias>,
): Promise<Record<string, unknown>> {
  const { alias, ...rest } = input;
  const row = await createIdentity(tx, actor, rest);
  if (alias !== undefined) {
    await addAlias(tx, actor, { alias, type: "identity", identity: row.id, data: {} });
  }
  return { ...viewIdentity(row), alias: alias ?? null };
}

/** Changes an identity. @throws {DomainError} identity.not_found, permission.owner */
export async function changeIdentity(
  tx: Tx,
  actor: Actor,
  id: string,
  input: z.infer<typeof IdentityChange>,
): Promise<Record<string, unknown>> {
  const row = await rowFor(tx, actor, IDENTITIES, id, "write");
  const next = {
    type: input.type ?? row.type,
    country: input.country ?? row.country,
    currency: input.currency ?? row.currency,
    company: input.company === undefined ? row.company : input.company?.toString() ?? null,
    data: input.data ?? row.data,
  };
  const changed = await updateIdentity(tx, row.id, next, actor.at);
  return (await IDENTITIES.show(tx, actor, [changed], new Set()))[0];
}

/** Deletes or restores an identity. @throws {DomainError} identity.not_found, permission.* */
export async function removeIdentity(
  tx: Tx,
  actor: Actor,
  id: string,
  act: "delete" | "undelete",
): Promise<Record<string, unknown>> {
  await rowFor(tx, actor, IDENTITIES, id, act);
  return await setDeleted(tx, actor, IDENTITIES, id, act === "delete");
}
