/**
 * Queries on single coins of a UTXO chain, beside the records of the scanner: whether a coin is unspent,
 * and which transaction spent it.
 * @module
 */
import type { Address } from "./observations.ts";

/** A coin that the database records as ours. */
export interface KnownCoin {
  /** `txid:vout`. */
  readonly input: string;
  /** The address that owns it. */
  readonly address: Address;
  /** Base units. */
  readonly amount: bigint;
}

/** The mined transaction that spent a coin. */
export interface CoinSpender {
  /** Transaction id. */
  readonly hash: string;
  /** Height of its block. */
  readonly height: number;
}

/** A coin as a node lists it. */
export interface ListedCoin {
  /** `txid:vout`. */
  readonly input: string;
  /** Height of the block that made it. */
  readonly height: number;
}

/** The coins that a node lists for some addresses, at the newest block it had when the listing began. */
export interface CoinList {
  /** Height of that block. */
  readonly height: number;
  /** Its hash. */
  readonly hash: string;
  readonly coins: readonly ListedCoin[];
}

/** `unclear` where nodes contradict each other. */
export type CoinState = "unspent" | "gone" | "unclear";

/** Questions about coins; only chains that have coins answer them. */
export interface CoinWitness {
  /**
   * Asks every node whether coins are unspent at a block, each with its amount and its script.
   *
   * @returns the states in the order asked; null while fewer nodes than the quorum have that block as
   *   their newest
   */
  confirm(
    coins: readonly KnownCoin[],
    block: { readonly height: number; readonly hash: string },
  ): Promise<readonly CoinState[] | null>;
  /** Names those of some coins of blocks that a transaction in the mempool of any node spends. */
  pooled(inputs: readonly string[]): Promise<readonly string[]>;
  /**
   * Finds the transactions that spent coins in the blocks from a height on, as far as the quorum has
   * these blocks. A long search continues where the last call ended.
   *
   * @param turn which node is asked first
   * @returns the spenders found; null while blocks are left for the next call
   */
  spenders(
    inputs: readonly string[],
    since: number,
    turn: number,
  ): Promise<ReadonlyMap<string, CoinSpender> | null>;
  /**
   * Lists the coins of addresses from the node's set of unspent outputs. The node reads all of it,
   * which takes minutes on a main network; it has a time-out of its own.
   *
   * @param turn which node is asked first
   * @returns null where no node has such a list
   */
  list(addresses: readonly Address[], turn: number): Promise<CoinList | null>;
}
