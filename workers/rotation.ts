/**
 * Changes the master key: every secret's data key is wrapped anew, realm by realm; the secrets
 * themselves stay sealed. It may be ended at any moment and begun again.
 * @module
 */
import type { Database, Pool } from "../db/database.ts";
import { type RealmRow, selectRealms } from "../db/realms.ts";
import { type SecretRow, selectSecretsNotUnder, updateWrapping } from "../db/secrets.ts";
import { reading, serializable } from "../db/transaction.ts";
import { placeOf } from "../domain/realms.ts";
import { type MasterKey, readMasterKey, rewrapSecret } from "../domain/sealing.ts";
import type { Log } from "../log.ts";

/** What a rotation takes. */
export interface Rotation {
  database: Database;
  log: Log;
  /** The key in use; base64 of 32 bytes. */
  from: string;
  /** The key that takes its place. */
  to: string;
}

const PAGE = 200;

/**
 * Wraps all secrets of all realms under another master key.
 *
 * @returns how many were wrapped anew
 * @throws {TypeError} if one is wrapped under neither key; those before it have been done
 */
export async function rotateMasterKey(rotation: Rotation): Promise<number> {
  const keys = { from: await readMasterKey(rotation.from), to: await readMasterKey(rotation.to) };
  let count = 0;
  for (let after: string | null = null;;) {
    const page: RealmRow[] = await reading(
      rotation.database.platform,
      (db) => selectRealms(db, after, PAGE),
    );
    for (const realm of page) {
      count += await rotateRealm(rotation.database.realm(placeOf(realm)), realm.id, keys);
    }
    if (page.length < PAGE) break;
    after = page[page.length - 1].id;
  }
  rotation.log("info", "the master key was changed", { count });
  return count;
}

/** Wraps the secrets of one realm under another master key; gives how many were wrapped anew. */
export async function rotateRealm(
  pool: Pool,
  realm: string,
  keys: { from: MasterKey; to: MasterKey },
): Promise<number> {
  for (let count = 0;;) {
    const page: SecretRow[] = await reading(
      pool,
      (db) => selectSecretsNotUnder(db, keys.to.id, PAGE),
    );
    if (page.length === 0) return count;
    for (const row of page) {
      const name = { realm, kind: row.kind, id: row.id };
      const { master, wrapped } = await rewrapSecret(keys.from, keys.to, name, row);
      const secret = { id: row.id, master, wrapped };
      await serializable(pool, (tx) => updateWrapping(tx, secret, row.master));
      count++;
    }
  }
}
