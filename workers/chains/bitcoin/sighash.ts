/**
 * Signature hashes: the digest of witness inputs (BIP-143), which Bitcoin Cash uses for
 * all inputs with its fork id, and the older digest, which Dogecoin uses. The part that all inputs share
 * is computed once; with BIP-143 the cost of many signatures stays linear.
 * @module
 */
import { fromHex, toHex } from "./scripts.ts";

/** Signs all inputs and outputs. */
export const SIGHASH_ALL = 0x01;
/** The same on Bitcoin Cash; no other chain takes such a signature. */
export const SIGHASH_ALL_FORKID = 0x41;

/** An input to be signed. */
export interface DigestInput {
  /** Transaction id of the coin, in its usual (reversed) notation. */
  readonly hash: string;
  /** Its output number. */
  readonly index: number;
  /** As in the transaction. */
  readonly sequence: number;
}

/** An output as it is signed. */
export interface DigestOutput {
  /** Base units. */
  readonly amount: bigint;
  /** In hexadecimal. */
  readonly script: string;
}

/** A transaction to be signed. */
export interface DigestTransaction {
  /** As in the transaction. */
  readonly version: number;
  /** As in the transaction. */
  readonly locktime: number;
  /** In order. */
  readonly inputs: readonly DigestInput[];
  /** In order. */
  readonly outputs: readonly DigestOutput[];
}

/** The coin of an input. */
export interface Spent {
  /** Base units. */
  readonly amount: bigint;
  /** The script that is run, in hexadecimal: P2PKH, also for the witness program of a key. */
  readonly script: string;
}

/** Double SHA-256. */
export type Hash256 = (data: Uint8Array) => Uint8Array;

/** Prepares the digests of a transaction's inputs; the function it returns digests one input. */
export function digester(
  transaction: DigestTransaction,
  sighash: number,
  hash256: Hash256,
): (at: number, spent: Spent) => Uint8Array {
  const { version, locktime, inputs, outputs } = transaction;
  const outpoints = inputs.map(({ hash, index }) => reversed(hash) + word(index));
  const shared = (parts: readonly string[]) => toHex(hash256(fromHex(parts.join(""))));
  const hashPrevouts = shared(outpoints);
  const hashSequence = shared(inputs.map(({ sequence }) => word(sequence)));
  const hashOutputs = shared(
    outputs.map(({ amount, script }) => long(amount) + withLength(script)),
  );
  return (at, { amount, script }) =>
    hash256(fromHex([
      ...[word(version), hashPrevouts, hashSequence, outpoints[at], withLength(script)],
      ...[long(amount), word(inputs[at].sequence), hashOutputs, word(locktime), word(sighash)],
    ].join("")));
}

/** Prepares the older digests (before BIP-143), of all inputs and outputs (SIGHASH_ALL). */
export function oldDigester(
  transaction: DigestTransaction,
  hash256: Hash256,
): (at: number, script: string) => Uint8Array {
  const { version, locktime, inputs, outputs } = transaction;
  const blank = inputs.map(({ hash, index, sequence }) =>
    `${reversed(hash)}${word(index)}00${word(sequence)}`
  );
  const start = word(version) + counted(inputs.length);
  const end = counted(outputs.length) +
    outputs.map(({ amount, script }) => long(amount) + withLength(script)).join("") +
    word(locktime) + word(SIGHASH_ALL);
  return (at, script) => {
    const { hash, index, sequence } = inputs[at];
    const own = reversed(hash) + word(index) + withLength(script) + word(sequence);
    const all = blank.slice(0, at).join("") + own + blank.slice(at + 1).join("");
    return hash256(fromHex(start + all + end));
  };
}

/** Gives the P2PKH script of the key hash in a P2WPKH script, or the P2PKH script itself. */
export function scriptCode(script: string): string {
  return script.startsWith("0014") ? `76a914${script.slice(4)}88ac` : script;
}

/** Four bytes, little-endian. */
function word(value: number): string {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value, true);
  return toHex(bytes);
}

/** One byte, or three for 253 and more. */
function counted(count: number): string {
  if (count < 253) return count.toString(16).padStart(2, "0");
  if (count > 0xffff) throw new RangeError("no transaction of ours has so many");
  return `fd${word(count).slice(0, 4)}`;
}

/** Eight bytes, little-endian. */
function long(amount: bigint): string {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, amount, true);
  return toHex(bytes);
}

/** Reverses the bytes of an id, which is shown in the reverse order of its encoding. */
function reversed(hash: string): string {
  return toHex(fromHex(hash).reverse());
}

function withLength(script: string): string {
  const length = script.length / 2;
  if (length >= 253) throw new RangeError("no script of ours is that long");
  return length.toString(16).padStart(2, "0") + script;
}
