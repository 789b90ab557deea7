/**
 * Spend index: the transaction that spent each coin, recorded while blocks are scanned and searched in
 * blocks where it is missing. A Bitcoin node reports that a coin is spent, but not by which transaction.
 * @module
 */
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { type BlockPlace, hashAt } from "./node_answers.ts";

/** A transaction of a block. */
export interface Spender {
  /** Transaction id. */
  readonly hash: string;
  /** The block it is in. */
  readonly blockHash: string;
  /** That block's height. */
  readonly height: number;
}

/** The part of a block that the index reads. */
export interface Noted extends BlockPlace {
  /** Its transactions. */
  readonly transactions: readonly { readonly hash: string; readonly spends: readonly string[] }[];
}

/** Index of spent coins. */
export interface Spends {
  /** Records the spends of the given coins in a block of the chain. */
  note(block: Noted, inputs: ReadonlySet<string>): void;
  /**
   * Finds the spenders of coins in the blocks from a height to the head. The search continues where the
   * last one ended; null means that blocks are left for the next call.
   */
  find(
    peer: Peer,
    inputs: readonly string[],
    from: number,
    head: number,
  ): Promise<ReadonlyMap<string, Spender> | null>;
}

/** Position of one search. */
interface Progress {
  readonly from: number;
  readonly height: number;
  readonly hash: string;
}

const NOTES_MAX = 20_000;
const SEARCHES_MAX = 2_000;
/** Spenders kept of one coin: nodes may differ for a while, and blocks may be replaced. */
const RIVALS_MAX = 4;
/** Source of spends that a scan recorded. */
const SCANNED = "";
/** Blocks searched in one call. */
const BLOCKS_AT_ONCE = 200;

/** Reads a block that proves itself. */
export type BlockReader = (peer: Peer, place: BlockPlace) => Promise<Noted>;

/** Makes an empty index. */
export function openSpends(readBlock: BlockReader): Spends {
  const notes = new Map<string, readonly Spender[]>();
  const searches = new Map<string, Progress>();
  /** Keeps a spend by its source: a node's invention then displaces no other node's report. */
  function keep(source: string, input: string, spender: Spender): void {
    const key = `${source} ${input}`;
    const others = notes.get(key)?.filter(({ blockHash }) => blockHash !== spender.blockHash);
    notes.set(key, [...others ?? [], spender].slice(-RIVALS_MAX));
    if (notes.size <= NOTES_MAX) return;
    // A forgotten spend must be searched again, so no search may continue beyond it.
    notes.clear();
    searches.clear();
  }
  function note(block: Noted, inputs: ReadonlySet<string>, source = SCANNED): void {
    if (inputs.size === 0) return;
    for (const { hash, spends } of block.transactions) {
      for (const input of spends) {
        if (!inputs.has(input)) continue;
        keep(source, input, { hash, blockHash: block.hash, height: block.height });
      }
    }
  }
  /** Gives the height to continue at; a reorganisation sends the search back to its start. */
  async function resume(peer: Peer, key: string, from: number): Promise<number> {
    const last = searches.get(key);
    if (!last || last.from > from) return from;
    return await hashAt(peer, last.height) === last.hash ? last.height + 1 : from;
  }
  /** Gives the recorded spenders whose blocks are on the chain of this node. */
  async function known(peer: Peer, inputs: readonly string[]): Promise<Map<string, Spender>> {
    const found = new Map<string, Spender>();
    for (const input of inputs) {
      const noted = [SCANNED, peer.name].flatMap((source) => notes.get(`${source} ${input}`) ?? []);
      for (const spender of noted) {
        if (await hashAt(peer, spender.height) === spender.blockHash) found.set(input, spender);
      }
    }
    return found;
  }
  return {
    note: (block, inputs) => note(block, inputs),
    find: async (peer, inputs, from, head) => {
      const found = await known(peer, inputs);
      const missing = inputs.filter((input) => !found.has(input));
      if (missing.length === 0) return found;
      const key = `${peer.name} ${missing.toSorted().join()}`;
      const start = await resume(peer, key, from);
      const end = Math.min(head, start + BLOCKS_AT_ONCE - 1);
      const wanted = new Set(missing);
      for (let height = start; height <= end; height++) {
        const blockHash = await hashAt(peer, height);
        if (blockHash === null) {
          throw new ChainError("unavailable", `${peer.name} has no block ${height}`);
        }
        note(await readBlock(peer, { hash: blockHash, height }), wanted, peer.name);
        if (searches.size >= SEARCHES_MAX) searches.clear();
        searches.set(key, { from, height, hash: blockHash });
      }
      return end < head ? null : await known(peer, inputs);
    },
  };
}
