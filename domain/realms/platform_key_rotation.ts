/**
 * Changes the platform key: what the serving half has sealed is opened with the key before and sealed
 * with the present one. It may be ended at any moment and begun again.
 * @module
 */
import type { Database, Pool, Tx } from "../../db/database.ts";
import { lockPlatformKey, updatePlatformKey } from "../../db/realms/installation.ts";
import { lockPlatformLogin, updatePlatformLogin } from "../../db/platform_login.ts";
import { allRealms } from "../../db/realms/realm_pages.ts";
import { lockRealm, updateRealm } from "../../db/realms/realms.ts";
import { lockSecondFactors, updateSealedFactor } from "../../db/security/second_factors.ts";
import { locking } from "../../db/transaction.ts";
import { DomainError } from "../errors.ts";
import { locationOf } from "./realms.ts";
import type { SecretPurpose, Secrets } from "../security/serving_secrets.ts";

const PAGE = 200;

/**
 * Seals all addresses of databases, secrets of realms' logins and secrets of one-time passwords with the present
 * key. Passwords stay what they are, so every process goes on that opens either seal. Kept
 * answers that show a key are left: they are forgotten after seven days.
 *
 * @returns how many were sealed anew
 * @throws {DomainError} internal where one opens with neither key; those before it have been done
 */
export async function resealAll(database: Database, secrets: Secrets): Promise<number> {
  let count = 0;
  for await (const realm of allRealms(database.platform)) {
    count += await locking(database.platform, (tx) => resealPlace(tx, realm.id, secrets));
    count += await resealFactors(database.realm(locationOf(realm)), realm.id, secrets);
  }
  count += await locking(database.platform, (tx) => resealLogin(tx, secrets));
  // The last: until then no process starts that has the present key alone.
  return count + await locking(database.platform, (tx) => resealCheck(tx, secrets));
}

async function resealCheck(tx: Tx, secrets: Secrets): Promise<number> {
  const { id, platform_key: sealed } = await lockPlatformKey(tx);
  if (sealed === null) return 0;
  await updatePlatformKey(tx, reseal(secrets, "installation", id, sealed));
  return 1;
}

async function resealLogin(tx: Tx, secrets: Secrets): Promise<number> {
  const { id, login } = await lockPlatformLogin(tx);
  if (login === null) return 0;
  await updatePlatformLogin(tx, reseal(secrets, "login", id, login));
  return 1;
}

async function resealPlace(tx: Tx, id: string, secrets: Secrets): Promise<number> {
  const { database_url_encrypted = null, login = null } = await lockRealm(tx, id) ?? {};
  const changes = {
    ...database_url_encrypted === null
      ? {}
      : { database_url_encrypted: reseal(secrets, "database_url", id, database_url_encrypted) },
    ...login === null ? {} : { login: reseal(secrets, "login", id, login) },
  };
  const count = Object.keys(changes).length;
  if (count > 0) await updateRealm(tx, id, changes);
  return count;
}

async function resealFactors(pool: Pool, realm: string, secrets: Secrets): Promise<number> {
  let count = 0;
  let after: string | null = null;
  for (;;) {
    const done: string[] = await locking(pool, async (tx) => {
      const rows = await lockSecondFactors(tx, after, PAGE);
      for (const { user_id, secret } of rows) {
        const sealed = reseal(secrets, "totp", `${realm} ${user_id}`, secret);
        await updateSealedFactor(tx, user_id, sealed);
      }
      return rows.map((row) => row.user_id);
    });
    if (done.length === 0) return count;
    count += done.length;
    after = done.at(-1)!;
  }
}

function reseal(
  secrets: Secrets,
  purpose: SecretPurpose,
  subject: string,
  sealed: Uint8Array,
): Uint8Array {
  const text = secrets.open(purpose, subject, sealed);
  if (text !== null) return secrets.seal(purpose, subject, text);
  throw new DomainError(
    "internal",
    `a ${purpose} of ${subject} opens neither with PLATFORM_KEY nor with PLATFORM_KEY_PREVIOUS`,
  );
}
