/**
 * What links the blocks of surfpool 1.5.0, whose own answers do not: hashes, and heights. A block that surfpool
 * executed, or that it made to travel in time, has the hash that transactions may name; others get one of their own.
 * @module
 */
import { PublicKey } from "@solana/web3.js";

/** Asks surfpool. */
export type Asker = <T = unknown>(method: string, ...params: unknown[]) => Promise<T>;

/** The first slot that surfpool keeps. */
export const FIRST = 31;

const PROCESSED = { commitment: "processed" } as const;

/** Hashes and heights of blocks by their slots. */
export interface BlockPlaces {
  hashOf(slot: number): Promise<string>;
  heightOf(slot: number): Promise<number>;
  /** Whether transactions may name the block. */
  isNamed(slot: number): Promise<boolean>;
  /** Gives the newest block the hash that transactions may name now; called after surfpool travelled. */
  noteNewest(): Promise<void>;
  /** Whether a block above a slot has a hash. */
  isAbove(slot: number, hash: string): Promise<boolean>;
}

/** Follows the blocks of a node. */
export function openBlockPlaces(raw: Asker): BlockPlaces {
  const hashes = new Map<number, string>();
  const noted = new Set<number>();
  const open = () => raw<number>("getSlot", PROCESSED);
  async function hashOf(slot: number): Promise<string> {
    const known = hashes.get(slot);
    if (known !== undefined) return known;
    const hash = await executedHash(raw, slot) ?? madeUp(slot);
    if (slot < await open()) hashes.set(slot, hash);
    return hash;
  }
  return {
    hashOf,
    async heightOf(slot) {
      const height = await raw<number>("getBlockHeight", PROCESSED);
      return Math.max(0, height - (await open() - slot));
    },
    isNamed: async (slot) => noted.has(slot) || await hasTransactions(raw, slot),
    async noteNewest() {
      const { value } = await raw<{ value: { blockhash: string } }>(
        "getLatestBlockhash",
        PROCESSED,
      );
      if ([...hashes.values()].includes(value.blockhash)) return;
      const slot = await open() - 1;
      hashes.set(slot, value.blockhash);
      noted.add(slot);
    },
    async isAbove(slot, hash) {
      for (let at = await open() - 1; at > slot; at--) if (await hashOf(at) === hash) return true;
      return false;
    },
  };
}

/** Tells whether surfpool executed a transaction in a slot. */
export async function hasTransactions(raw: Asker, slot: number): Promise<boolean> {
  return await executedHash(raw, slot) !== null;
}

async function executedHash(raw: Asker, slot: number): Promise<string | null> {
  if (slot < FIRST) return null;
  const asked = { transactionDetails: "signatures", commitment: "confirmed", rewards: false };
  const block = await raw<{ signatures?: string[]; blockhash: string } | null>("getBlock", slot, {
    ...asked,
    maxSupportedTransactionVersion: 0,
  });
  return block?.signatures?.length ? block.blockhash : null;
}

/** A hash of its own for each slot. */
function madeUp(slot: number): string {
  const bytes = new Uint8Array(32).fill(7);
  new DataView(bytes.buffer).setUint32(0, slot);
  return new PublicKey(bytes).toBase58();
}

/** A transaction with its result, as far as it is mended. */
export interface Executed {
  readonly meta: {
    readonly preBalances: number[];
    readonly postBalances: number[];
    readonly preTokenBalances?: { accountIndex: number }[];
    readonly postTokenBalances: { accountIndex: number }[];
  };
}

/** Leaves out the tokens of accounts that are not there any more, or were not there yet. */
export function withoutClosed<T extends Executed>(transaction: T): T {
  const { meta } = transaction;
  if (meta?.postTokenBalances === undefined) return transaction;
  const heldBy = (lamports: readonly number[]) => (one: { accountIndex: number }) =>
    lamports[one.accountIndex] > 0;
  const postTokenBalances = meta.postTokenBalances.filter(heldBy(meta.postBalances));
  const preTokenBalances = meta.preTokenBalances?.filter(heldBy(meta.preBalances));
  return { ...transaction, meta: { ...meta, preTokenBalances, postTokenBalances } };
}
