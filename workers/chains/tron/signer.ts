/** The signer of a Tron transaction. @module */
import type { Ethers } from "./context.ts";

/** Two numbers of 32 bytes, and which of the possible keys it is, in one of two ways of counting. */
const SIGNATURE = /^[0-9a-f]{128}(?:0[01]|1[bc])$/;

/**
 * Recovers the account whose key signed a transaction id: `41` and 40 hexadecimal digits, or null for no signature.
 *
 * @param signature 65 bytes, as hexadecimal digits
 */
export function signerOf(ethers: Ethers, id: string, signature: string): string | null {
  if (!SIGNATURE.test(signature)) return null;
  const v = parseInt(signature.slice(128), 16);
  const last = (v < 27 ? v + 27 : v).toString(16).padStart(2, "0");
  try {
    const signer = ethers.recoverAddress(`0x${id}`, `0x${signature.slice(0, 128)}${last}`);
    return `41${signer.slice(2).toLowerCase()}`;
  } catch {
    return null;
  }
}
