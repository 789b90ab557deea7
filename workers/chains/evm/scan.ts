/**
 * Finds incoming transfers to our addresses in a range of blocks. Logs are asked for by block hash: a
 * lagging node then answers "unknown block", where by height it would answer "none" and lose a deposit.
 * Every transfer found is read from a receipt, so it was mined, in that very block, and succeeded.
 * @module
 */
import { readList } from "../answers.ts";
import { ChainError } from "../chain.ts";
import { allOf, type Peer } from "../node_pool.ts";
import { RpcError } from "../rpc.ts";
import type { Block, Transfer, WatchList } from "../observations.ts";
import { bitsOf, type BloomBits, mayContain } from "./bloom.ts";
import type { Evm } from "./context.ts";
import { readTransferLog, topicOf, TRANSFER_TOPIC } from "./erc20.ts";
import type { Told } from "../scan_quorum.ts";
import {
  type EvmBlock,
  type EvmReceipt,
  type EvmTransaction,
  isMissingMethod,
  readBlock,
  readLogs,
  readReceipt,
  toHex,
} from "./node_answers.ts";
import { isSignedBy } from "./nonce_proof.ts";

/** Blocks in flight at once; a full block of a busy chain is about a megabyte of JSON. */
export const BLOCKS_AT_ONCE = 16;
/** Beyond this number a node answers faster for the whole block than for single receipts. */
const RECEIPTS_SINGLY = 32;
/** Beyond this number filtering at the node costs more than filtering here. */
const FILTER_ADDRESSES = 400;
const FILTER_CONTRACTS = 200;

/** A watch list in the form that blocks are compared with: lower case to canonical form. */
export interface WatchIndex {
  /** Addresses. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Inputs. */
  readonly inputs: ReadonlyMap<string, string>;
  /** Contracts that count, or null for all. */
  readonly contracts: ReadonlySet<string> | null;
}

/** Most transactions of a block with logs for us that the block does not list; protocols make a few. */
const UNLISTED_MAX = 16;

const ZERO = `0x${"0".repeat(40)}`;
/** Bloom filter bits of a watch list. */
interface Filters {
  readonly payees: readonly BloomBits[];
  /** Null for all. */
  readonly contracts: readonly BloomBits[] | null;
}
const FILTERS = new WeakMap<WatchIndex, Filters>();
const PAYEES = new Map<string, BloomBits>();
const PAYEES_MAX = 500_000;
const INDEXES = new WeakMap<WatchList, WatchIndex>();

/** Indexes a watch list, once per list. */
export function indexOf(watch: WatchList): WatchIndex {
  const known = INDEXES.get(watch);
  if (known) return known;
  const index = {
    addresses: new Map([...watch.addresses].map((one) => [one.toLowerCase(), one])),
    inputs: new Map([...watch.inputs].map((one) => [one.toLowerCase(), one])),
    contracts: watch.contracts && new Set([...watch.contracts].map((one) => one.toLowerCase())),
  };
  INDEXES.set(watch, index);
  return index;
}

/** Reads a block that must be there. */
export async function blockAt(peer: Peer, height: number, full: boolean): Promise<EvmBlock> {
  const block = readBlock(await peer.call("eth_getBlockByNumber", [toHex(height), full]));
  return present(block, height);
}

/** Reads whole blocks of a short range, all of which must be there. */
export async function blocksOf(peer: Peer, from: number, to: number): Promise<EvmBlock[]> {
  const heights = Array.from({ length: to - from + 1 }, (_, step) => from + step);
  const asked = heights.map((height) => ({
    method: "eth_getBlockByNumber",
    params: [toHex(height), true],
  }));
  const answers = allOf(await peer.batch(asked));
  return answers.map((answer, at) => present(readBlock(answer), heights[at]));
}

/** Lists the transfers of one transaction to watched addresses, by its value and its logs. */
export function transfersOf(
  evm: Evm,
  block: Block,
  transaction: EvmTransaction,
  receipt: EvmReceipt,
  index: WatchIndex,
): Transfer[] {
  if (!receipt.success) return [];
  const found: Transfer[] = [];
  const base = { hash: receipt.hash, block: bare(block), maturesAt: null };
  const { getAddress } = evm.ethers;
  const { from, to, value } = transaction;
  const payee = to === null ? undefined : index.addresses.get(to);
  if (payee !== undefined && value > 0n && from !== to) {
    const sender = getAddress(from);
    found.push({ ...base, index: -1, from: sender, to: payee, contract: null, amount: value });
  }
  for (const [place, log] of receipt.logs.entries()) {
    const said = readTransferLog(log.topics, log.data);
    const owner = said && index.addresses.get(said.to);
    if (!said || !owner || said.amount === 0n || said.from === said.to) continue;
    const native = log.address === evm.table.nativeToken;
    if (!native && !counts(evm, log.address, index)) continue;
    // Where the coin is a token too, one payment may appear as value and as log.
    if (native && said.to === to && said.amount === value && said.from === from) continue;
    const sender = said.from === null || said.from === ZERO ? null : getAddress(said.from);
    const contract = native ? null : getAddress(log.address);
    found.push({ ...base, index: place, from: sender, to: owner, contract, amount: said.amount });
  }
  return found;
}

/** Reads receipts of transactions that a block holds; all of them must be of that block. */
export async function receiptsOf(
  peer: Peer,
  block: Block,
  hashes: readonly string[],
): Promise<EvmReceipt[]> {
  const whole = hashes.length > RECEIPTS_SINGLY ? await receiptsOfBlock(peer, block) : [];
  const byHash = new Map(whole.map((receipt) => [receipt?.hash, receipt]));
  const missing = hashes.filter((hash) => !byHash.has(hash));
  for (const receipt of await singleReceipts(peer, missing)) byHash.set(receipt?.hash, receipt);
  return hashes.map((hash) => {
    const receipt = byHash.get(hash);
    if (receipt?.blockHash === block.hash) return receipt;
    throw new ChainError("unavailable", `${peer.name} has no receipt of ${hash} in its block`);
  });
}

/** Reads the blocks of a short range from one node. */
export async function scanPart(
  evm: Evm,
  peer: Peer,
  from: number,
  to: number,
  watch: WatchList,
): Promise<Told[]> {
  const blocks = await blocksOf(peer, from, to);
  for (const [at, block] of blocks.entries()) {
    if (at > 0 && block.parentHash !== blocks[at - 1].hash) {
      throw new ChainError("unavailable", `${peer.name} is changing its chain`);
    }
  }
  const index = indexOf(watch);
  const logged = await hashesWithLogs(evm, peer, blocks, index);
  const scanned: Told[] = [];
  for (const [at, block] of blocks.entries()) {
    scanned.push(await scanBlock(evm, peer, block, logged[at], index));
  }
  return scanned;
}

async function scanBlock(
  evm: Evm,
  peer: Peer,
  block: EvmBlock,
  logged: ReadonlySet<string>,
  index: WatchIndex,
): Promise<Told> {
  const listed = new Set(block.transactions.map(hashOf));
  const extra = [...logged].filter((hash) => !listed.has(hash));
  if (extra.length > UNLISTED_MAX) {
    const many = `${extra.length} transactions that block ${block.height} does not list`;
    throw new ChainError("unavailable", `${peer.name} reports logs of ${many}`);
  }
  const touched = block.transactions.filter((one) =>
    logged.has(one.hash) || (one.value > 0n && one.to !== null && index.addresses.has(one.to))
  ).concat(extra.map(unlisted));
  const receipts = await receiptsOf(peer, block, touched.map((one) => one.hash));
  const proven = new Set<string>();
  const consumed = block.transactions.flatMap(({ from, nonce, hash, given }) => {
    const input = index.inputs.get(`${from}:${nonce}`);
    if (input === undefined) return [];
    if (isSignedBy(evm, given, { address: from, nonce }, hash)) proven.add(`${input} ${hash}`);
    return [{ input, hash }];
  });
  return {
    block: bare(block),
    transfers: touched.flatMap((one, at) => transfersOf(evm, block, one, receipts[at], index)),
    consumed,
    proven,
    doubtful: logged.size === 0 && mayConcern(evm, block, index),
  };
}

/** Tells whether the bloom filter of a block permits a log of a transfer to us. */
function mayConcern(evm: Evm, { bloom }: EvmBlock, index: WatchIndex): boolean {
  const { payees, contracts } = filtersOf(evm, index);
  const some = (bits: readonly BloomBits[]) => bits.some((one) => mayContain(bloom, one));
  return mayContain(bloom, bitsOf(evm.ethers, TRANSFER_TOPIC)) && some(payees) &&
    (contracts === null || some(contracts));
}

function filtersOf(evm: Evm, index: WatchIndex): Filters {
  const known = FILTERS.get(index);
  if (known) return known;
  const { nativeToken } = evm.table;
  const contracts = index.contracts && [...index.contracts, ...(nativeToken ? [nativeToken] : [])];
  const filters = {
    payees: [...index.addresses.keys()].map((one) => payeeBits(evm, one)),
    contracts: contracts && contracts.map((one) => bitsOf(evm.ethers, one)),
  };
  FILTERS.set(index, filters);
  return filters;
}

/** The bits of an address as payee, kept between watch lists: each pass over the blocks has its own. */
function payeeBits({ ethers }: Evm, address: string): BloomBits {
  const known = PAYEES.get(address);
  if (known !== undefined) return known;
  const made = bitsOf(ethers, topicOf(address));
  if (PAYEES.size >= PAYEES_MAX) PAYEES.clear();
  PAYEES.set(address, made);
  return made;
}

async function hashesWithLogs(
  evm: Evm,
  peer: Peer,
  blocks: readonly EvmBlock[],
  index: WatchIndex,
): Promise<ReadonlySet<string>[]> {
  const asked = blocks.filter((block) => block.hasLogs);
  const found = await loggedIn(evm, peer, asked, index);
  return blocks.map((block) => found[asked.indexOf(block)] ?? new Set());
}

/** Finds the transactions of blocks whose logs are transfers to watched addresses. */
export async function loggedIn(
  evm: Evm,
  peer: Peer,
  blocks: readonly Block[],
  index: WatchIndex,
): Promise<ReadonlySet<string>[]> {
  const filter = logFilter(evm, index);
  if (filter === null) return blocks.map(() => new Set());
  const answers = allOf(
    await peer.batch(blocks.map(({ hash }) => ({
      method: "eth_getLogs",
      params: [{ ...filter, blockHash: hash }],
    }))),
  );
  return blocks.map((block, at) => {
    const logs = readLogs(answers[at]);
    const wrong = logs.find((log) => log.blockHash !== block.hash);
    if (wrong) throw new ChainError("unavailable", `${peer.name} gave logs of another block`);
    return new Set(logs.filter((log) => arrives(log.topics, index)).map(hashOf));
  });
}

/** Polygon's bridge logs through a transaction of the protocol that some nodes do not list. */
export function unlisted(hash: string): EvmTransaction {
  return { hash, from: ZERO, to: null, value: 0n, nonce: -1, feeInToken: false, given: {} };
}

/** Makes the log filter; null if no log can concern us. */
function logFilter(evm: Evm, index: WatchIndex) {
  const { nativeToken } = evm.table;
  const contracts = index.contracts && [...index.contracts, ...(nativeToken ? [nativeToken] : [])];
  if (index.addresses.size === 0 || contracts?.length === 0) return null;
  const few = index.addresses.size <= FILTER_ADDRESSES;
  const payees = few ? [null, [...index.addresses.keys()].map(topicOf)] : [];
  const address = contracts && contracts.length <= FILTER_CONTRACTS ? contracts : undefined;
  return { address, topics: [TRANSFER_TOPIC, ...payees] };
}

function arrives(topics: readonly string[], index: WatchIndex): boolean {
  return topics.length === 3 && index.addresses.has(`0x${topics[2].slice(26)}`);
}

function hashOf(log: { hash: string }): string {
  return log.hash;
}

function counts(evm: Evm, contract: string, index: WatchIndex): boolean {
  if (evm.table.echoes.includes(contract)) return false;
  return index.contracts === null || index.contracts.has(contract);
}

async function singleReceipts(peer: Peer, hashes: readonly string[]) {
  const asked = hashes.map((hash) => ({ method: "eth_getTransactionReceipt", params: [hash] }));
  return allOf(await peer.batch(asked)).map(readReceipt);
}

async function receiptsOfBlock(peer: Peer, block: Block) {
  try {
    return readList(await peer.call("eth_getBlockReceipts", [toHex(block.height)])).map(
      readReceipt,
    );
  } catch (error) {
    if (error instanceof RpcError && isMissingMethod(error)) return [];
    throw error;
  }
}

function present(block: EvmBlock | null, height: number): EvmBlock {
  // Above its head a node answers null; below it, a null comes from a node that lags behind another.
  if (block?.height === height) return block;
  throw new ChainError("unavailable", `the node does not have block ${height}`);
}

/** Reduces a block to its identifying fields. */
export function bare({ height, hash, parentHash, time }: Block): Block {
  return { height, hash, parentHash, time };
}
