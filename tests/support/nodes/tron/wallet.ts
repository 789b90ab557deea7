/**
 * Accounts and signed transactions for tests, built without the product: the node is asked with what
 * another wallet would send.
 * @module
 */
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { base58 } from "@scure/base";
import { computeAddress, getBytes, keccak256, sha256, toUtf8Bytes } from "ethers";
import {
  type ContractType,
  encodeTransaction,
  PARAMETERS,
  type Transaction,
  transactionOf,
} from "./messages.ts";
import { encode, type Message } from "./protobuf.ts";

/** Somebody who can sign. */
export interface TronParty {
  /** Begins with T. */
  readonly address: string;
  /** 21 bytes in hex. */
  readonly hex: string;
  readonly key: Uint8Array;
}

/** Fields of a transaction around its contract. */
export interface RawFields {
  readonly ref_block_bytes: string;
  readonly ref_block_hash: string;
  readonly expiration: bigint;
  readonly timestamp: bigint;
  readonly fee_limit?: bigint;
  /** The memo, in hex. */
  readonly data?: string;
}

/** An account that holds TRX from the first block on. */
export function richTron(index = 0): TronParty {
  return partyOf(getBytes(keccak256(toUtf8Bytes(`rich account ${index}`))));
}

/** Makes up somebody new. */
export function newTronParty(): TronParty {
  return partyOf(secp256k1.utils.randomSecretKey());
}

/** Makes a party of a private key. */
export function partyOf(key: Uint8Array): TronParty {
  const address = computeAddress(`0x${secp256k1.getPublicKey(key, false).toHex()}`);
  const hex = `41${address.slice(2).toLowerCase()}`;
  return { address: toBase58(hex), hex, key };
}

/** Writes 21 bytes as an address that begins with T. */
export function toBase58(hex: string): string {
  const check = sha256(sha256(`0x${hex}`)).slice(2, 10);
  return base58.encode(Uint8Array.fromHex(hex + check));
}

/** Reads an address in either form. Gives 21 bytes in hex. */
export function toHex(address: string): string {
  if (/^41[0-9a-fA-F]{40}$/.test(address)) return address.toLowerCase();
  const hex = base58.decode(address).toHex();
  if (toBase58(hex.slice(0, 42)) !== address) throw new Error(`${address} is no address`);
  return hex.slice(0, 42);
}

/** Builds a transaction and signs it. */
export function sign(
  party: TronParty,
  type: ContractType,
  value: Message,
  raw: RawFields,
): Transaction {
  const parameter = encode(PARAMETERS[type], value);
  const type_url = `type.googleapis.com/protocol.${type}`;
  const contract = [{ type, parameter: { type_url, value: parameter } }];
  const unsigned = transactionOf({ ...raw, contract }, []);
  const options = { prehash: false, format: "recovered" } as const;
  const made = secp256k1.sign(Uint8Array.fromHex(unsigned.id), party.key, options);
  const signature = made.subarray(1).toHex() + (made[0] + 27).toString(16);
  return { ...unsigned, signatures: [signature] };
}

/** The bytes of a signed transaction for `broadcasthex`, in hex. */
export function bytesOf(transaction: Transaction): string {
  return encodeTransaction(transaction);
}
