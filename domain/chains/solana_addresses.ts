/**
 * Parsing of Solana addresses: 32 bytes in base58, without a checksum. A wallet's address is a point of the
 * curve, which token accounts and other derived addresses are made not to be.
 * @module
 */
import type { Refusal } from "./bitcoin_addresses.ts";

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** A version, a hash of 20 bytes, a checksum of four: base58check as Bitcoin and Tron have it. */
const CHECKED_BYTES = 25;

// A wallet has none of these addresses. Built-in programs and variables are recognised by their tail
// of ones.
const PROGRAMS: ReadonlySet<string> = new Set([
  "So11111111111111111111111111111111111111112",
  "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
  "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
  "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL",
  "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr",
]);
const BUILT_IN = /1{8}$/;

/** Reads the address of a wallet or a mint; it is the same on every network. */
export async function parseSolana(
  text: string,
): Promise<{ readonly ok: true; readonly address: string } | Refusal> {
  if (/^0x[0-9a-f]{40}$/i.test(text)) return refuse("it is an address of Ethereum's form");
  if (/^(0x)?41[0-9a-f]{40}$/i.test(text)) return refuse("it is an address of Tron in hexadecimal");
  const { base58 } = await import("@scure/base");
  let bytes: Uint8Array;
  try {
    bytes = base58.decode(text);
  } catch {
    return refuse("it has a character that is not base58");
  }
  if (bytes.length === KEY_BYTES) return { ok: true, address: text };
  if (bytes.length === SIGNATURE_BYTES) return refuse("it is a transaction, not an address");
  if (bytes.length !== CHECKED_BYTES) return refuse("it is not 32 bytes long");
  const chain = text.startsWith("T") ? "Tron" : "Bitcoin";
  return refuse(`it is not 32 bytes long, and has the form of ${chain}'s addresses`);
}

/** Reads a wallet's address. One for which no key signs is refused: whether a program pays out again cannot be known. */
export async function parseSolanaWallet(
  text: string,
): Promise<{ readonly ok: true; readonly address: string } | Refusal> {
  if (PROGRAMS.has(text) || BUILT_IN.test(text)) {
    return refuse("it is a program of the chain, not a wallet");
  }
  const { base58 } = await import("@scure/base");
  const { ed25519 } = await import("@noble/curves/ed25519.js");
  try {
    const point = ed25519.Point.fromBytes(base58.decode(text));
    if (!point.isSmallOrder()) return { ok: true, address: text };
  } catch {
    // It lies off the curve.
  }
  return refuse("no key can sign for it: it is a token account or derived address, not a wallet");
}

function refuse(reason: string): Refusal {
  return { ok: false, reason };
}
