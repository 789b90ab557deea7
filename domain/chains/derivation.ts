/**
 * Derivation of addresses from account xpubs by BIP-44 and BIP-84. No private key is needed, so the serving
 * half derives addresses too. Solana has no xpubs (ed25519 derives hardened only).
 * @module
 */
import type { BIP32API } from "bip32";
import type { Network } from "./addresses.ts";
import { type ChainId, chainInfo } from "../assets.ts";

/** The step below an account for addresses that are handed out. */
const EXTERNAL = 0;
/** Indexes above are hardened, which an xpub cannot derive. */
const INDEX_MAX = 2 ** 31 - 1;

const HRPS: Readonly<Record<string, string>> = {
  "BITCOIN main": "bc",
  "BITCOIN testnet": "tb",
  "BITCOIN signet": "tb",
  "BITCOIN regtest": "bcrt",
  "LITECOIN main": "ltc",
  "LITECOIN testnet": "tltc",
  "LITECOIN regtest": "rltc",
};
const VERSIONS: Readonly<Record<string, number>> = {
  "DOGECOIN main": 0x1e,
  "DOGECOIN testnet": 0x71,
  "DOGECOIN regtest": 0x6f,
  "TRON main": 0x41,
  "TRON testnet": 0x41,
};
const CASH_PREFIXES: Readonly<Record<string, "bitcoincash" | "bchtest" | "bchreg">> = {
  "BITCOIN_CASH main": "bitcoincash",
  "BITCOIN_CASH testnet": "bchtest",
  "BITCOIN_CASH regtest": "bchreg",
};

/** The version bytes that an extended key begins with, and the one of an exported single key. */
export interface HdVersion {
  /** Of an exported single key. */
  readonly wif: number;
  /** Of extended keys. */
  readonly bip32: { readonly public: number; readonly private: number };
}

/** Version bytes of BIP-32: xpub on main networks, tpub on all others, whatever the chain. */
export function hdVersion(network: Network): HdVersion {
  const main = network === "main";
  const bip32 = main
    ? { public: 0x0488b21e, private: 0x0488ade4 }
    : { public: 0x043587cf, private: 0x04358394 };
  return { wif: main ? 0x80 : 0xef, bip32 };
}

/** Tells whether a chain's addresses derive from an xpub; on Solana each step needs the seed. */
export function hasXpubs(chain: ChainId): boolean {
  return chainInfo(chain).family !== "solana";
}

/** Writes the path of an account, as `m/84'/0'/7'`. Test networks have coin type 1. */
export function accountPath(chain: ChainId, network: Network, account: number): string {
  const { purpose, coinType } = chainInfo(chain);
  return `m/${purpose}'/${network === "main" ? coinType : 1}'/${checkIndex(account)}'`;
}

/**
 * Derives the address with a number below an account, in its chain's canonical form.
 *
 * @param xpub of the account (three hardened steps), with the version bytes of the network
 * @param index from 0, below 2^31
 * @throws {RangeError} for an index out of range
 * @throws {TypeError} for a chain or network without xpubs, or an xpub of another network
 */
export async function deriveAddress(
  chain: ChainId,
  network: Network,
  xpub: string,
  index: number,
): Promise<string> {
  const [address] = await deriveAddresses(chain, network, xpub, { from: index, count: 1 });
  return address;
}

/**
 * Derives addresses with consecutive numbers below an account, as {@link deriveAddress} each.
 *
 * @throws {RangeError} for an index out of range
 * @throws {TypeError} for a chain or network without xpubs, or an xpub of another network
 */
export async function deriveAddresses(
  chain: ChainId,
  network: Network,
  xpub: string,
  of: { from: number; count: number },
): Promise<string[]> {
  checkIndex(of.from);
  checkIndex(of.from + of.count - 1);
  const account = (await hdKeys()).fromBase58(xpub, hdVersion(network));
  if (account.depth !== 3) throw new TypeError("the xpub is not of an account");
  const keys = await childKeys(account.derive(EXTERNAL), of);
  const compressed = chainInfo(chain).family === "bitcoin";
  return await Promise.all(keys.map((key) => addressOfKey(chain, network, key(compressed))));
}

let hd: Promise<BIP32API> | undefined;

/**
 * The library for BIP-32. It tests its curve whenever it is made, which takes longer than two hundred addresses, so
 * one is made for the process.
 */
export function hdKeys(): Promise<BIP32API> {
  return hd ??= makeHdKeys();
}

async function makeHdKeys(): Promise<BIP32API> {
  const { BIP32Factory } = await import("bip32");
  return BIP32Factory(await import("@bitcoinerlab/secp256k1"));
}

/**
 * The public keys of consecutive children, compressed or not, as BIP-32's CKDpub has them. The library for
 * BIP-32 decompresses the parent and inverts anew for each child, and a ramp derives two hundred at once.
 *
 * @throws {RangeError} for an index that has no key, which happens once in 2^127
 */
async function childKeys(
  parent: { readonly publicKey: Uint8Array; readonly chainCode: Uint8Array },
  of: { from: number; count: number },
): Promise<((compressed: boolean) => Uint8Array)[]> {
  const { secp256k1: { Point } } = await import("@noble/curves/secp256k1.js");
  const { normalizeZ } = await import("@noble/curves/abstract/curve.js");
  const { createHmac } = await import("node:crypto");
  const point = Point.fromBytes(parent.publicKey);
  const data = new Uint8Array(37);
  data.set(parent.publicKey);
  const number = new DataView(data.buffer, 33);
  const points = Array.from({ length: of.count }, (_, i) => {
    number.setUint32(0, of.from + i);
    const digest = createHmac("sha512", parent.chainCode).update(data).digest("hex");
    const tweak = BigInt(`0x${digest.slice(0, 64)}`);
    const child = tweak < Point.CURVE().n
      ? Point.BASE.multiplyUnsafe(tweak).add(point)
      : Point.ZERO;
    if (tweak === 0n || child.is0()) throw new RangeError(`no key has index ${of.from + i}`);
    return child;
  });
  // Nothing is secret here, and one inversion does for all.
  return normalizeZ(Point, points).map((key) => (compressed) => key.toBytes(compressed));
}

/** Makes the address that a public key has on a chain: of 33 bytes, or on EVM chains and Tron of 65. */
export async function addressOfKey(
  chain: ChainId,
  network: Network,
  key: Uint8Array,
): Promise<string> {
  const place = `${chain} ${network}`;
  switch (chainInfo(chain).family) {
    case "evm": {
      const { computeAddress } = await import("ethers/transaction");
      return computeAddress(`0x${hex(key)}`);
    }
    case "tron": {
      const { computeAddress } = await import("ethers/transaction");
      const { address } = await import("bitcoinjs-lib");
      const hash = bytes(computeAddress(`0x${hex(key)}`).slice(2));
      return address.toBase58Check(hash, known(VERSIONS, place));
    }
    case "bitcoin":
      return await bitcoinAddress(place, key);
    case "solana":
      throw new TypeError("Solana has no xpubs");
  }
}

async function bitcoinAddress(place: string, key: Uint8Array): Promise<string> {
  const { address, crypto } = await import("bitcoinjs-lib");
  const hash = crypto.hash160(key);
  if (place in HRPS) return address.toBech32(hash, 0, known(HRPS, place));
  if (place in VERSIONS) return address.toBase58Check(hash, known(VERSIONS, place));
  const { encodeCashAddress } = await import("@bitauth/libauth");
  const prefix = known(CASH_PREFIXES, place);
  return encodeCashAddress({ prefix, type: "p2pkh", payload: hash }).address;
}

function known<T>(table: Readonly<Record<string, T>>, place: string): T {
  if (!(place in table)) throw new TypeError(`no addresses are made for ${place}`);
  return table[place];
}

function checkIndex(index: number): number {
  if (!Number.isInteger(index) || index < 0 || index > INDEX_MAX) {
    throw new RangeError(`no derivation index: ${index}`);
  }
  return index;
}

function hex(data: Uint8Array): string {
  return Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function bytes(text: string): Uint8Array {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}
