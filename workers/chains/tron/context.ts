/**
 * Shared context of the Tron adapter: its nodes, and ethers, which is loaded once for hashing and signing.
 * Ethers never gets a connection.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import type { Nodes } from "../node_pool.ts";

/** The library that hashes and signs. */
export type Ethers = typeof import("ethers");

/** Tron on one network. */
export interface Tron {
  /** The network, main or test. */
  readonly network: Network;
  /** Its nodes. */
  readonly nodes: Nodes;
  /** Hashing and signing. */
  readonly ethers: Ethers;
}
