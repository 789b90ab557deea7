/** Statements on the key of a realm's contact data, which is stored encrypted. @module */
import type { Db, Tx } from "../database.ts";

/** Reads the encrypted key; null where there is none yet. */
export async function selectProfileKey(db: Db): Promise<Uint8Array | null> {
  const [row] = await db<{ wrapped: Uint8Array }[]>`select wrapped from profile_keys`;
  return row?.wrapped ?? null;
}

/** Adds the key; the first stays. */
export async function insertProfileKey(tx: Tx, wrapped: Uint8Array, at: number): Promise<void> {
  await tx`
    insert into profile_keys (one, wrapped, created_at) values (true, ${wrapped}, ${at})
    on conflict do nothing`;
}

/** Replaces the encrypted form of the same key. */
export async function updateProfileKey(tx: Tx, wrapped: Uint8Array): Promise<void> {
  await tx`update profile_keys set wrapped = ${wrapped}`;
}
