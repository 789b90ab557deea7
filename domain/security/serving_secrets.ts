/**
 * What the serving half keeps encrypted: addresses of databases, answers that show a key. It has no
 * master key, so its own key is derived from the operator's platform key; nothing of a chain's is
 * ever sealed here.
 * @module
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Logins } from "../../db/realm_logins.ts";

/** What a sealed text is: it opens for its own purpose and subject alone. */
export type SecretPurpose = "database_url" | "answer" | "totp" | "login" | "installation";

/** Seals and opens texts. */
export interface Secrets {
  /** @param subject what the text belongs to, such as a realm's id; the same is needed to open it */
  seal(purpose: SecretPurpose, subject: string, text: string): Uint8Array;
  /** Gives the text, or null where it was sealed with another key, for another subject, or changed. */
  open(purpose: SecretPurpose, subject: string, sealed: Uint8Array): string | null;
}

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Derives the keys (HKDF-SHA-256) with which texts are sealed (AES-256-GCM).
 *
 * @param previous the platform key before, with which texts are opened that it has sealed
 */
export function openSecrets(platformKey: string, previous: string | null = null): Secrets {
  const present = secretsUnder(platformKey);
  const before = previous === null ? null : secretsUnder(previous);
  return {
    seal: present.seal,
    open: (purpose, subject, sealed) =>
      present.open(purpose, subject, sealed) ?? before?.open(purpose, subject, sealed) ?? null,
  };
}

/** Keeps the secrets of realms' logins under the platform key. */
export function loginsUnder(secrets: Secrets): Logins {
  return {
    draw: (realm) => secrets.seal("login", realm, randomBytes(32).toString("base64url")),
    open: (sealed, realm) => secrets.open("login", realm, sealed),
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
    seal(purpose, subject, text) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv("aes-256-gcm", keyOf(purpose), nonce);
      cipher.setAAD(new TextEncoder().encode(subject));
      const body = [cipher.update(text, "utf8"), cipher.final()];
      return join([Uint8Array.of(VERSION), nonce, ...body, cipher.getAuthTag()]);
    },
    open(purpose, subject, sealed) {
      if (sealed[0] !== VERSION || sealed.length < 1 + NONCE_BYTES + TAG_BYTES) return null;
      const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
      const decipher = createDecipheriv("aes-256-gcm", keyOf(purpose), nonce);
      decipher.setAAD(new TextEncoder().encode(subject));
      decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
      try {
        const body = sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES);
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
