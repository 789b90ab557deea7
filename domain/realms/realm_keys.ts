/** The key that names a realm at logins: shown to the operator, and replaced without a gap. @module */
import type { Tx } from "../../db/database.ts";
import { lockRealm, type RealmRow, updateRealmKey } from "../../db/realms/realms.ts";
import { isId } from "../ids.ts";
import { notFound } from "../permissions.ts";
import { viewRealm } from "./realms.ts";

/** Shows a realm to the operator, with the keys that name it at logins. */
export function viewRealmWithKeys(row: RealmRow): Record<string, unknown> {
  return {
    ...viewRealm(row),
    realm_key: row.realm_key,
    ...row.previous_realm_key === null ? {} : { previous_realm_key: row.previous_realm_key },
  };
}

/**
 * Draws another realm key. The previous one stays valid until it is ended or replaced again.
 *
 * @throws {DomainError} realm.not_found
 */
export async function replaceRealmKey(tx: Tx, id: string): Promise<RealmRow> {
  const row = isId(id) ? await lockRealm(tx, id) : null;
  if (row === null) throw notFound("realm.not_found");
  return await updateRealmKey(tx, id, {
    realm_key: crypto.randomUUID(),
    previous_realm_key: row.realm_key,
  });
}

/**
 * Ends the previous realm key.
 *
 * @throws {DomainError} realm.not_found, key.not_found
 */
export async function endPreviousRealmKey(tx: Tx, id: string): Promise<RealmRow> {
  const row = isId(id) ? await lockRealm(tx, id) : null;
  if (row === null) throw notFound("realm.not_found");
  if (row.previous_realm_key === null) throw notFound("key.not_found");
  return await updateRealmKey(tx, id, { realm_key: row.realm_key, previous_realm_key: null });
}
