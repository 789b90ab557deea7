/** The signer of a Tron transaction. @module */
import type { Ethers } from "./context.ts";

/**
 * Two numbers of 32 bytes, and which of the possible keys it is: counted from 0 or from 27, and for nodes four more is the
 * same, as where keys are written in short.
 */
const SIGNATURE = /^([0-9a-f]{64})([0-9a-f]{64})(0[0145]|1[bcf]|20)/;
const COUNTED_FROM = 27;
const SHORT = 4;
/** The number of points of the curve: of two numbers that add up to it, either makes a signature. */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/**
 * Writes a signature as it is made here; null for none. The id of a transaction says nothing of its signature, so
 * whoever passes one on can turn it into another of the same key, or add bytes: nodes take that.
 *
 * @param signature hexadecimal digits
 */
export function plainSignature(signature: string): string | null {
  const [, r, text, last] = SIGNATURE.exec(signature) ?? [];
  if (last === undefined) return null;
  const s = BigInt(`0x${text}`);
  if (s >= ORDER) return null;
  const isTurned = s > ORDER / 2n;
  const parity = (parseInt(last, 16) % COUNTED_FROM % SHORT) ^ (isTurned ? 1 : 0);
  const low = (isTurned ? ORDER - s : s).toString(16).padStart(64, "0");
  return r + low + (COUNTED_FROM + parity).toString(16);
}

/**
 * Recovers the account whose key signed a transaction id: `41` and 40 hexadecimal digits, or null for no signature.
 *
 * @param signature hexadecimal digits
 */
export function signerOf(ethers: Ethers, id: string, signature: string): string | null {
  const plain = plainSignature(signature);
  if (plain === null) return null;
  try {
    const signer = ethers.recoverAddress(`0x${id}`, `0x${plain}`);
    return `41${signer.slice(2).toLowerCase()}`;
  } catch {
    return null;
  }
}
