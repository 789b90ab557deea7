/**
 * Encryption of contact data at rest. Each realm has a key of its own, which the serving half keeps
 * under the platform key; a new platform key encrypts that one again and no profile. A keyed digest
 * finds a number or an address without revealing it.
 * @module
 */
import { createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { Db, Tx } from "../../db/database.ts";
import { insertProfileKey, selectProfileKey } from "../../db/people/profile_keys.ts";
import { parseStoredJson } from "../json.ts";
import { openSecrets, type Secrets } from "../security/serving_secrets.ts";

/** Encrypts and decrypts the contact data of a realm. */
export interface ProfileCipher {
  /** @param subject id of the row, without which the text does not decrypt */
  encrypt(subject: string, value: unknown): Uint8Array;
  /** @throws {TypeError} where it was encrypted for another row, or altered */
  decrypt(subject: string, ciphertext: Uint8Array): unknown;
  /** The digest by which an exact value is found. */
  digest(channel: string, value: string): Uint8Array;
}

/** Opens the realm's key; makes it if there is none yet. */
export async function openProfileCipher(
  tx: Tx,
  secrets: Secrets,
  { realm, at }: { realm: string; at: number },
): Promise<ProfileCipher> {
  const existing = await selectProfileKey(tx);
  if (existing !== null) return cipherOf(secrets, realm, existing);
  const fresh = secrets.encrypt("profile", realm, randomBytes(32).toString("base64url"));
  await insertProfileKey(tx, fresh, at);
  return cipherOf(secrets, realm, (await selectProfileKey(tx))!);
}

/** Opens the realm's key for reading; null where the realm has no profile yet. */
export async function findProfileCipher(
  db: Db,
  secrets: Secrets,
  realm: string,
): Promise<ProfileCipher | null> {
  const wrapped = await selectProfileKey(db);
  return wrapped === null ? null : cipherOf(secrets, realm, wrapped);
}

function cipherOf(secrets: Secrets, realm: string, wrapped: Uint8Array): ProfileCipher {
  const key = secrets.decrypt("profile", realm, wrapped);
  if (key === null) throw new TypeError("the profile key decrypts under no platform key");
  const contents = openSecrets(key);
  const index = new Uint8Array(hkdfSync("sha256", key, "purser", "profile digest", 32));
  return {
    encrypt: (subject, value) => contents.encrypt("profile", subject, JSON.stringify(value)),
    decrypt(subject, ciphertext) {
      const text = contents.decrypt("profile", subject, ciphertext);
      if (text === null) throw new TypeError("contact data cannot be decrypted");
      return parseStoredJson(text);
    },
    digest: (channel, value) =>
      new Uint8Array(createHmac("sha256", index).update(`${channel}\0${value}`).digest()),
  };
}
