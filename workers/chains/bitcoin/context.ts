/**
 * Shared context of the UTXO adapter: the table of the chain, its nodes, the library that
 * encodes, and caches of scripts, spends and the mempool.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import type { Nodes } from "../node_pool.ts";
import type { CoinTable } from "./networks.ts";
import type { CoinTransaction } from "./node_answers.ts";
import type { Scripts } from "./scripts.ts";
import type { Spends } from "./spend_index.ts";

/** The library that encodes transactions. */
export type Bitcoin = typeof import("bitcoinjs-lib");
/** The library that signs. */
export type Curve = typeof import("@bitcoinerlab/secp256k1");

/** One coin chain on one network. */
export interface CoinChain {
  /** Constants of the chain. */
  readonly table: CoinTable;
  /** The network. */
  readonly network: Network;
  /** Its nodes. */
  readonly nodes: Nodes;
  /** Encoding. */
  readonly bitcoin: Bitcoin;
  /** Signing. */
  readonly curve: Curve;
  /** Scripts of watched addresses. */
  readonly scripts: Scripts;
  /** Index of the transactions that spent coins. */
  readonly spends: Spends;
  /** The mempool as of the last poll, by id. */
  readonly pool: Map<string, CoinTransaction>;
}
