/**
 * Encryption of secrets that the serving half stores: addresses of databases, answers that show a key.
 * It has no master key, so it derives its keys from the operator's platform key. Keys of chains are
 * never encrypted here.
 * @module
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Logins } from "../../db/realm_logins.ts";

/** The purpose of an encrypted text: it decrypts for the same purpose and subject alone. */
export type SecretPurpose =
  | "database_url"
  | "answer"
  | "totp"
  | "login"
  | "installation"
  | "webhook"
  | "profile"
  | "message"
  | "backup";

/** Encrypts and decrypts texts. */
export interface Secrets {
  /** @param subject the owner of the text, such as a realm's id; the same is needed to decrypt it */
  encrypt(purpose: SecretPurpose, subject: string, text: string): Uint8Array;
  /** Gives the text, or null where it was encrypted under another key or for another subject, or was altered. */
  decrypt(purpose: SecretPurpose, subject: string, ciphertext: Uint8Array): string | null;
}

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Derives the keys (HKDF-SHA-256) that encrypt texts (AES-256-GCM).
 *
 * @param previous the platform key before; it decrypts texts and encrypts none
 */
export function openSecrets(platformKey: string, previous: string | null = null): Secrets {
  const present = secretsUnder(platformKey);
  const before = previous === null ? null : secretsUnder(previous);
  return {
    encrypt: present.encrypt,
    decrypt: (purpose, subject, ciphertext) =>
      present.decrypt(purpose, subject, ciphertext) ??
        before?.decrypt(purpose, subject, ciphertext) ?? null,
  };
}

/** Encrypts the secrets of realms' logins with the platform key. */
export function loginsUnder(secrets: Secrets): Logins {
  return {
    draw: (realm) => secrets.encrypt("login", realm, randomBytes(32).toString("base64url")),
    open: (login, realm) => secrets.decrypt("login", realm, login),
  };
}

function secretsUnder(platformKey: string): Secrets {
  const keys = new Map<SecretPurpose, Uint8Array>();
  function keyOf(purpose: SecretPurpose): Uint8Array {
    let key = keys.get(purpose);
    if (key === undefined) {
      key = new Uint8Array(hkdfSync("sha256", platformKey, "purser", `serving ${purpose}`, 32));
      keys.set(purpose, key);
    }
    return key;
  }
  return {
    encrypt(purpose, subject, text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", keyOf(purpose), nonce);
      cipher.setAAD(new TextEncoder().encode(subject));
      const body = [cipher.update(text, "utf8"), cipher.final()];
      return join([Uint8Array.of(VERSION), nonce, ...body, cipher.getAuthTag()]);
    },
    decrypt(purpose, subject, ciphertext) {
      if (ciphertext[0] !== VERSION || ciphertext.length < 1 + NONCE_BYTES + TAG_BYTES) return null;
      const nonce = ciphertext.subarray(1, 1 + NONCE_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", keyOf(purpose), nonce);
      decipher.setAAD(new TextEncoder().encode(subject));
      decipher.setAuthTag(ciphertext.subarray(ciphertext.length - TAG_BYTES));
      try {
        const body = ciphertext.subarray(1 + NONCE_BYTES, ciphertext.length - TAG_BYTES);
        return new TextDecoder().decode(join([decipher.update(body), decipher.final()]));
      } catch {
        return null; // the tag does not match
      }
    },
  };
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
