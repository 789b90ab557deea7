/**
 * The test's Tron chain: blocks with the state after each, a pool, blocks on demand, and forks. The
 * head's state with the pool on top is what a full node answers from, as java-tron does; the solidified
 * block lies below the head and never goes back.
 * @module
 */
import type { Machine } from "./machine.ts";
import { encodeTransaction, HEADER, sha256Hex, type Transaction } from "./messages.ts";
import { type Processed, processTransaction, Refusal, type Setting } from "./processing.ts";
import { encode, type Message } from "./protobuf.ts";
import { CHAIN_PARAMETERS, type ChainParameters } from "./resources.ts";
import { copyWorld, type World } from "./world.ts";

/** A block and the state after it. */
export interface TronBlock {
  readonly number: bigint;
  readonly id: string;
  /** Fields of the header. */
  readonly header: Message;
  /** Milliseconds. */
  readonly timestamp: bigint;
  readonly processed: readonly Processed[];
  readonly world: World;
}

/** The whole chain. */
export interface Ledger {
  readonly machine: Machine;
  parameters: ChainParameters;
  readonly factors: Map<string, bigint>;
  blocks: TronBlock[];
  /** Taken and not mined yet, carried out on the head. */
  pool: Processed[];
  /** State after the pool. */
  pending: World;
  /** Blocks that the solidified one lies below the head. */
  lag: number;
  /** The solidified block; it does not go back. */
  solid: number;
  /** Counts forks, so that blocks of another fork differ. */
  fork: number;
  /** Number of the block that a transaction is in, by its id. */
  readonly minedIn: Map<string, number>;
  /** Ids seen before they were checked, where the node keeps them (`node.rpc.trxCacheEnable`). */
  readonly seen: Set<string> | null;
}

const SLOT = 3_000n;
const VERSION = 34n;
const NO_HASH = "0".repeat(64);
const WITNESSES = 27;

/** Starts a chain with a first block of a state. */
export function startLedger(
  machine: Machine,
  world: World,
  how: { timestamp: bigint; lag: number; seen: boolean; factors: Map<string, bigint> },
): Ledger {
  const ledger: Ledger = {
    machine,
    parameters: CHAIN_PARAMETERS,
    factors: how.factors,
    blocks: [],
    pool: [],
    pending: copyWorld(world),
    lag: how.lag,
    solid: 0,
    fork: 0,
    minedIn: new Map(),
    seen: how.seen ? new Set() : null,
  };
  append(ledger, how.timestamp, [], world);
  return ledger;
}

/** Keeps the chain and the pool as they are; gives what puts them back. Blocks made after that are of another fork. */
export function keepLedger(ledger: Ledger): () => void {
  const { parameters, pending, lag, solid } = ledger;
  const [blocks, pool] = [[...ledger.blocks], [...ledger.pool]];
  const [factors, minedIn] = [[...ledger.factors], [...ledger.minedIn]];
  const seen = [...ledger.seen ?? []];
  return () => {
    Object.assign(ledger, { parameters, lag, solid, blocks: [...blocks], pool: [...pool] });
    ledger.pending = copyWorld(pending);
    ledger.fork++;
    refill(ledger.factors, factors);
    refill(ledger.minedIn, minedIn);
    ledger.seen?.clear();
    for (const id of seen) ledger.seen?.add(id);
  };
}

function refill<T>(map: Map<string, T>, entries: readonly (readonly [string, T])[]): void {
  map.clear();
  for (const [key, value] of entries) map.set(key, value);
}

/** The newest block. */
export function head({ blocks }: Ledger): TronBlock {
  return blocks[blocks.length - 1];
}

/** The newest block that the solidity surface shows. */
export function solidified(ledger: Ledger): TronBlock {
  return ledger.blocks[ledger.solid];
}

/** Moves the solidified block up to its place; it is never moved down. */
export function solidify(ledger: Ledger): void {
  ledger.solid = Math.max(ledger.solid, ledger.blocks.length - 1 - ledger.lag);
}

/** Puts a transaction into the pool, once it passes on the state of the pool. */
export async function push(ledger: Ledger, transaction: Transaction): Promise<void> {
  if (ledger.seen?.has(transaction.id)) {
    throw new Refusal("DUP_TRANSACTION_ERROR", "Transaction already exists.");
  }
  ledger.seen?.add(transaction.id);
  const world = copyWorld(ledger.pending);
  const pooled = new Set(ledger.pool.map(({ transaction: { id } }) => id));
  const setting = settingOf(ledger, (id) => pooled.has(id));
  ledger.pool.push(await processTransaction(setting, world, transaction));
  ledger.pending = world;
}

/** Makes the next block of what passes from the pool; the rest is dropped, as a producer does. */
export async function mineBlock(ledger: Ledger, skippedSlots = 0): Promise<void> {
  const timestamp = head(ledger).timestamp + SLOT * BigInt(1 + skippedSlots);
  let world = copyWorld(head(ledger).world);
  const processed: Processed[] = [];
  const setting = {
    ...settingOf(ledger, (id) => processed.some((one) => one.transaction.id === id)),
    number: BigInt(ledger.blocks.length),
    timestamp,
  };
  for (const { transaction } of ledger.pool) {
    const next = copyWorld(world);
    try {
      if ((transaction.fields.expiration as bigint) < timestamp) continue;
      processed.push(await processTransaction(setting, next, transaction));
      world = next;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
  append(ledger, timestamp, processed, processed.length > 0 ? world : head(ledger).world);
  ledger.pool = [];
  ledger.pending = copyWorld(head(ledger).world);
}

/** Changes the state of the head as no transaction could, and the pool's with it. */
export async function alter(ledger: Ledger, by: (world: World) => void): Promise<void> {
  const top = head(ledger);
  const world = copyWorld(top.world);
  by(world);
  ledger.blocks[ledger.blocks.length - 1] = { ...top, world };
  ledger.pending = copyWorld(world);
  const kept = ledger.pool;
  ledger.pool = [];
  for (const { transaction } of kept) await repush(ledger, transaction);
}

/** Takes back the newest blocks. Gives their transactions, oldest first. */
export function rollback(ledger: Ledger, blocks: number): Transaction[] {
  const from = ledger.blocks.length - blocks;
  if (from <= ledger.solid) throw new Error("a solidified block is never taken back");
  const erased = ledger.blocks.splice(from).flatMap(({ processed }) => processed);
  for (const { transaction } of erased) ledger.minedIn.delete(transaction.id);
  ledger.pool = [];
  ledger.pending = copyWorld(head(ledger).world);
  ledger.fork++;
  return erased.map(({ transaction }) => transaction);
}

/** Puts a transaction back into the pool; one that does not pass any more is dropped. */
export async function repush(ledger: Ledger, transaction: Transaction): Promise<void> {
  ledger.seen?.delete(transaction.id);
  try {
    await push(ledger, transaction);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
}

function settingOf(ledger: Ledger, isPending: (id: string) => boolean): Setting {
  const { machine, parameters, factors, blocks, minedIn } = ledger;
  const top = head(ledger);
  return {
    machine,
    parameters,
    factors,
    refBlockHash(bytes) {
      const low = parseInt(bytes, 16);
      const newest = blocks.length - 1;
      const number = newest - ((newest - low) & 0xffff);
      return bytes.length === 4 ? blocks[number]?.id.slice(16, 32) : undefined;
    },
    has: (id) => minedIn.has(id) || isPending(id),
    headTime: top.timestamp,
    number: top.number,
    timestamp: top.timestamp,
  };
}

function append(
  ledger: Ledger,
  timestamp: bigint,
  processed: readonly Processed[],
  world: World,
): void {
  const number = BigInt(ledger.blocks.length);
  const below = ledger.blocks.at(-1);
  const witness = (Number(number) + ledger.fork) % WITNESSES + 1;
  const header: Message = {
    ...(number > 0n && { number }),
    txTrieRoot: merkleRoot(processed),
    witness_address: `41${witness.toString(16).padStart(2, "0").repeat(20)}`,
    parentHash: below?.id ?? NO_HASH,
    version: VERSION,
    timestamp,
  };
  // The id is the header's hash with the number in place of the first eight bytes.
  const hash = sha256Hex(encode(HEADER, header)).slice(16);
  const id = number.toString(16).padStart(16, "0") + hash;
  ledger.blocks.push({ number, id, header, timestamp, processed, world });
  for (const { transaction } of processed) ledger.minedIn.set(transaction.id, Number(number));
  solidify(ledger);
}

/** `MerkleTree` of java-tron: a node without a neighbour keeps its hash. */
function merkleRoot(processed: readonly Processed[]): string {
  let level = processed.map(({ transaction, contractRet }) =>
    sha256Hex(encodeTransaction(transaction, contractRet))
  );
  if (level.length === 0) return NO_HASH;
  while (level.length > 1) {
    const above: string[] = [];
    for (let at = 0; at < level.length; at += 2) {
      above.push(at + 1 < level.length ? sha256Hex(level[at] + level[at + 1]) : level[at]);
    }
    level = above;
  }
  return level[0];
}
