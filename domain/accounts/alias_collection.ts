/** Aliases as a collection. @module */
import type { AliasRow } from "../../db/identity/aliases.ts";
import type { Db, Tx } from "../../db/database.ts";
import { ACCOUNTS } from "./account_collection.ts";
import type { Actor } from "../actor.ts";
import { ALIASES, removeAlias, viewAlias } from "../identity/aliases.ts";
import type { AnyCollection, Collection } from "../collections/collection.ts";
import { IDENTITIES } from "../identity/identity_collection.ts";
import { mayRead } from "../permissions.ts";

/** The collection of aliases. */
export const ALIAS_COLLECTION: Collection<AliasRow> = {
  ...ALIASES,
  async show(db, actor, rows, populate) {
    const views: Record<string, unknown>[] = rows.map(viewAlias);
    for (const [field, target] of [["account", ACCOUNTS], ["identity", IDENTITIES]] as const) {
      if (!populate.has(field)) continue;
      const whole = await targets(db, actor, target, rows.flatMap((row) => row[field] ?? []));
      rows.forEach((row, i) => {
        const found = whole.get(row[field] ?? "");
        if (found !== undefined) views[i][field] = found;
      });
    }
    return views;
  },
};

/** Deletes or restores an alias. @throws {DomainError} alias.not_found, permission.* */
export async function removeAliasOf(
  tx: Tx,
  actor: Actor,
  id: string,
  act: "delete" | "undelete",
): Promise<Record<string, unknown>> {
  return await removeAlias(tx, actor, ALIAS_COLLECTION, id, act);
}

/** The views of those targets that the actor may see. */
async function targets(
  db: Db,
  actor: Actor,
  collection: AnyCollection,
  ids: string[],
): Promise<ReadonlyMap<string, unknown>> {
  const found: { id: string; owner: string | null }[] = await collection.read(db, ids);
  const seen = found.filter((row) => mayRead(actor, row.owner));
  const views = await collection.show(db, actor, seen, new Set());
  return new Map(seen.map((row, i) => [row.id, views[i]]));
}
