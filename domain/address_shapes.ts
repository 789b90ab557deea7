/**
 * Shapes of addresses: whether a text reads like an address of any chain and network, whoever has it. What
 * has a checksum of its own is told by that, so no other code is taken for one. Parsing is in chains/addresses.ts.
 * @module
 */
import { hash } from "node:crypto";

/** EVM, bech32 of each chain that has it, and CashAddr with or without its prefix; in one case of letters. */
const PLAIN =
  /^(?:0x[0-9a-f]{40}|(?:bc|tb|bcrt|t?ltc|rltc)1[02-9ac-hj-np-z]{20,90}|(?:(?:bitcoincash|bchtest|bchreg):)?[pqrz](?:[02-9ac-hj-np-z]{41}|[02-9ac-hj-np-z]{60}))$/;
const BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/** From 25 bytes that begin with many zeros to 32 bytes. */
const BASE58_TEXT = /^[1-9A-HJ-NP-Za-km-z]{25,44}$/;
/** A version and a hash of 20 bytes before a checksum of four; and a key of Solana, which has none. */
const CHECKED_SIZE = 25;
const KEY_SIZE = 32;

/**
 * Whether a text reads like an address.
 *
 * @param folded the text as `foldName()` gives it
 */
export function isAddressLike(text: string, folded: string): boolean {
  if (PLAIN.test(folded)) return true;
  const bytes = base58Bytes(text.normalize("NFKC"));
  return bytes !== null &&
    (bytes.length === KEY_SIZE || bytes.length === CHECKED_SIZE && isChecked(bytes));
}

function base58Bytes(text: string): Uint8Array | null {
  if (!BASE58_TEXT.test(text)) return null;
  let value = 0n;
  for (const sign of text) value = value * 58n + BigInt(BASE58.indexOf(sign));
  const digits = value === 0n ? "" : value.toString(16);
  const zeros = /^1*/.exec(text)![0].length; // each is a byte
  return Uint8Array.fromHex(
    "00".repeat(zeros) + digits.padStart(digits.length + digits.length % 2, "0"),
  );
}

function isChecked(bytes: Uint8Array): boolean {
  const once = hash("sha256", bytes.subarray(0, -4), "buffer");
  const sum = hash("sha256", once, "buffer").subarray(0, 4);
  return sum.equals(bytes.subarray(-4));
}
