/**
 * What the parts of the EVM adapter share: the table of the chain, its nodes, and ethers, which is
 * loaded once for encoding, hashing and signing. Ethers is never given a connection.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import type { EvmTable } from "./networks.ts";
import type { EvmNodes } from "./node_answers.ts";

/** What a node has called final last. */
export interface LastFinal {
  readonly height: number;
  readonly hash: string;
  /** By the process's own clock. */
  readonly at: number;
}

/** What nodes have called final, by their names; a node's word is held against it for an hour. */
export type Finals = Map<string, LastFinal>;

/** The library that encodes and signs. */
export type Ethers = typeof import("ethers");

/** One EVM chain on one network. */
export interface Evm {
  /** What differs between the chains. */
  readonly table: EvmTable;
  /** The network, main or test. */
  readonly network: Network;
  /** Its nodes. */
  readonly nodes: EvmNodes;
  /** What its nodes have called final. */
  readonly finals: Finals;
  /** Encoding and signing. */
  readonly ethers: Ethers;
}
