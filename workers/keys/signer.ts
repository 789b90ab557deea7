/**
 * The signer: the only module that decrypts seeds. It derives xpubs, and private keys for one call, and
 * wipes both seed and keys after it. No error or log line of it holds key material.
 * @module
 */
import type { Pool } from "../../db/database.ts";
import {
  insertSecret,
  type SecretRow,
  selectSecretOfKind,
  selectSeedNeeded,
} from "../../db/security/secrets.ts";
import { reading, serializable } from "../../db/transaction.ts";
import type { Network } from "../../domain/chains/addresses.ts";
import type { ChainId } from "../../domain/assets.ts";
import { hasXpubs } from "../../domain/chains/derivation.ts";
import { newId } from "../../domain/ids.ts";
import {
  decryptSecret,
  encryptSecret,
  type MasterKey,
  readMasterKey,
} from "../../domain/security/envelope.ts";
import { ChainError } from "../chains/chain.ts";
import { accountXpub, addressKey, seedOf, solanaAddresses, wipe } from "../chains/keys.ts";
import type { Keys } from "../chains/outgoing.ts";

/** Storage of a realm's encrypted seed. */
export interface KeyStore {
  /** Realm id. */
  readonly realm: string;
  /** The realm's pool. */
  readonly pool: Pool;
}

/** Derivation path of a ramp's account. */
export interface AccountPath {
  /** The chain. */
  readonly chain: ChainId;
  /** The network. */
  readonly network: Network;
  /** The ramp's number. */
  readonly number: number;
}

/** Derivation path of one key. */
export interface KeyPath extends AccountPath {
  /** The address's number. */
  readonly index: number;
  /** The expected address of the key. */
  readonly address: string;
}

/** Derives keys from the seeds of realms. */
export interface Signer {
  /** Gives the reason why no ramp may sign now, or null. */
  fault(): Promise<string | null>;
  /** Takes a step of the host's record, as the guard does. */
  record: Guard["record"];
  /**
   * Makes the realm's seed, unless it has one.
   *
   * @throws {ChainError} `held` if it is missing although the realm has addresses
   */
  ensureSeed(store: KeyStore): Promise<void>;
  /** Derives the xpub of a ramp; null on Solana. */
  xpub(store: KeyStore, path: AccountPath): Promise<string | null>;
  /** Derives addresses below a ramp of Solana, which has no xpub: so many from an index on. */
  addresses(
    store: KeyStore,
    path: AccountPath,
    of: { from: number; count: number },
  ): Promise<string[]>;
  /**
   * Derives the keys of addresses for one call and wipes them after it.
   *
   * @throws {TypeError} if a derived key is not its address's
   */
  withKeys<T>(
    store: KeyStore,
    paths: readonly KeyPath[],
    use: (keys: Keys) => Promise<T>,
  ): Promise<T>;
}

const KIND = "seed";

/** Decides whether keys may be used. */
export interface Guard {
  /**
   * Compares the database with the record.
   *
   * @throws {ChainError} `held` while nothing may be signed
   */
  assertOpen(): Promise<void>;
  /** Gives the reason why nothing may be signed, or null. */
  fault(): Promise<string | null>;
  /**
   * Takes a step of the record outside the database, after all that is committed now: a database that has lost
   * any of it is older than the record.
   *
   * @throws {ChainError} `held` while nothing may be signed
   */
  record(): Promise<void>;
  /**
   * Writes a secret while the master key cannot be changed.
   *
   * @throws {ChainError} `held` if this process has another key than the current one
   */
  underMaster<T>(work: () => Promise<T>): Promise<T>;
}

const UNGUARDED: Guard = {
  assertOpen: () => Promise.resolve(),
  fault: () => Promise.resolve(null),
  record: () => Promise.resolve(),
  underMaster: (work) => work(),
};

/**
 * Makes the signer.
 *
 * @param masterKey base64 of 32 bytes
 */
export function openSigner(
  masterKey: string,
  now: () => number,
  guard: Guard = UNGUARDED,
): Signer {
  let master: Promise<MasterKey> | null = null;
  const key = () => master ??= readMasterKey(masterKey);
  async function withSeed<T>(
    store: KeyStore,
    use: (seed: Uint8Array<ArrayBuffer>) => Promise<T>,
  ): Promise<T> {
    await guard.assertOpen();
    const row = await seedRow(store, await key(), { at: now(), guard });
    if (row.master !== (await key()).id) {
      const why = "the seed is encrypted under another master key: finish the change of the key";
      throw new ChainError("held", why);
    }
    const entropy = await decryptSecret(
      await key(),
      { realm: store.realm, kind: KIND, id: row.id },
      row,
    );
    const seed = await deriveSeed(entropy).finally(() => wipe(entropy));
    return await use(seed).finally(() => wipe(seed));
  }
  return {
    fault: guard.fault,
    record: guard.record,
    async ensureSeed(store) {
      await seedRow(store, await key(), { at: now(), guard });
    },
    xpub: (store, { chain, network, number }) =>
      withSeed(store, (seed) => accountXpub(seed, chain, network, number)),
    addresses: (store, { chain, network, number }, of) => {
      if (hasXpubs(chain)) throw new TypeError(`the addresses of ${chain} come from its xpub`);
      return withSeed(store, (seed) => solanaAddresses(seed, { network, account: number, ...of }));
    },
    withKeys: (store, paths, use) => withSeed(store, (seed) => useKeys(seed, paths, use)),
  };
}

async function useKeys<T>(
  seed: Uint8Array,
  paths: readonly KeyPath[],
  use: (keys: Keys) => Promise<T>,
): Promise<T> {
  const keys = new Map<string, Uint8Array>();
  try {
    for (const { chain, network, number, index, address } of paths) {
      const made = await addressKey(seed, chain, network, number, index);
      keys.set(made.address, made.key);
      if (made.address !== address) throw new TypeError(`the seed has no key of ${address}`);
    }
    return await use(keys);
  } finally {
    for (const one of keys.values()) wipe(one);
  }
}

/**
 * Reads the realm's seed, or makes it; of two made at once, the first stored wins. A realm that has
 * addresses and no seed gets none: under a new seed the value at those addresses would be lost.
 */
async function seedRow(
  store: KeyStore,
  master: MasterKey,
  of: { at: number; guard: Guard },
): Promise<SecretRow> {
  const read = () => reading(store.pool, (db) => selectSecretOfKind(db, KIND));
  const found = await read();
  if (found !== null) return found;
  if (await reading(store.pool, selectSeedNeeded)) {
    throw new ChainError("held", "the realm has addresses and no seed: restore its secrets");
  }
  await of.guard.assertOpen();
  const id = newId(of.at);
  const entropy = crypto.getRandomValues(new Uint8Array(32));
  try {
    const encrypted = await encryptSecret(master, { realm: store.realm, kind: KIND, id }, entropy);
    const row = { id, kind: KIND, created_at: of.at, ...encrypted };
    await of.guard.underMaster(() => serializable(store.pool, (tx) => insertSecret(tx, row)));
  } finally {
    wipe(entropy);
  }
  return (await read())!;
}

/** Derives the seed from the stored entropy, through the BIP-39 phrase that a person would write down. */
async function deriveSeed(entropy: Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const { Mnemonic } = await import("ethers/wallet");
  return await seedOf(Mnemonic.fromEntropy(entropy).phrase);
}
