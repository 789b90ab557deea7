/**
 * This process's signing key and the published keys of all processes. The private half is made here
 * on the first login and never leaves memory; the public half is published before it is used.
 * @module
 */
import type { JWK } from "jose";
import type { Pool } from "../db/database.ts";
import { insertSigningKey, selectSigningKey, selectSigningKeys } from "../db/realms.ts";
import { reading } from "../db/transaction.ts";
import { newId } from "./ids.ts";
import { type Claims, createSigningKey, type SigningKey, signToken } from "./tokens.ts";

/** Signs user keys and finds the public keys that check them. */
export interface Keyring {
  sign(claims: Claims): Promise<string>;
  /** Finds a published key; null for an unknown one. */
  find(kid: string): Promise<JWK | null>;
  /** All published keys that are still valid. */
  published(): Promise<JWK[]>;
}

/** How a keyring works. */
export interface KeyringOptions {
  platform: Pool;
  issuer: string;
  tokenTtlS: number;
  now: () => number;
}

const ROTATION_MS = 24 * 3600 * 1000;
const REMEMBERED_MAX = 1000;
/** How long an unknown key id is remembered as such, so that garbage costs no query each. */
const UNKNOWN_MS = 1000;

/** Opens the keyring; nothing is made or read before it is needed. */
export function openKeyring(options: KeyringOptions): Keyring {
  const known = new Map<string, { jwk: JWK | null; at: number }>();
  let current: Promise<{ key: SigningKey; madeAt: number }> | null = null;

  async function make(): Promise<{ key: SigningKey; madeAt: number }> {
    const madeAt = options.now();
    const key = await createSigningKey(newId(madeAt));
    await reading(options.platform, (db) =>
      insertSigningKey(db, {
        kid: key.kid,
        jwk: key.publicJwk,
        expires_at: madeAt + ROTATION_MS + options.tokenTtlS * 1000 + 60_000,
        created_at: madeAt,
      }));
    return { key, madeAt };
  }

  async function currentKey(): Promise<SigningKey> {
    const made = await current?.catch(() => null);
    if (!made || made.madeAt + ROTATION_MS < options.now()) current = make();
    return (await current!).key;
  }

  return {
    async sign(claims) {
      return await signToken(await currentKey(), options.issuer, claims);
    },
    async find(kid) {
      const remembered = known.get(kid);
      if (remembered?.jwk) return remembered.jwk;
      if (remembered && remembered.at + UNKNOWN_MS > options.now()) return null;
      const jwk = await reading(options.platform, (db) => selectSigningKey(db, kid)) as JWK | null;
      if (known.size >= REMEMBERED_MAX) known.clear();
      known.set(kid, { jwk, at: options.now() });
      return jwk;
    },
    async published() {
      return await reading(options.platform, (db) => selectSigningKeys(db)) as JWK[];
    },
  };
}
