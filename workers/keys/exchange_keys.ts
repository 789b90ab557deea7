/**
 * Keys of exchange credentials: each realm has a key pair whose private half is a secret under the
 * master key. The serving half encrypts for the public half; only workers decrypt.
 * @module
 */
import {
  insertExchangeKey,
  selectCredentials,
  selectExchangeKey,
  selectPublicKey,
} from "../../db/exchanges/external_ramps.ts";
import { insertSecret, selectSecret } from "../../db/security/secrets.ts";
import { reading, serializable } from "../../db/transaction.ts";
import { credentialsOf } from "../../domain/exchanges/external_ramps.ts";
import { newId } from "../../domain/ids.ts";
import {
  decryptSecret,
  encryptSecret,
  type MasterKey,
  readMasterKey,
} from "../../domain/security/envelope.ts";
import { decryptWith, newKeyPair } from "../../domain/security/public_key_encryption.ts";
import { ChainError } from "../chains/chain.ts";
import type { Guard, KeyStore } from "./signer.ts";

/** Credentials that were altered, or are another record's. */
export class UnreadableCredentials extends Error {
  override readonly name = "UnreadableCredentials";
}

/** Opens credentials of exchanges. */
export interface CredentialKeys {
  /** Makes the realm's key pair, unless it has one. */
  ensureKey(store: KeyStore): Promise<void>;
  /**
   * Decrypts the credentials of an external ramp.
   *
   * @throws {ChainError} `held` while nothing may be signed
   * @throws {UnreadableCredentials} if they were altered, or are another's
   * @throws {TypeError} if their key is under another master key
   */
  open(store: KeyStore, ramp: string): Promise<Readonly<Record<string, string>>>;
}

const KIND = "exchange";

/** Opens the keys of credentials under the master key, guarded as the signer is. */
export function openCredentialKeys(
  masterKey: string,
  now: () => number,
  guard: Pick<Guard, "assertOpen" | "underMaster">,
): CredentialKeys {
  let master: Promise<MasterKey> | null = null;
  const key = () => master ??= readMasterKey(masterKey);
  return {
    async ensureKey({ realm, pool }) {
      if (await reading(pool, selectExchangeKey) !== null) return;
      await guard.assertOpen();
      const created_at = now();
      const id = newId(created_at);
      const { publicKey: public_key, privateKey } = await newKeyPair();
      try {
        const encrypted = await encryptSecret(await key(), { realm, kind: KIND, id }, privateKey);
        await guard.underMaster(() =>
          serializable(pool, async (tx) => {
            if (await selectExchangeKey(tx) !== null) return;
            await insertSecret(tx, { id, kind: KIND, created_at, ...encrypted });
            await insertExchangeKey(tx, { id, public_key, created_at });
          })
        );
      } finally {
        privateKey.fill(0);
      }
    },
    async open({ realm, pool }, ramp) {
      await guard.assertOpen();
      const found = await reading(pool, async (db) => {
        const stored = await selectCredentials(db, ramp);
        const secret = stored === null ? null : await selectSecret(db, stored.key);
        const publicKey = stored === null ? null : await selectPublicKey(db, stored.key);
        return { stored, secret, publicKey };
      });
      const { stored, secret, publicKey } = found;
      if (stored === null || secret === null || publicKey === null) {
        throw new ChainError("held", "the key of the credentials is missing: restore the secrets");
      }
      const name = { realm, kind: KIND, id: secret.id };
      const privateKey = await decryptSecret(await key(), name, secret);
      try {
        const pair = { publicKey, privateKey };
        const text = await decryptWith(pair, credentialsOf(realm, ramp), stored.credentials)
          .catch((error) => {
            if (!(error instanceof TypeError)) throw error;
            const why = "the authentication data cannot be read: give them again";
            throw new UnreadableCredentials(why);
          });
        return JSON.parse(text);
      } finally {
        privateKey.fill(0);
      }
    },
  };
}
