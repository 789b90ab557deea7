/**
 * Parsing of Tron addresses. Base58check alone is taken: its checksum refuses a slip of a character, which the
 * hexadecimal form of the same address (`41` and 40 digits) cannot, and value sent there would be lost.
 * @module
 */
import type { Refusal } from "./bitcoin_addresses.ts";

const VERSION = 0x41;
const BASE58 = /^[1-9A-HJ-NP-Za-km-z]+$/;
const SOLANA_BYTES = 32;

/** Reads an address that is written in base58check; it is the same on every network. */
export async function parseTron(
  text: string,
): Promise<{ readonly ok: true; readonly address: string } | Refusal> {
  if (/^(0x)?41[0-9a-f]{40}$/i.test(text)) {
    return refuse("it is in hexadecimal; write it in the form that starts with T");
  }
  if (/^0x[0-9a-f]{40}$/i.test(text)) return refuse("it is an address of Ethereum's form");
  const { base58 } = await import("@scure/base");
  if (BASE58.test(text) && base58.decode(text).length === SOLANA_BYTES) {
    return refuse("it has the form of Solana's addresses");
  }
  const { address } = await import("bitcoinjs-lib");
  let decoded: { version: number; hash: Uint8Array };
  try {
    decoded = address.fromBase58Check(text);
  } catch (error) {
    return refuse(
      /checksum/i.test(String(error)) ? "the checksum is wrong" : "the form is unknown",
    );
  }
  if (decoded.version !== VERSION) return refuse("it is an address of another chain");
  if (decoded.hash.every((byte) => byte === 0)) return refuse("it is the zero address");
  return { ok: true, address: text };
}

function refuse(reason: string): Refusal {
  return { ok: false, reason };
}
