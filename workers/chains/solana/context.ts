/**
 * Shared context of the Solana adapter: its nodes, and web3.js, which is loaded once for keys, messages
 * and encodings. It never gets a connection.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import type { Nodes } from "../node_pool.ts";

/** The library that encodes and signs. */
export type Web3 = typeof import("@solana/web3.js");

/** Solana on one network. */
export interface Solana {
  /** The network, main or test. */
  readonly network: Network;
  /** Its nodes. */
  readonly nodes: Nodes;
  /** Encoding and signing. */
  readonly web3: Web3;
}
