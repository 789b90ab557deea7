/**
 * This process's signing key and the published keys of all processes. The private half is made here
 * on the first login and never leaves memory; the public half is published before it is used.
 * @module
 */
import type { JWK } from "jose";
import type { Pool } from "../../db/database.ts";
import { selectInstallation } from "../../db/realms/installation.ts";
import { insertSigningKey, selectSigningKeys } from "../../db/realms/realms.ts";
import { reading, serializable } from "../../db/transaction.ts";
import { isId, newId } from "../ids.ts";
import {
  type Claims,
  createSigningKey,
  type SigningKey,
  signToken,
  verifyToken,
} from "./user_keys.ts";

/** Signs user keys and checks them. */
export interface Keyring {
  sign(claims: Claims): Promise<string>;
  /**
   * Checks a user key, whichever process of the installation has signed it.
   *
   * @throws {DomainError} auth.invalid, auth.expired
   */
  verify(token: string): Promise<Claims>;
  /** All published keys that are still valid. */
  published(): Promise<JWK[]>;
}

/** How a keyring works. */
export interface KeyringOptions {
  platform: Pool;
  tokenTtlS: number;
  now: () => number;
}

const ROTATION_MS = 24 * 3600 * 1000;

/** Opens the keyring; nothing is made or read before it is needed. */
export function openKeyring(options: KeyringOptions): Keyring {
  const known = new Map<string, JWK>();
  let looking: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  let issuer: Promise<string> | null = null;
  let current: Promise<{ key: SigningKey; madeAt: number }> | null = null;

  /** Names the installation, not an address of it: keys hold on every process, and when it moves. */
  function issuerName(): Promise<string> {
    issuer ??= reading(options.platform, selectInstallation).then(({ id }) => `urn:purser:${id}`)
      .catch((error) => {
        issuer = null;
        throw error;
      });
    return issuer;
  }

  async function currentKey(): Promise<SigningKey> {
    const made = await current?.catch(() => null);
    if (!made || made.madeAt + ROTATION_MS < options.now()) current = publishNewKey(options);
    return (await current!).key;
  }

  async function look(): Promise<void> {
    const keys = await reading(options.platform, (db) => selectSigningKeys(db)) as JWK[];
    known.clear();
    for (const jwk of keys) known.set(jwk.kid!, jwk);
  }

  /**
   * Reads all published keys by a look that begins after it was asked for. At most one runs and one
   * waits, so a flood of keys with made-up ids is answered by a query at a time.
   */
  function lookAgain(): Promise<void> {
    next ??= (looking ?? Promise.resolve()).catch(() => {}).then(() => {
      next = null;
      return looking = look().finally(() => looking = null);
    });
    return next;
  }

  async function find(kid: string): Promise<JWK | null> {
    if (!isId(kid)) return null;
    if (!known.has(kid)) await lookAgain();
    return known.get(kid) ?? null;
  }

  return {
    async sign(claims) {
      return await signToken(await currentKey(), await issuerName(), claims);
    },
    async verify(token) {
      return await verifyToken(token, await issuerName(), find);
    },
    async published() {
      await lookAgain(); // one look for all who ask meanwhile: everybody may
      return [...known.values()];
    },
  };
}

/** Makes a signing key; its public half is stored before it signs anything. */
async function publishNewKey(
  options: KeyringOptions,
): Promise<{ key: SigningKey; madeAt: number }> {
  const madeAt = options.now();
  const key = await createSigningKey(newId(madeAt));
  await serializable(options.platform, (tx) =>
    insertSigningKey(tx, {
      kid: key.kid,
      jwk: key.publicJwk,
      expires_at: madeAt + ROTATION_MS + options.tokenTtlS * 1000 + 60_000,
      created_at: madeAt,
    }));
  return { key, madeAt };
}
