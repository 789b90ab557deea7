/**
 * Whole blocks, read from their bytes. A block is believed only if it proves itself: its header hashes
 * to its id, and its transactions hash to the root in the header. A node can therefore neither
 * leave out, add nor alter a transaction in a block of that id. Work is not checked: the quorum of nodes
 * decides which id the chain has at a height.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { RpcError } from "../rpc.ts";
import type { Block } from "../observations.ts";
import type { CoinChain } from "./context.ts";
import type { BlockPlace, CoinTransaction, Output } from "./node_answers.ts";

/** A transaction of a block. */
export interface MinedTransaction extends CoinTransaction {
  /** Its bytes in the block, witnesses included. */
  readonly bytes: Uint8Array;
}

/** A block with its transactions. */
export interface CoinBlock extends Block {
  /** In the order of the block. */
  readonly transactions: readonly MinedTransaction[];
}

/** The parts of a chain that the proof of a block needs. */
export type BlockRules = Pick<CoinChain, "table" | "bitcoin">;

const HEADER_BYTES = 80;
const HASH_BYTES = 32;
/** Flag of a block with merged mining; the other chain's proof of work follows the header. */
const MERGE_MINED = 0x100;
/** Flag of a transaction with witnesses. */
const WITNESS = 1;
const EXTENSION = 8;
/** Transactions read between two pauses for other work. */
const READ_AT_ONCE = 1_000;
/** The output number of an input that spends nothing. */
const NOTHING = 0xffffffff;

/**
 * Reads a whole block from a node.
 *
 * @throws {ChainError} `unavailable` if the node does not have it, or answers with another block;
 *     the latter is reported
 */
export async function wholeBlock(
  chain: BlockRules & Pick<CoinChain, "nodes">,
  peer: Peer,
  place: BlockPlace,
): Promise<CoinBlock> {
  const told = await bytesOf(peer, place.hash);
  try {
    if (told === null) throw new ChainError("unavailable", "no bytes");
    return await readBlock(chain, told, place);
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    const what = `${peer.name} does not prove block ${place.height}: ${error.message}`;
    chain.nodes.report(what);
    throw new ChainError("unavailable", what);
  }
}

/** Reads the bytes of a block; null where the answer is not hexadecimal. */
async function bytesOf(peer: Peer, hash: string): Promise<Uint8Array | null> {
  let told: unknown;
  try {
    told = await peer.call("getblock", [hash, 0]);
  } catch (error) {
    // Another node may have it.
    if (!(error instanceof RpcError)) throw error;
    throw new ChainError("unavailable", `${peer.name} has no block ${hash}: ${error.message}`);
  }
  try {
    return typeof told === "string" ? Uint8Array.fromHex(told) : null;
  } catch {
    return null;
  }
}

/**
 * Reads a block from its bytes.
 *
 * @throws {ChainError} `unavailable` if they are not the bytes of that block
 */
export async function readBlock(
  { table, bitcoin }: BlockRules,
  bytes: Uint8Array,
  { hash, height }: BlockPlace,
): Promise<CoinBlock> {
  const { hash256 } = bitcoin.crypto;
  const reader = openReader(bytes);
  const header = take(reader, HEADER_BYTES);
  if (idOf(hash256(header)) !== hash) throw fault("its header is of another block");
  const version = reader.view.getUint32(0, true);
  if (table.mergeMined && (version & MERGE_MINED) !== 0) skipForeignWork(reader, hash256);
  const transactions: MinedTransaction[] = [];
  const leaves: Uint8Array[] = [];
  const count = readCount(reader);
  for (let at = 0; at < count; at++) {
    if (at % READ_AT_ONCE === READ_AT_ONCE - 1) await new Promise((rest) => setTimeout(rest));
    const leaf = readMined(reader, hash256, table.pegoutMaturity !== null && at === count - 1);
    leaves.push(leaf.id);
    transactions.push(leaf.transaction);
  }
  // After its last transaction a block may hold an extension that is no part of the chain proper.
  if (reader.at !== bytes.length && !endsExtended(transactions)) throw fault("more than it holds");
  // Inner nodes of the tree, passed off as transactions, would begin with a coinbase only by 2^224 luck.
  if (transactions[0]?.coinbase !== true) throw fault("no coinbase");
  const root = rootOf(leaves, hash256);
  if (root === null) throw fault("transactions twice");
  if (!isSame(root, header.subarray(36, 68))) {
    throw fault("other transactions than its header says");
  }
  return {
    height,
    hash,
    parentHash: idOf(header.subarray(4, 36)),
    time: reader.view.getUint32(68, true),
    transactions,
  };
}

/**
 * Reads a transaction from its bytes; null where their hash is not the id asked for. A node therefore
 * cannot misstate the contents of a transaction.
 */
export function readRaw(
  { bitcoin }: Pick<BlockRules, "bitcoin">,
  told: unknown,
  id: string,
): MinedTransaction | null {
  try {
    if (typeof told !== "string") return null;
    const bytes = Uint8Array.fromHex(told);
    const reader = openReader(bytes);
    const { transaction } = readMined(reader, bitcoin.crypto.hash256, false);
    return transaction.hash === id && reader.at === bytes.length ? transaction : null;
  } catch {
    return null; // not hexadecimal, or a kind of transaction that pays none of ours
  }
}

function openReader(bytes: Uint8Array): Reader {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), at: 0 };
}

/** Position of a reader. */
interface Reader {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  at: number;
}

type Hash = (bytes: Uint8Array) => Uint8Array;

function readMined(
  reader: Reader,
  hash256: Hash,
  extended: boolean,
): { id: Uint8Array; transaction: MinedTransaction } {
  const start = reader.at;
  const version = take(reader, 4);
  const flags = readFlags(reader);
  if ((flags & EXTENSION) !== 0 && !extended) throw fault("an unknown kind of transaction");
  const from = reader.at;
  const inputs = readInputs(reader);
  const outputs = readOutputs(reader);
  const core = reader.bytes.subarray(from, reader.at);
  if ((flags & WITNESS) !== 0) { for (let at = 0; at < inputs.length; at++) skipItems(reader); }
  // An empty extension, which ties the extension block to the chain.
  if ((flags & EXTENSION) !== 0 && take(reader, 1)[0] !== 0) throw fault("an unknown extension");
  const locktime = take(reader, 4);
  const bytes = reader.bytes.subarray(start, reader.at);
  const id = hash256(flags === 0 ? bytes : concatenated(version, core, locktime));
  const coinbase = inputs.length === 1 && inputs[0] === null;
  const spends = inputs.filter((input) => input !== null);
  const pegout = (flags & EXTENSION) !== 0;
  return { id, transaction: { hash: idOf(id), coinbase, pegout, spends, outputs, bytes } };
}

/**
 * Reads the flags that stand, after a zero count, where the inputs should be; they say which parts
 * follow the outputs.
 */
function readFlags(reader: Reader): number {
  if (reader.bytes[reader.at] !== 0) return 0;
  const [, flags] = take(reader, 2);
  if (flags === 0 || (flags & ~(WITNESS | EXTENSION)) !== 0) throw fault("unknown flags");
  return flags;
}

/** Reads the coins spent, as `txid:index`; null for the input of newly made coins. */
function readInputs(reader: Reader): (string | null)[] {
  const inputs: (string | null)[] = [];
  const count = readCount(reader);
  for (let at = 0; at < count; at++) {
    const parent = idOf(take(reader, HASH_BYTES));
    const index = readNumber(reader);
    take(reader, readCount(reader));
    take(reader, 4);
    inputs.push(index === NOTHING && /^0+$/.test(parent) ? null : `${parent}:${index}`);
  }
  return inputs;
}

/**
 * Reads the outputs; a token of Bitcoin Cash stands before the script, which then matches none of
 * ours.
 */
function readOutputs(reader: Reader): Output[] {
  const outputs: Output[] = [];
  const count = readCount(reader);
  for (let index = 0; index < count; index++) {
    const { at } = reader;
    take(reader, 8);
    const amount = reader.view.getBigUint64(at, true);
    outputs.push({ index, amount, script: take(reader, readCount(reader)).toHex() });
  }
  return outputs;
}

/**
 * Skips the coinbase of the other chain's block, its branch there, our block's branch in it, and that
 * block's header.
 */
function skipForeignWork(reader: Reader, hash256: Hash): void {
  readMined(reader, hash256, false);
  take(reader, HASH_BYTES);
  for (let branch = 0; branch < 2; branch++) {
    take(reader, HASH_BYTES * readCount(reader));
    take(reader, 4);
  }
  take(reader, HEADER_BYTES);
}

function skipItems(reader: Reader): void {
  const count = readCount(reader);
  for (let at = 0; at < count; at++) take(reader, readCount(reader));
}

function endsExtended(transactions: readonly MinedTransaction[]): boolean {
  const bytes = transactions.at(-1)?.bytes;
  return bytes !== undefined && bytes[4] === 0 && (bytes[5] & EXTENSION) !== 0;
}

/**
 * Computes the root of the tree; null if a pair repeats one hash, by which a list can pretend to be
 * longer.
 */
function rootOf(leaves: readonly Uint8Array[], hash256: Hash): Uint8Array | null {
  let level = leaves;
  while (level.length > 1) {
    const above: Uint8Array[] = [];
    for (let at = 0; at < level.length; at += 2) {
      const left = level[at];
      const right = level[at + 1] ?? left;
      if (at + 1 < level.length && isSame(left, right)) return null;
      above.push(hash256(concatenated(left, right)));
    }
    level = above;
  }
  return level[0];
}

function readCount(reader: Reader): number {
  const [first] = take(reader, 1);
  if (first < 0xfd) return first;
  const { at } = reader;
  const width = first === 0xfd ? 2 : 4;
  take(reader, width);
  if (first === 0xff) throw fault("a count that cannot be");
  return width === 2 ? reader.view.getUint16(at, true) : reader.view.getUint32(at, true);
}

function readNumber(reader: Reader): number {
  const { at } = reader;
  take(reader, 4);
  return reader.view.getUint32(at, true);
}

/** Takes a number of bytes. Every step of the reader is one of these, so it never passes the end. */
function take(reader: Reader, count: number): Uint8Array {
  const end = reader.at + count;
  if (end > reader.bytes.length) throw fault("less than it says");
  const taken = reader.bytes.subarray(reader.at, end);
  reader.at = end;
  return taken;
}

function concatenated(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.every((byte, at) => byte === other[at]);
}

/** Ids are written from their last byte. */
function idOf(hash: Uint8Array): string {
  return hash.toReversed().toHex();
}

function fault(what: string): ChainError {
  return new ChainError("unavailable", what);
}
