/** Reads of the platform's tables that a backup begins with. @module */
import type { RealmLocation, Tx } from "../database.ts";

/** A realm of the directory, as far as a backup needs it. */
export interface BackedRealm {
  id: string;
  name: string;
  schema_name: string;
  role_name: string | null;
  database_url_encrypted: Uint8Array | null;
  /** Number of its place, which grows with each move. */
  place: number;
}

/** Reads the id of the installation, and the fingerprint of its master key. */
export async function selectIdentity(
  tx: Tx,
): Promise<{ id: string; master: string | null } | null> {
  const [row] = await tx<{ id: string; master: string | null }[]>`
    select id, master from installation`;
  return row ?? null;
}

/** Reads one realm, or all, in the order of their ids. */
export async function selectBackedRealms(
  tx: Tx,
  only: string | null,
): Promise<BackedRealm[]> {
  return await tx<BackedRealm[]>`
    select id, name, schema_name, role_name, database_url_encrypted, place from realms
    where ${only === null ? tx`true` : tx`id = ${only}`} order by id`;
}

/** Where a realm's rows are, for the login that owns them. */
export function ownedLocation(
  realm: Pick<BackedRealm, "id" | "schema_name" | "database_url_encrypted">,
): RealmLocation {
  return {
    id: realm.id,
    schema: realm.schema_name,
    role: null,
    encryptedUrl: realm.database_url_encrypted,
    login: null,
    schemaVersion: Number.MAX_SAFE_INTEGER,
    place: 0,
  };
}
