/**
 * What the parts of the coin adapter share: the table of the chain, its nodes, the library that
 * encodes, and what was seen and is worth remembering.
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
  /** What differs between the chains. */
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
  /** Who spent which coin, as far as it was seen. */
  readonly spends: Spends;
  /** What the mempool held when it was last looked at, by id. */
  readonly pool: Map<string, CoinTransaction>;
}
