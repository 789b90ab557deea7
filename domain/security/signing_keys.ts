/**
 * Signing keys: this process's key pair, and the published keys of all processes. The private half is
 * made on the first login and never leaves memory; the public half is published before it is used.
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
  signUserKey,
  verifyUserKey,
} from "./user_keys.ts";

/** Signs user keys and checks them. */
export interface SigningKeys {
  sign(claims: Claims): Promise<string>;
  /** Prepares to sign: what the function returned does then asks no database. */
  signer(): Promise<(claims: Claims) => Promise<string>>;
  /**
   * Checks a user key, whichever process of the installation has signed it.
   *
   * @throws {DomainError} auth.invalid, auth.expired
   */
  verify(userKey: string): Promise<Claims>;
  /** All published keys that are still valid. */
  published(): Promise<JWK[]>;
}

/** Options of the signing keys. */
export interface SigningKeysOptions {
  platform: Pool;
  userKeyTtlS: number;
  now: () => number;
}

const ROTATION_MS = 24 * 3600 * 1000;
/** A process asks at most so seldom whether its key is still published, before it signs. */
const CHECKED_MS = 10_000;

/** Opens the signing keys; nothing is made or read before it is needed. */
export function openSigningKeys(options: SigningKeysOptions): SigningKeys {
  const known = new Map<string, JWK>();
  let refreshing: Promise<void> | null = null;
  let next: Promise<void> | null = null;
  let issuer: Promise<string> | null = null;
  let current: Promise<{ key: SigningKey; madeAt: number }> | null = null;
  let published: string | null = null; // the present one, once its public half is stored
  let checkedAt = 0;

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
    if (published !== null && Math.abs(options.now() - checkedAt) >= CHECKED_MS) await refresh();
    const made = await current?.catch(() => null);
    if (!made || made.madeAt + ROTATION_MS < options.now()) current = publishNewKey(options);
    const { key } = await (current ??= publishNewKey(options)); // it may just have been found lost
    if (published !== key.kid) [published, checkedAt] = [key.kid, options.now()];
    return key;
  }

  async function readPublished(): Promise<void> {
    const own = published;
    const at = options.now();
    const keys = await reading(options.platform, (db) => selectSigningKeys(db)) as JWK[];
    known.clear();
    for (const jwk of keys) known.set(jwk.kid!, jwk);
    checkedAt = at;
    // The database may have lost its last commits: nobody would take what this one signs, for a day.
    if (own !== null && own === published && !known.has(own)) published = current = null;
  }

  /**
   * Reads all published keys by a query that begins after this call. At most one query runs and one
   * waits, so a flood of keys with invented ids causes one query at a time.
   */
  function refresh(): Promise<void> {
    next ??= (refreshing ?? Promise.resolve()).catch(() => {}).then(() => {
      next = null;
      return refreshing = readPublished().finally(() => refreshing = null);
    });
    return next;
  }

  async function find(kid: string): Promise<JWK | null> {
    if (!isId(kid)) return null;
    if (!known.has(kid)) await refresh();
    return known.get(kid) ?? null;
  }

  return {
    signer: async () => signingWith(await currentKey(), await issuerName()),
    sign: async (claims) => await signUserKey(await currentKey(), await issuerName(), claims),
    async verify(userKey) {
      return await verifyUserKey(userKey, await issuerName(), find);
    },
    async published() {
      await refresh(); // the route is public: all who ask meanwhile share one query
      return [...known.values()];
    },
  };
}

function signingWith(key: SigningKey, issuer: string): (claims: Claims) => Promise<string> {
  return (claims) => signUserKey(key, issuer, claims);
}

/** Makes a signing key; its public half is stored before it signs anything. */
async function publishNewKey(
  options: SigningKeysOptions,
): Promise<{ key: SigningKey; madeAt: number }> {
  const madeAt = options.now();
  const key = await createSigningKey(newId(madeAt));
  await serializable(options.platform, (tx) =>
    insertSigningKey(tx, {
      kid: key.kid,
      jwk: key.publicJwk,
      expires_at: madeAt + ROTATION_MS + options.userKeyTtlS * 1000 + 60_000,
      created_at: madeAt,
    }));
  return { key, madeAt };
}
