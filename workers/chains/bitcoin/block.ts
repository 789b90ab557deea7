/**
 * Whole blocks, read from their bytes and believed only if they prove themselves: the header hashes
 * to the block's id, and the transactions to the root that the header names. So a node can neither
 * leave out, add nor alter what a block of that id holds. Work is not checked: which id the chain has
 * at a height is the nodes' word.
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
  /** As the block holds it, witnesses included. */
  readonly bytes: Uint8Array;
}

/** A block with its transactions. */
export interface CoinBlock extends Block {
  /** In the order of the block. */
  readonly transactions: readonly MinedTransaction[];
}

/** What the proof of a block needs of its chain. */
export type BlockRules = Pick<CoinChain, "table" | "bitcoin">;

const HEADER_BYTES = 80;
const HASH_BYTES = 32;
/** The mark of a block whose work was done on another chain; the proof of that follows the header. */
const MERGE_MINED = 0x100;
/** What stands in a transaction beside inputs and outputs. */
const WITNESS = 1;
const EXTENSION = 8;
/** Other work gets its turn between so many transactions. */
const READ_AT_ONCE = 1_000;
/** The output number of an input that spends nothing. */
const NOTHING = 0xffffffff;

/**
 * Reads a whole block from a node.
 *
 * @throws {ChainError} `unavailable` if it does not have it, or what it gives is not that block;
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

/** Null where the answer is no hexadecimal text. */
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
 * @throws {ChainError} `unavailable` if they are not those of that block
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
    const leaf = readMined(reader, hash256, table.extended && at === count - 1);
    leaves.push(leaf.id);
    transactions.push(leaf.transaction);
  }
  // Behind its last transaction a block may hold what is no part of the chain proper.
  if (reader.at !== bytes.length && !endsExtended(transactions)) throw fault("more than it holds");
  // Nodes of the tree, shown as transactions, would begin with a block's own one only by 2^224 luck.
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
 * Reads a transaction from its bytes; null where they are not those of that id. So nobody can tell
 * something else of a transaction than it says itself.
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
    return null; // no hexadecimal text, or a kind of transaction that pays none of ours
  }
}

function openReader(bytes: Uint8Array): Reader {
  return { bytes, view: new DataView(bytes.buffer, bytes.byteOffset, bytes.length), at: 0 };
}

/** Where reading stands. */
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
  // What joins the extension block to the chain: nothing of its own but this mark.
  if ((flags & EXTENSION) !== 0 && take(reader, 1)[0] !== 0) throw fault("an unknown extension");
  const locktime = take(reader, 4);
  const bytes = reader.bytes.subarray(start, reader.at);
  const id = hash256(flags === 0 ? bytes : concatenated(version, core, locktime));
  const coinbase = inputs.length === 1 && inputs[0] === null;
  const spends = inputs.filter((input) => input !== null);
  return { id, transaction: { hash: idOf(id), coinbase, spends, outputs, bytes } };
}

/** No inputs where inputs should be: a mark, and flags that say what follows the outputs. */
function readFlags(reader: Reader): number {
  if (reader.bytes[reader.at] !== 0) return 0;
  const [, flags] = take(reader, 2);
  if (flags === 0 || (flags & ~(WITNESS | EXTENSION)) !== 0) throw fault("unknown flags");
  return flags;
}

/** The coins that are spent, as `txid:index`; null for the input of newly made coins. */
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

/** An output that carries a token of Bitcoin Cash has a script that begins with it: none of ours. */
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

/** The coinbase of another chain's block, its branch there, ours in it, and that block's header. */
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

/** The root of the tree; null where a pair is one and the same, by which a list looks longer than it is. */
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

/** Takes so many bytes. Every step forward is one of these, so none leads beyond the end. */
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
