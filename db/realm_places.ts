/** The statement by which a process finds a realm that has moved, in the platform's schema. @module */
import type { Db, RealmLocation } from "./pool_types.ts";

/** Reads where a realm lives, and whether it takes no writes now because it moves; null where there is none. */
export async function selectPlace(
  db: Db,
  id: string,
): Promise<{ location: RealmLocation; moving: boolean } | null> {
  const [row] = await db<(RealmLocation & { moving: boolean })[]>`
    select id, schema_name as schema, role_name as role, database_url_encrypted as "encryptedUrl", login,
      schema_version as "schemaVersion", place, exists (
        select from realm_moves m where m.realm = realms.id and m.step in ('fencing', 'fenced')) as moving
    from realms where id = ${id}`;
  if (row === undefined) return null;
  const { moving, ...location } = row;
  return { location, moving };
}
