/** Locations of realms: schema, role and database. @module */
import type { RealmLocation } from "../../db/database.ts";
import type { Logins } from "../../db/realm_logins.ts";
import type { RealmRow } from "../../db/realms/realms.ts";

/** Where a new realm will live. */
export function newLocation(
  id: string,
  { roles, logins }: { roles: boolean; logins?: Logins },
  encryptedUrl: Uint8Array | null = null,
): RealmLocation {
  const schema = `realm_${id.replaceAll("-", "")}`;
  const login = roles ? logins?.draw(id) ?? null : null;
  return {
    id,
    schema,
    role: roles ? schema : null,
    encryptedUrl,
    login,
    schemaVersion: 0,
    place: 0,
  };
}

/** Where a realm's data lives. */
export function locationOf(row: RealmRow): RealmLocation {
  return {
    id: row.id,
    schema: row.schema_name,
    role: row.role_name,
    encryptedUrl: row.database_url_encrypted,
    login: row.login,
    schemaVersion: row.schema_version,
    place: row.place,
  };
}
