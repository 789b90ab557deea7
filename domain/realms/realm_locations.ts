/** Where realms live: in which schema, as which role, in which database. @module */
import type { Place } from "../../db/database.ts";
import type { Logins } from "../../db/realm_logins.ts";
import type { RealmRow } from "../../db/realms/realms.ts";

/** Where a new realm will live. */
export function newPlace(
  id: string,
  { roles, logins }: { roles: boolean; logins?: Logins },
  placement: Uint8Array | null = null,
): Place {
  const schema = `realm_${id.replaceAll("-", "")}`;
  const login = roles ? logins?.draw(id) ?? null : null;
  return { id, schema, role: roles ? schema : null, placement, login, rung: 0 };
}

/** Where a realm's data lives. */
export function placeOf(row: RealmRow): Place {
  return {
    id: row.id,
    schema: row.schema_name,
    role: row.role_name,
    placement: row.placement,
    login: row.login,
    rung: row.rung,
  };
}
