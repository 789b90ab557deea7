/**
 * The part of the Protocol Buffers encoding that Tron's transactions need: whole numbers from 0 and bytes, as
 * hexadecimal digits in lower case. Defaults are left out, and fields stand in the order of their numbers.
 * @module
 */
import { ChainError } from "../chain.ts";

/** One field as it was read. */
export interface WireField {
  /** Its number. */
  readonly number: number;
  /** Of a whole number; null for bytes. */
  readonly whole: bigint | null;
  /** Of bytes, as hexadecimal digits; null for a whole number. */
  readonly bytes: string | null;
}

const WHOLE = 0;
const BYTES = 2;
/** Ten groups of seven bits hold 64 bits. */
const GROUPS_MAX = 10;

/** Writes a whole number from 0; nothing for 0. */
export function wholeField(number: number, value: bigint): string {
  if (value < 0n || value >= 2n ** 63n) throw new ChainError("refused", "a number out of range");
  return value === 0n ? "" : varint(BigInt(number << 3 | WHOLE)) + varint(value);
}

/** Writes bytes, given as hexadecimal digits; nothing for none. */
export function bytesField(number: number, hex: string): string {
  if (hex === "") return "";
  return varint(BigInt(number << 3 | BYTES)) + varint(BigInt(hex.length / 2)) + hex;
}

/** Writes text; nothing for none. */
export function textField(number: number, text: string): string {
  return bytesField(number, new TextEncoder().encode(text).toHex());
}

/**
 * Reads the fields of a message in their order.
 *
 * @throws {ChainError} `refused` if it is not whole
 */
export function readFields(hex: string): WireField[] {
  if (!/^(?:[0-9a-f]{2})*$/.test(hex)) throw unreadable();
  const bytes = Uint8Array.fromHex(hex);
  const fields: WireField[] = [];
  let at = 0;
  function read(): bigint {
    let value = 0n;
    for (let group = 0; group < GROUPS_MAX; group++) {
      const byte = bytes[at++];
      if (byte === undefined) throw unreadable();
      value |= BigInt(byte & 0x7f) << BigInt(7 * group);
      if (byte < 0x80) return value;
    }
    throw unreadable();
  }
  while (at < bytes.length) {
    const tag = read();
    const number = parseInt(`${tag >> 3n}`, 10);
    const wire = tag & 7n;
    const whole = read();
    if (wire === BigInt(WHOLE)) {
      fields.push({ number, whole, bytes: null });
    } else if (wire === BigInt(BYTES) && whole <= BigInt(bytes.length - at)) {
      const end = at + parseInt(`${whole}`, 10);
      fields.push({ number, whole: null, bytes: bytes.subarray(at, end).toHex() });
      at = end;
    } else throw unreadable();
  }
  return fields;
}

function varint(value: bigint): string {
  const bytes: number[] = [];
  for (let rest = value;; rest >>= 7n) {
    const group = parseInt(`${rest & 0x7fn}`, 10);
    if (rest < 0x80n) return new Uint8Array([...bytes, group]).toHex();
    bytes.push(group | 0x80);
  }
}

function unreadable(): ChainError {
  return new ChainError("refused", "not the bytes of a Tron transaction");
}
