/** Bloom filters of blocks. A filter can rule a log out; it never proves that a log is there. @module */
import type { Ethers } from "./context.ts";

const BYTES = 256;

/** The bits of a filter that an address or a topic sets. */
export type BloomBits = readonly number[];

/** Tells which bits an address or a topic sets. */
export function bitsOf({ getBytes, keccak256 }: Ethers, value: string): BloomBits {
  const digest = getBytes(keccak256(value));
  return [0, 2, 4].map((at) => ((digest[at] << 8) | digest[at + 1]) & 0x7ff);
}

/** Tells whether a filter may contain a value; a malformed filter rules nothing out. */
export function mayContain(bloom: string, bits: BloomBits): boolean {
  if (bloom.length !== 2 + 2 * BYTES) return true;
  return bits.every((bit) => {
    const at = 2 + 2 * (BYTES - 1 - (bit >> 3));
    return (parseInt(bloom.slice(at, at + 2), 16) & (1 << (bit & 7))) !== 0;
  });
}
