/**
 * The two forms of a Tron address: base58check, which people write and Purser keeps, and `41` with 40
 * hexadecimal digits, which nodes and transactions have.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Address } from "../observations.ts";
import type { Ethers } from "./context.ts";
import { ADDRESS_VERSION } from "./networks.ts";

const LENGTH = 34;

/**
 * Converts an address to `41` and 40 hexadecimal digits in lower case.
 *
 * @throws {ChainError} `refused` for any other text
 */
export function toHexAddress({ decodeBase58, sha256 }: Ethers, address: Address): string {
  if (new RegExp(`^T[1-9A-HJ-NP-Za-km-z]{${LENGTH - 1}}$`).test(address)) {
    const digits = decodeBase58(address).toString(16).padStart(50, "0");
    const body = digits.slice(0, 42);
    const check = sha256(sha256(`0x${body}`)).slice(2, 10);
    if (digits.length === 50 && digits.slice(42) === check && body.startsWith(ADDRESS_VERSION)) {
      return body;
    }
  }
  throw new ChainError("refused", "an address of the order is none of Tron");
}

/**
 * Converts `41` and 40 hexadecimal digits to base58check.
 *
 * @throws {ChainError} `unavailable` for any other text: a node gave it
 */
export function toBase58Address({ encodeBase58, sha256 }: Ethers, hex: string): Address {
  if (!/^41[0-9a-f]{40}$/i.test(hex)) throw new ChainError("unavailable", "no Tron address");
  const body = `0x${hex.toLowerCase()}`;
  return encodeBase58(`${body}${sha256(sha256(body)).slice(2, 10)}`);
}

/** Writes the address that a contract sees: 20 bytes in hexadecimal with `0x`. */
export function toContractForm(hex: string): string {
  return `0x${hex.slice(2)}`;
}
