/** Queries on nonces: the numbers of an address's transactions, on chains that order them so. @module */
import type { Address } from "./observations.ts";

/** How many transactions an address has sent: the next nonce. */
export interface Nonces {
  /** In blocks. */
  readonly mined: number;
  /** In blocks and in the mempool. */
  readonly pooled: number;
}

/** Questions about nonces; only chains that have nonces answer them. */
export interface NonceCounter {
  /** Counts the transactions of an address, none that fewer nodes than the quorum have. */
  count(address: Address): Promise<Nonces>;
  /** Counts the transactions that addresses had sent by a height, as one node tells. */
  countAt(addresses: readonly Address[], height: number): Promise<readonly number[]>;
}
