/** Aliases: unique codes of a realm, in one directory for accounts and identities. @module */
import { z } from "zod";
import { selectAccount } from "../../db/accounts/accounts.ts";
import {
  type AliasRow,
  insertAlias,
  selectAliases,
  selectFirstAliases,
  updateAliasData,
} from "../../db/identity/aliases.ts";
import type { Db, Tx } from "../../db/database.ts";
import { brokenConstraint } from "../../db/errors.ts";
import { selectIdentity, selectIdentityOfUser } from "../../db/identity/identities.ts";
import type { Actor } from "../actor.ts";
import {
  type Collection,
  MUTABLE_COLUMNS,
  rowFor,
  setDeleted,
  textColumn,
} from "../collections/collection.ts";
import {
  AliasCode,
  EntityFields,
  type EntityView,
  FreeForm,
  Id,
  idOf,
  viewEntity,
} from "../entity.ts";
import { DomainError } from "../errors.ts";
import { isId, newId } from "../ids.ts";
import { foldName } from "../names.ts";
import { assertMay, covers, notFound, rightsOf } from "../permissions.ts";

/** A request for an alias. */
export const NewAlias = z.strictObject({
  alias: AliasCode,
  type: z.enum(["account", "identity"]),
  account: Id.optional(),
  identity: Id.optional(),
  data: FreeForm.default({}),
}).superRefine((given, context) => {
  for (const target of ["account", "identity"] as const) {
    const named = given[target] !== undefined;
    if (named === (given.type === target)) continue;
    const message = named
      ? `an alias of type ${given.type} names no ${target}`
      : `missing: an alias of type ${target} names one`;
    context.addIssue({ code: "custom", path: [target], message });
  }
}).meta({
  id: "NewAlias",
  oneOf: [
    { properties: { type: { const: "account" }, identity: false }, required: ["account"] },
    { properties: { type: { const: "identity" }, account: false }, required: ["identity"] },
  ],
});
/** A request for an alias. */
export type NewAlias = z.infer<typeof NewAlias>;

/** A change of an alias. */
export const AliasChange = z.strictObject({ data: FreeForm.optional() }).meta({
  id: "AliasChange",
});

/** An alias as shown. */
export const AliasView = z.object({
  id: z.string(),
  alias: z.string(),
  type: z.enum(["account", "identity"]),
  account: idOf("Account").optional(),
  identity: idOf("Identity").optional(),
  ...EntityFields,
}).meta({ id: "Alias" });

/** The collection of aliases. */
export const ALIASES: Collection<AliasRow> = {
  name: "aliases",
  table: "aliases",
  deletable: true,
  counted: true,
  notFound: "alias.not_found",
  relations: {
    account: { of: "accounts", id: (row) => row.account },
    identity: { of: "identities", id: (row) => row.identity },
  },
  fields: ["error", "deleted"],
  columns: {
    ...MUTABLE_COLUMNS,
    alias: textColumn("alias"),
    type: textColumn("type"),
    account: { column: "account", type: "id", nullable: true },
    identity: { column: "identity", type: "id", nullable: true },
  },
  read: selectAliases,
  show: (_db, _actor, rows) => Promise.resolve(rows.map(viewAlias)),
};

/**
 * Gives an account or an identity that the actor may write an alias.
 *
 * @throws {DomainError} alias.taken, account.not_found, identity.not_found, permission.*
 */
export async function createAlias(tx: Tx, actor: Actor, input: NewAlias): Promise<AliasRow> {
  if (input.type === "account") {
    const row = isId(input.account!) ? await selectAccount(tx, input.account!) : null;
    assertTarget(actor, row?.type === "system" ? null : row, "account");
  } else {
    const row = isId(input.identity!) ? await selectIdentity(tx, input.identity!) : null;
    const own = await selectIdentityOfUser(tx, actor.user);
    assertTarget(actor, row, "identity", own !== null && own.id === row?.id);
  }
  return await addAlias(tx, actor, input);
}

const TAKEN: readonly string[] = [
  "aliases_alias_key",
  "aliases_folded_key",
];

/** Writes an alias whose target has been checked. @throws {DomainError} alias.taken */
export async function addAlias(tx: Tx, actor: Actor, input: NewAlias): Promise<AliasRow> {
  try {
    return await tx.savepoint((sp) =>
      insertAlias(sp, {
        id: newId(actor.at),
        alias: input.alias,
        folded: foldName(input.alias),
        type: input.type,
        account: input.account ?? null,
        identity: input.identity ?? null,
        data: input.data,
        owner: actor.user,
        created_at: actor.at,
      })
    );
  } catch (error) {
    if (!TAKEN.includes(brokenConstraint(error) ?? "")) throw error;
    throw new DomainError("alias.taken", "this alias is assigned");
  }
}

/** Changes an alias. @throws {DomainError} alias.not_found, permission.owner */
export async function changeAlias(
  tx: Tx,
  actor: Actor,
  id: string,
  input: z.infer<typeof AliasChange>,
): Promise<AliasRow> {
  const row = await rowFor(tx, actor, ALIASES, id, "write");
  if (input.data !== undefined) await updateAliasData(tx, row.id, input.data, actor.at);
  return (await selectAliases(tx, [id]))[0];
}

/** Deletes an alias; its code stays reserved, so that payments by it never reach another account. */
export async function removeAlias(
  tx: Tx,
  actor: Actor,
  id: string,
  act: "delete" | "undelete",
): Promise<Record<string, unknown>> {
  await rowFor(tx, actor, ALIASES, id, act);
  return await setDeleted(tx, actor, ALIASES, id, act === "delete");
}

/** The alias that each account or identity is shown with: its oldest. */
async function aliasesOf(db: Db, targets: string[]): Promise<ReadonlyMap<string, string>> {
  if (targets.length === 0) return new Map();
  const rows = await selectFirstAliases(db, targets);
  return new Map(rows.map((row) => [row.target, row.alias]));
}

/** Adds the aliases to the views of rows; lists read them with the rows. */
export async function withAliases<View>(
  db: Db,
  rows: readonly { id: string; alias?: string | null }[],
  views: readonly View[],
): Promise<(View & { alias: string | null })[]> {
  const unread = rows.filter((row) => row.alias === undefined).map((row) => row.id);
  const aliases = await aliasesOf(db, unread);
  return views.map((view, i) => {
    return { ...view, alias: rows[i].alias ?? aliases.get(rows[i].id) ?? null };
  });
}

/** Shows an alias. */
export function viewAlias(row: AliasRow): EntityView & Record<string, unknown> {
  const { id, alias, type } = row;
  const target = type === "account" ? { account: row.account } : { identity: row.identity };
  return { id, alias, type, ...target, ...viewEntity(row) };
}

function assertTarget(
  actor: Actor,
  row: { owner: string | null; deleted_at: number | null } | null,
  field: "account" | "identity",
  isSeen = false,
): void {
  const what = `${field}.not_found` as const;
  const path = `/${field}`;
  if (row === null || row.deleted_at !== null) throw notFound(what, path);
  if (isSeen && !covers(rightsOf(actor).write, actor, row.owner)) {
    throw new DomainError("permission.owner", "this belongs to another user");
  }
  assertMay(actor, "write", { owner: row.owner, what, path });
}
