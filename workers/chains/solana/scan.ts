/**
 * Finds incoming transfers to our addresses in a range of slots: by whole blocks, or, while the addresses
 * are few, by the transactions of each. The links between the blocks prove that none is missing: a slot
 * that holds none was skipped.
 * @module
 */
import { readList, readRecord } from "../answers.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import type { Block, Consumed, Scanned, Transfer, WatchList } from "../observations.ts";
import { TooLarge } from "../rpc.ts";
import { mergedPart, type Told } from "../scan_quorum.ts";
import { bare, blocksAt, finalSlot, slotsWithBlocks, VERSIONS } from "./block.ts";
import type { Solana } from "./context.ts";
import { mayConcern, readMovement } from "./movements.ts";
import { FINALIZED, readBlock } from "./node_answers.ts";
import { signaturesOf } from "./payment.ts";
import { finalTransactions } from "./raw_transaction.ts";
import { recheck } from "./recheck.ts";
import { bySignaturesOf, toldOf, UNLIMITED } from "./signatures.ts";

/** Slots of one part; a full block is about ten megabytes of JSON, and one is read at a time. */
const SLOTS_AT_ONCE = 16;

/** Slots of one part where the transactions of addresses are read. */
const SLOTS_BY_SIGNATURES = 256;
/**
 * Questions about an address: its own transactions, its token accounts of two programs, and the
 * transactions of one of these. And how many questions a whole block costs as much as.
 */
const CALLS_PER_ADDRESS = 4;
const CALLS_PER_BLOCK = 100;
/** With more questions than these, whole blocks are read however many they are. */
const CALLS_MAX = 20_000;

/** Asks for a block with the accounts and balances of its transactions. */
const WHOLE = {
  ...FINALIZED,
  ...VERSIONS,
  ...{ encoding: "json", transactionDetails: "accounts", rewards: false },
} as const;

/** Reads the blocks of a range, each with the transfers to the watch list. */
export async function* scanRange(
  solana: Solana,
  { from, to, by }: {
    readonly from: number;
    readonly to: number;
    readonly by?: "index" | "blocks";
  },
  watch: WatchList,
): AsyncGenerator<Scanned> {
  let last: Block | null = null;
  const bySignatures = by !== "blocks" &&
    (by === "index" || readsBySignatures(watch, to - from + 1));
  const many = bySignatures ? SLOTS_BY_SIGNATURES : SLOTS_AT_ONCE;
  for (let at = from; at <= to; at += many) {
    const part = { from: at, to: Math.min(to, at + many - 1), bySignatures, by };
    for (const scanned of await readPart(solana, part, watch)) {
      if (last !== null && scanned.block.parentHash !== last.hash) {
        throw new ChainError("unavailable", `a block is missing below ${scanned.block.height}`);
      }
      last = scanned.block;
      yield scanned;
    }
  }
}

/**
 * Tells whether the transactions of each address are read for less than all blocks. One question costs
 * about a millisecond, and a whole block about a hundred, most of it the transfer of ten megabytes.
 */
export function readsBySignatures({ addresses }: WatchList, slots: number): boolean {
  const calls = addresses.size * CALLS_PER_ADDRESS;
  return calls <= CALLS_MAX && calls < slots * CALLS_PER_BLOCK;
}

/** Some slots, and how they are read. */
interface Part {
  readonly from: number;
  readonly to: number;
  readonly bySignatures: boolean;
  /** Set if only the one or the other may be read. */
  readonly by?: "index" | "blocks";
}

async function readPart(solana: Solana, part: Part, watch: WatchList): Promise<Scanned[]> {
  const { from, to } = part;
  const readers = {
    part: (peer: Peer) => scanPart(solana, peer, part, watch),
    logs: () => Promise.resolve([]),
    recheck: (transfer: Transfer) => recheck(solana, transfer),
  };
  return await mergedPart(solana.nodes, watch, readers, `the blocks ${from} to ${to}`);
}

/** Reads the blocks of some slots from one node. */
async function scanPart(
  solana: Solana,
  peer: Peer,
  { from, to, bySignatures, by }: Part,
  watch: WatchList,
): Promise<Told[]> {
  if (await finalSlot(peer) < to) {
    throw new ChainError("unavailable", `${peer.name} does not have block ${to}`);
  }
  const slots = await slotsWithBlocks(peer, from, to);
  const told = (bySignatures ? await bySignaturesOf(solana, peer, slots, watch) : null) ??
    (by === "index"
      ? (await blocksAt(peer, slots)).map((block) => toldOf(block, [], watch))
      : await byBlocks(solana, peer, slots, watch));
  for (const [at, { block }] of told.entries()) {
    if (at > 0 && block.parentHash !== told[at - 1].block.hash) {
      throw new ChainError("unavailable", `${peer.name} lacks a block below ${block.height}`);
    }
  }
  const proven: Told[] = [];
  for (const one of told) {
    proven.push({ ...one, proven: await provenIn(solana, peer, one.consumed) });
  }
  return proven;
}

/**
 * Reads whole blocks, one after the other. A transaction can name many accounts by few bytes, and each is told: of a
 * block that is too large for one answer, the transactions of our addresses are read.
 */
export async function byBlocks(
  solana: Solana,
  peer: Peer,
  slots: readonly number[],
  watch: WatchList,
): Promise<Told[]> {
  const told: Told[] = [];
  for (const slot of slots) {
    try {
      told.push(readWhole(await peer.call("getBlock", [slot, WHOLE]), slot, watch));
    } catch (error) {
      if (!(error instanceof TooLarge)) throw error;
      const listed = await bySignaturesOf(solana, peer, [slot], watch, UNLIMITED);
      if (listed === null) throw error;
      told.push(...listed);
    }
  }
  return told;
}

/** Reads the bytes of transactions that our keys are said to have signed: their signatures prove it. */
async function provenIn(
  { web3 }: Solana,
  peer: Peer,
  signed: readonly Consumed[],
): Promise<Set<string>> {
  const proven = new Set<string>();
  // At once, because anybody may link a busy stranger's address, which signs more than could be asked for singly.
  const transactions = await finalTransactions(peer, signed.map(({ hash }) => hash));
  for (const [at, { input, hash }] of signed.entries()) {
    const found = transactions[at];
    const read = found === null ? null : signaturesOf(web3, found.raw);
    const address = input.slice(0, input.indexOf(":"));
    if (read?.hash === hash && read.signers.includes(address)) proven.add(`${input} ${hash}`);
  }
  return proven;
}

/** Finds the transfers of a block to watched addresses: in the whole block, because an index may have hidden them. */
export async function searchBlock(
  solana: Solana,
  height: number,
  watch: WatchList,
): Promise<Transfer[]> {
  const found: Transfer[] = [];
  for await (
    const { transfers } of scanRange(solana, { from: height, to: height, by: "blocks" }, watch)
  ) {
    found.push(...transfers);
  }
  return found;
}

/** Reads a block with the transfers to the watch list. */
function readWhole(answer: unknown, slot: number, watch: WatchList): Told {
  const block = readBlock(answer, slot);
  if (block === null) throw new ChainError("unavailable", `the node does not have block ${slot}`);
  const listed = readList(readRecord(answer, "a block").transactions);
  const movements = listed.filter((one) => mayConcern(one, watch)).map(readMovement);
  return toldOf(bare(block), movements, watch);
}
