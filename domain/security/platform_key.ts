/**
 * Whether PLATFORM_KEY is the key that the installation's secrets are sealed with. Under another one realms would be
 * made, and second factors begun, that open with no key any more once the right one is back.
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
  "PLATFORM_KEY is not the key that this installation's secrets are sealed with. Set " +
  "that one; to change it, set it as PLATFORM_KEY_PREVIOUS beside the new one (docs/operations/keys.md). Where " +
  "it was lost: `migrate --new-logins`";

/**
 * Refuses a platform key that is not the installation's, before anything is changed: the first look of a process.
 *
 * @throws {Error} where another one counts
 */
export async function refuseOtherKey(pool: Pool, secrets: Secrets): Promise<void> {
  await reading(pool, async (db) => {
    if (await isInstalled(db) && !await holdsPlatformKey(db, secrets)) throw new Error(ANOTHER);
  });
}

/**
 * Takes note of the first platform key.
 *
 * @param anew whether this one counts from now on, for the other one was lost
 * @throws {Error} where neither this one counts nor the one before it
 */
export async function claimPlatformKey(
  pool: Pool,
  secrets: Secrets,
  anew = false,
): Promise<void> {
  await locking(pool, async (tx) => {
    const { id, platform_key: sealed } = await lockPlatformKey(tx);
    if (sealed !== null && opens(secrets, id, sealed)) return;
    if (sealed !== null && !anew) throw new Error(ANOTHER);
    await updatePlatformKey(tx, secrets.seal("installation", id, id));
  });
}

/** Tells whether what is sealed with this key opens where it is needed. */
export async function holdsPlatformKey(db: Db, secrets: Secrets): Promise<boolean> {
  const { id, platform_key: sealed } = await selectPlatformKey(db);
  return sealed === null || opens(secrets, id, sealed);
}

/** Refuses to seal what would be lost. @throws {DomainError} service.overloaded */
export async function assertPlatformKey(db: Db, secrets: Secrets): Promise<void> {
  if (await holdsPlatformKey(db, secrets)) return;
  throw new DomainError(
    "service.overloaded",
    "this process was started with another platform key than the installation's: ask its operator",
    { retryAfterS: 60 },
  );
}

function opens(secrets: Secrets, id: string, sealed: Uint8Array): boolean {
  return secrets.open("installation", id, sealed) === id;
}
