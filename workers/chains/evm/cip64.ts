/**
 * Celo's transaction type 0x7b (CIP-64): like EIP-1559, with the token in which the fee is paid.
 * Ethers does not know it, so it is encoded here out of RLP and a signature.
 * @module
 */
import type { SigningKey } from "ethers";
import type { Ethers } from "./context.ts";

/** The fields of a transaction of this type. */
export interface Cip64 {
  /** EIP-155 id. */
  readonly chainId: number;
  /** Nonce of the sender. */
  readonly nonce: number;
  /** Base units of the fee token per gas. */
  readonly tip: bigint;
  /** Base units of the fee token per gas. */
  readonly max: bigint;
  /** Gas limit. */
  readonly gas: bigint;
  /** Receiver or contract. */
  readonly to: string;
  /** Wei. */
  readonly value: bigint;
  /** Call data. */
  readonly data: string;
  /** The token in which the fee is paid. */
  readonly feeToken: string;
}

/** A signed transaction of this type, read from its bytes. */
export interface SignedCip64 extends Cip64 {
  /** Its list of accesses, as RLP reads it; ours is empty. */
  readonly accesses: Rlp[];
  /** The address that signed it. */
  readonly from: string;
  /** Transaction id. */
  readonly hash: string;
}

/** What RLP reads: bytes, or a list. */
export type Rlp = ReturnType<Ethers["decodeRlp"]>;

const TYPE = "0x7b";
const FIELDS = 13;

/** Encodes the transaction as it is signed. */
export function unsignedCip64(ethers: Ethers, transaction: Cip64): string {
  return encode(ethers, fieldsOf(ethers, transaction));
}

/** Signs the transaction and encodes it as nodes take it. */
export function signCip64(ethers: Ethers, transaction: Cip64, key: SigningKey): string {
  const { yParity, r, s } = key.sign(ethers.keccak256(unsignedCip64(ethers, transaction)));
  const { toBeArray } = ethers;
  const signature = [toBeArray(yParity), toBeArray(r), toBeArray(s)];
  return encode(ethers, [...fieldsOf(ethers, transaction), ...signature]);
}

/**
 * Reads signed bytes.
 *
 * @throws {TypeError} if they are not a signed transaction of this type
 */
export function readCip64(ethers: Ethers, raw: string): SignedCip64 {
  const fields = ethers.decodeRlp("0x" + raw.slice(TYPE.length));
  if (!Array.isArray(fields) || fields.length !== FIELDS) throw new TypeError("not a CIP-64");
  const texts = fields.map((field) => typeof field === "string" ? field : "0x");
  const [chainId, nonce, tip, max, gas, to, value, data, , feeToken, parity, r, s] = texts;
  const transaction = {
    chainId: ethers.getNumber(big(chainId)),
    nonce: ethers.getNumber(big(nonce)),
    tip: big(tip),
    max: big(max),
    gas: big(gas),
    to: ethers.getAddress(to),
    value: big(value),
    data,
    feeToken: ethers.getAddress(feeToken),
  };
  const accesses = Array.isArray(fields[8]) ? fields[8] : [];
  const digest = ethers.keccak256(encode(ethers, fieldsOf(ethers, transaction, accesses)));
  const yParity = big(parity) === 1n ? 1 : 0;
  const [rWord, sWord] = [ethers.toBeHex(big(r), 32), ethers.toBeHex(big(s), 32)];
  const from = ethers.recoverAddress(digest, { r: rWord, s: sWord, yParity });
  return { ...transaction, accesses, from, hash: ethers.keccak256(raw) };
}

function fieldsOf(ethers: Ethers, one: Cip64, accesses: Rlp[] = []) {
  const { toBeArray } = ethers;
  const { chainId, nonce, tip, max, gas, to, value, data, feeToken } = one;
  const numbers = [chainId, nonce, tip, max, gas].map((field) => toBeArray(field));
  return [...numbers, to, toBeArray(value), data, accesses, feeToken];
}

function encode(ethers: Ethers, fields: Parameters<Ethers["encodeRlp"]>[0]): string {
  return TYPE + ethers.encodeRlp(fields).slice(2);
}

function big(text: string): bigint {
  return text === "0x" ? 0n : BigInt(text);
}
