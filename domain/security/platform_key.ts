/**
 * Checks that PLATFORM_KEY is the key that encrypts the installation's secrets. With another one, realms
 * and second factors would be created whose secrets cannot be decrypted once the right key is back.
 * @module
 */
import type { Db, Pool } from "../../db/database.ts";
import {
  isInstalled,
  lockPlatformKey,
  selectPlatformKey,
  updatePlatformKey,
} from "../../db/realms/installation.ts";
import { locking, reading } from "../../db/transaction.ts";
import { DomainError } from "../errors.ts";
import type { Secrets } from "./serving_secrets.ts";

const ANOTHER =
  "PLATFORM_KEY is not the key that this installation's secrets are encrypted with. Set " +
  "that one; to change it, set it as PLATFORM_KEY_PREVIOUS beside the new one (docs/operations/keys.md). Where " +
  "it was lost: `migrate --new-logins`";

/**
 * Refuses a platform key that is not the installation's. A process checks it before it changes anything.
 *
 * @throws {Error} where the installation has another key
 */
export async function refuseOtherKey(pool: Pool, secrets: Secrets): Promise<void> {
  await reading(pool, async (db) => {
    if (await isInstalled(db) && !await holdsPlatformKey(db, secrets)) throw new Error(ANOTHER);
  });
}

/**
 * Stores a check of the first platform key.
 *
 * @param anew whether this key replaces one that was lost
 * @throws {Error} where neither this key nor the previous one is the installation's
 */
export async function claimPlatformKey(
  pool: Pool,
  secrets: Secrets,
  anew = false,
): Promise<void> {
  await locking(pool, async (tx) => {
    const { id, platform_key: ciphertext } = await lockPlatformKey(tx);
    if (ciphertext !== null && opens(secrets, id, ciphertext)) return;
    if (ciphertext !== null && !anew) throw new Error(ANOTHER);
    await updatePlatformKey(tx, secrets.encrypt("installation", id, id));
  });
}

/** Tells whether this key is the one that the installation's secrets are encrypted with. */
export async function holdsPlatformKey(db: Db, secrets: Secrets): Promise<boolean> {
  const { id, platform_key: ciphertext } = await selectPlatformKey(db);
  return ciphertext === null || opens(secrets, id, ciphertext);
}

/** Refuses to encrypt under a key that is not the installation's. @throws {DomainError} service.overloaded */
export async function assertPlatformKey(db: Db, secrets: Secrets): Promise<void> {
  if (await holdsPlatformKey(db, secrets)) return;
  throw new DomainError(
    "service.overloaded",
    "this process was started with another platform key than the installation's: ask its operator",
    { retryAfterS: 60 },
  );
}

function opens(secrets: Secrets, id: string, ciphertext: Uint8Array): boolean {
  return secrets.decrypt("installation", id, ciphertext) === id;
}
