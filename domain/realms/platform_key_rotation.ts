/**
 * Rotation of the platform key: decrypts the stored texts with the previous key and encrypts them with
 * the present one. It may be interrupted at any moment and run again.
 * @module
 */
import type { Database, Pool, Tx } from "../../db/database.ts";
import { enterSchema } from "../../db/migrate.ts";
import { lockMove, updateMoveAddresses } from "../../db/realms/moves.ts";
import { lockPlatformKey, updatePlatformKey } from "../../db/realms/installation.ts";
import { lockPlatformLogin, updatePlatformLogin } from "../../db/platform_login.ts";
import { goThrough } from "../../db/realms/realm_rounds.ts";
import { lockRealm, type RealmRow, updateRealm } from "../../db/realms/realms.ts";
import { selectProfileKey, updateProfileKey } from "../../db/people/profile_keys.ts";
import { lockSecondFactors, updateFactorSecret } from "../../db/security/second_factors.ts";
import { lockWebhookSecrets, updateWebhookSecrets } from "../../db/webhooks/webhooks.ts";
import { locking } from "../../db/transaction.ts";
import { DomainError } from "../errors.ts";
import { locationOf } from "./realms.ts";
import type { SecretPurpose, Secrets } from "../security/serving_secrets.ts";

const PAGE = 200;

/**
 * Encrypts all addresses of databases, secrets of realms' logins, of one-time passwords and of webhooks, and keys of
 * profiles, with the
 * present key. Passwords do not change, so a process that has both keys continues. Stored answers that show a
 * key are left: they are deleted after seven days.
 *
 * @param fail told of a realm that could not be done, and stops no other; without it the first one ends the work. Where
 *   one fails, no process starts with the present key alone
 * @returns the number of texts that were encrypted again
 * @throws {DomainError} internal where neither key decrypts a text; those before it are done
 */
export async function reencryptAll(
  database: Database,
  secrets: Secrets,
  fail?: (row: RealmRow, error: unknown) => void,
): Promise<number> {
  let [count, failed] = [0, 0];
  await goThrough(database.platform, {
    serverOf: (realm) => database.serverOf(locationOf(realm)),
    poolOf: (realm) => database.realm(locationOf(realm)),
    async work(realm) {
      count += await reencryptPlace(database, realm.id, secrets);
      const pool = database.realm(locationOf(realm));
      count += await reencryptFactors(pool, realm.id, secrets);
      count += await reencryptWebhooks(pool, realm.id, secrets);
      count += await locking(pool, (tx) => reencryptProfileKey(tx, realm.id, secrets));
    },
    fail(realm, error) {
      if (fail === undefined) throw error;
      failed++;
      fail(realm, error);
    },
  });
  count += await locking(database.platform, (tx) => reencryptLogin(tx, secrets));
  if (failed > 0) return count;
  // This comes last: before it no process starts with the present key alone.
  return count + await locking(database.platform, (tx) => reencryptCheck(tx, secrets));
}

/** What the directory has of a realm. */
async function reencryptPlace(database: Database, id: string, secrets: Secrets): Promise<number> {
  return await locking(database.builder, (tx) => reencryptMove(tx, id, secrets)) +
    await locking(database.platform, (tx) => reencryptRealm(tx, id, secrets));
}

async function reencryptCheck(tx: Tx, secrets: Secrets): Promise<number> {
  const { id, platform_key: ciphertext } = await lockPlatformKey(tx);
  if (ciphertext === null) return 0;
  await updatePlatformKey(tx, reencrypt(secrets, "installation", id, ciphertext));
  return 1;
}

async function reencryptLogin(tx: Tx, secrets: Secrets): Promise<number> {
  const { id, login } = await lockPlatformLogin(tx);
  if (login === null) return 0;
  await updatePlatformLogin(tx, reencrypt(secrets, "login", id, login));
  return 1;
}

async function reencryptRealm(tx: Tx, id: string, secrets: Secrets): Promise<number> {
  const { database_url_encrypted = null, login = null } = await lockRealm(tx, id) ?? {};
  const changes = {
    ...database_url_encrypted === null
      ? {}
      : { database_url_encrypted: reencrypt(secrets, "database_url", id, database_url_encrypted) },
    ...login === null ? {} : { login: reencrypt(secrets, "login", id, login) },
  };
  const count = Object.keys(changes).length;
  if (count > 0) await updateRealm(tx, id, changes);
  return count;
}

/** The addresses of a realm's last move: of the copy that was left behind, too. */
async function reencryptMove(tx: Tx, realm: string, secrets: Secrets): Promise<number> {
  await enterSchema(tx, "platform");
  const move = await lockMove(tx, realm);
  if (move === null) return 0;
  const anew = (text: Uint8Array | null) =>
    text === null ? null : reencrypt(secrets, "database_url", realm, text);
  const { source_encrypted, target_encrypted } = move;
  const addresses = {
    source_encrypted: anew(source_encrypted),
    target_encrypted: anew(target_encrypted),
  };
  await updateMoveAddresses(tx, realm, addresses);
  return Object.values(addresses).filter((text) => text !== null).length;
}

async function reencryptProfileKey(tx: Tx, realm: string, secrets: Secrets): Promise<number> {
  const wrapped = await selectProfileKey(tx);
  if (wrapped === null) return 0;
  await updateProfileKey(tx, reencrypt(secrets, "profile", realm, wrapped));
  return 1;
}

async function reencryptFactors(pool: Pool, realm: string, secrets: Secrets): Promise<number> {
  let count = 0;
  let after: string | null = null;
  for (;;) {
    const done: string[] = await locking(pool, async (tx) => {
      const rows = await lockSecondFactors(tx, after, PAGE);
      for (const { user_id, secret } of rows) {
        const ciphertext = reencrypt(secrets, "totp", `${realm} ${user_id}`, secret);
        await updateFactorSecret(tx, user_id, ciphertext);
      }
      return rows.map((row) => row.user_id);
    });
    if (done.length === 0) return count;
    count += done.length;
    after = done.at(-1)!;
  }
}

async function reencryptWebhooks(pool: Pool, realm: string, secrets: Secrets): Promise<number> {
  let count = 0;
  for (let after: string | null = null;;) {
    const done: string[] = await locking(pool, async (tx) => {
      const rows = await lockWebhookSecrets(tx, after, PAGE);
      for (const { id, secret, previous_secret } of rows) {
        const subject = `${realm} ${id}`;
        await updateWebhookSecrets(tx, id, {
          secret: reencrypt(secrets, "webhook", subject, secret),
          previous_secret: previous_secret === null
            ? null
            : reencrypt(secrets, "webhook", subject, previous_secret),
        });
      }
      return rows.map((row) => row.id);
    });
    if (done.length === 0) return count;
    count += done.length;
    after = done.at(-1)!;
  }
}

function reencrypt(
  secrets: Secrets,
  purpose: SecretPurpose,
  subject: string,
  ciphertext: Uint8Array,
): Uint8Array {
  const text = secrets.decrypt(purpose, subject, ciphertext);
  if (text !== null) return secrets.encrypt(purpose, subject, text);
  throw new DomainError(
    "internal",
    `a ${purpose} of ${subject} opens neither with PLATFORM_KEY nor with PLATFORM_KEY_PREVIOUS`,
  );
}
