/**
 * Shared context of the EVM adapter: the table of the chain, its nodes, and ethers, which is
 * loaded once for encoding, hashing and signing. Ethers never gets a connection.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import type { EvmTable } from "./networks.ts";
import type { EvmNodes } from "./node_answers.ts";

/** The last block that a node called final. */
export interface LastFinal {
  readonly height: number;
  readonly hash: string;
  /** By the process's own clock. */
  readonly at: number;
}

/** The last final block of each node, by the node's name; a node is held to it for an hour. */
export type Finals = Map<string, LastFinal>;

/** The library that encodes and signs. */
export type Ethers = typeof import("ethers");

/** One EVM chain on one network. */
export interface Evm {
  /** Constants of the chain. */
  readonly table: EvmTable;
  /** The network, main or test. */
  readonly network: Network;
  /** Its nodes. */
  readonly nodes: EvmNodes;
  /** The last final blocks of its nodes. */
  readonly finals: Finals;
  /** Encoding and signing. */
  readonly ethers: Ethers;
}
