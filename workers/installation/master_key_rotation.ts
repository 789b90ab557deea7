/**
 * Rotation of the master key: wraps every secret's data key under the new key, realm by realm; the secrets
 * themselves are not decrypted. It may be interrupted at any moment and started again.
 * @module
 */
import type { Database, Pool } from "../../db/database.ts";
import { lockInstallation, updateInstallation } from "../../db/realms/installation.ts";
import {
  type SecretRow,
  selectSecretsNotUnder,
  updateWrapping,
} from "../../db/security/secrets.ts";
import { goThrough, reasonOf } from "../../db/realms/realm_rounds.ts";
import { locking, reading, serializable } from "../../db/transaction.ts";
import { locationOf } from "../../domain/realms/realms.ts";
import { type MasterKey, readMasterKey, rewrapSecret } from "../../domain/security/envelope.ts";
import type { Log } from "../../log.ts";

/** Input of a rotation. */
export interface Rotation {
  database: Database;
  log: Log;
  /** The key in use; base64 of 32 bytes. */
  from: string;
  /** The new key. */
  to: string;
}

/** The result of a rotation. */
export interface RotationReport {
  /** Secrets that were wrapped anew, in the realms that did not fail. */
  count: number;
  /** Realms that may still have secrets under the old key, and why. */
  failed: { realm: string; name: string; fault: string }[];
}

const PAGE = 200;

/**
 * Wraps all secrets of all realms under another master key. From its start no process writes a secret under
 * the old key; it ends when a whole pass finds none. A realm that fails stops no other.
 *
 * @throws {TypeError} if the installation has neither key
 */
export async function rotateMasterKey(rotation: Rotation): Promise<RotationReport> {
  const { database, log } = rotation;
  const keys = { from: await readMasterKey(rotation.from), to: await readMasterKey(rotation.to) };
  await locking(database.platform, async (tx) => {
    const { master } = await lockInstallation(tx);
    if (master !== null && master !== keys.from.id && master !== keys.to.id) {
      throw new TypeError(
        `the installation has the master key ${master}, which is neither of both`,
      );
    }
    await updateInstallation(tx, { master: keys.to.id });
  });
  let count = 0;
  let failed: RotationReport["failed"] = [];
  for (let found = 1; found > 0; count += found) {
    found = 0;
    failed = []; // those of the last pass count
    await goThrough(database.platform, {
      serverOf: (realm) => database.serverOf(locationOf(realm)),
      poolOf: (realm) => database.migrating(locationOf(realm)),
      async work(realm) {
        const owner = database.owner(locationOf(realm)); // no role that works changes a secret
        try {
          found += await rotateRealm(owner, realm.id, keys);
        } finally {
          await owner.sql.end({ timeout: 5 });
        }
      },
      fail({ id, name }, error) {
        log("error", "the secrets of a realm are not under the new master key", {
          realm: id,
          error,
        });
        failed.push({ realm: id, name, fault: reasonOf(error) });
      },
    });
  }
  if (failed.length === 0) log("info", "the master key was changed", { count });
  return { count, failed };
}

/** Wraps the secrets of one realm under another master key; gives their number. */
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
