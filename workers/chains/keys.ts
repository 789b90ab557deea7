/**
 * Key derivation: BIP-39 phrases, BIP-32 accounts, SLIP-10 for Solana. Pure computation for the signer,
 * which alone holds seeds and wipes every key that it gets from here. Nothing here logs or stores, and no
 * error repeats its input.
 * @module
 */
import type { Network } from "../../domain/chains/addresses.ts";
import type { ChainId } from "../../domain/assets.ts";
import {
  accountPath,
  addressOfKey,
  hasXpubs,
  hdKeys,
  hdVersion,
} from "../../domain/chains/derivation.ts";

/** A private key with the address it signs for. Wipe it after use. */
export interface AddressKey {
  /** The address it signs for, in canonical form. */
  readonly address: string;
  /** 32 bytes. */
  readonly key: Uint8Array<ArrayBuffer>;
}

/**
 * Derives the 64-byte seed of a BIP-39 phrase.
 *
 * @throws {TypeError} if the words or their checksum are wrong
 */
export async function seedOf(phrase: string, password = ""): Promise<Uint8Array<ArrayBuffer>> {
  const { Mnemonic } = await import("ethers/wallet");
  const words = phrase.normalize("NFKD");
  if (!Mnemonic.isValidMnemonic(words)) throw new TypeError("not a BIP-39 phrase");
  const encoder = new TextEncoder();
  const secret = encoder.encode(words);
  const key = await crypto.subtle.importKey("raw", secret, "PBKDF2", false, ["deriveBits"]);
  wipe(secret);
  const salt = encoder.encode("mnemonic" + password.normalize("NFKD"));
  const how = { name: "PBKDF2", hash: "SHA-512", salt, iterations: 2048 };
  return new Uint8Array(await crypto.subtle.deriveBits(how, key, 512));
}

/** Derives the xpub of an account; null on Solana, which has none. */
export async function accountXpub(
  seed: Uint8Array,
  chain: ChainId,
  network: Network,
  account: number,
): Promise<string | null> {
  if (!hasXpubs(chain)) return null;
  const root = await rootOf(seed, network);
  return root.derivePath(accountPath(chain, network, account)).neutered().toBase58();
}

/** Derives the key of an address below an account. */
export async function addressKey(
  seed: Uint8Array,
  chain: ChainId,
  network: Network,
  account: number,
  index: number,
): Promise<AddressKey> {
  const path = accountPath(chain, network, account);
  if (!hasXpubs(chain)) return await solanaKey(seed, `${path}/${index}'`);
  const node = (await rootOf(seed, network)).derivePath(`${path}/0/${index}`);
  if (!node.privateKey) throw new TypeError("the seed gave no private key");
  const address = await addressOfKey(chain, network, node.publicKey);
  return { address, key: new Uint8Array(node.privateKey) };
}

/**
 * Derives addresses of consecutive numbers below an account of Solana; every step is hardened, so this
 * needs the seed.
 */
export async function solanaAddresses(
  seed: Uint8Array,
  of: { network: Network; account: number; from: number; count: number },
): Promise<string[]> {
  const { ed25519 } = await import("@noble/curves/ed25519.js");
  const { base58 } = await import("@scure/base");
  const branch = await slip10Node(seed, accountPath("SOLANA", of.network, of.account));
  try {
    const addresses: string[] = [];
    for (let at = of.from; at < of.from + of.count; at++) {
      const node = await slip10Child(branch, at);
      addresses.push(base58.encode(ed25519.getPublicKey(node.subarray(0, 32))));
      wipe(node);
    }
    return addresses;
  } finally {
    wipe(branch);
  }
}

/** Overwrites a secret. */
export function wipe(secret: Uint8Array): void {
  secret.fill(0);
}

/** Derives an ed25519 key by SLIP-10, where every step is hardened. */
export async function slip10(
  seed: Uint8Array,
  path: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const node = await slip10Node(seed, path);
  const key = node.slice(0, 32);
  wipe(node);
  return key;
}

/** A key, and the chain code behind it. */
async function slip10Node(seed: Uint8Array, path: string): Promise<Uint8Array<ArrayBuffer>> {
  let node = await hmac(new TextEncoder().encode("ed25519 seed"), seed);
  for (const step of path.split("/").slice(1)) {
    const match = /^(\d+)'$/.exec(step);
    if (!match) throw new RangeError("ed25519 derives hardened steps only");
    const next = await slip10Child(node, Number(match[1]));
    wipe(node);
    node = next;
  }
  return node;
}

async function slip10Child(
  node: Uint8Array<ArrayBuffer>,
  index: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const data = new Uint8Array(37);
  data.set(node.subarray(0, 32), 1);
  new DataView(data.buffer).setUint32(33, index + 2 ** 31);
  const code = node.slice(32);
  try {
    return await hmac(code, data);
  } finally {
    wipe(code);
    wipe(data);
  }
}

async function solanaKey(seed: Uint8Array, path: string): Promise<AddressKey> {
  const { ed25519 } = await import("@noble/curves/ed25519.js");
  const { base58 } = await import("@scure/base");
  const key = await slip10(seed, path);
  return { address: base58.encode(ed25519.getPublicKey(key)), key };
}

async function rootOf(seed: Uint8Array, network: Network) {
  return (await hdKeys()).fromSeed(seed, hdVersion(network));
}

async function hmac(
  secret: Uint8Array<ArrayBuffer>,
  data: Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const how = { name: "HMAC", hash: "SHA-512" };
  const key = await crypto.subtle.importKey("raw", secret, how, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", key, new Uint8Array(data)));
}
