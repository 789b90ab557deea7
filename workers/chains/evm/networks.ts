/**
 * Constants of Ethereum, Polygon, Celo and BSC. Gas prices are wei.
 * @module
 */
import type { ChainId } from "../../../domain/assets.ts";

/** Names the chains of this family. */
export type EvmChainId = Extract<ChainId, "ETHEREUM" | "POLYGON" | "CELO" | "BSC">;

/** Constants of one chain, which its node does not tell. */
export interface EvmTable {
  /** The chain. */
  readonly id: EvmChainId;
  /** Form of its bids: EIP-1559, or one gas price where the chain burns nothing. */
  readonly bids: "1559" | "legacy";
  /** The least tip that its miners take. */
  readonly tipMin: bigint;
  /** No bid above this is signed: a broken node must not spend our coins. */
  readonly gasPriceMax: bigint;
  /** Bids up to this are allowed however far above the market: gas is nearly free there. */
  readonly gasPriceCalm: bigint;
  /** Contract through which the native coin also moves, with logs like those of a token. */
  readonly nativeToken: string | null;
  /** Contracts whose logs repeat the transaction's own value, in lower case. */
  readonly echoes: readonly string[];
  /** Tokens in which fees may be paid (CIP-64), in lower case. */
  readonly feeTokens: readonly string[];
  /** Contract that keeps the list of fee tokens. */
  readonly feeDirectory: string | null;
}

const GWEI = 10n ** 9n;

/** Lists the chains. */
export const EVM_TABLES: Readonly<Record<EvmChainId, EvmTable>> = {
  ETHEREUM: {
    id: "ETHEREUM",
    bids: "1559",
    tipMin: 1n,
    gasPriceMax: 2_000n * GWEI,
    gasPriceCalm: 5n * GWEI,
    nativeToken: null,
    echoes: [],
    feeTokens: [],
    feeDirectory: null,
  },
  POLYGON: {
    id: "POLYGON",
    bids: "1559",
    tipMin: 25n * GWEI,
    gasPriceMax: 50_000n * GWEI,
    gasPriceCalm: 150n * GWEI,
    nativeToken: null,
    echoes: ["0x0000000000000000000000000000000000001010"],
    feeTokens: [],
    feeDirectory: null,
  },
  CELO: {
    id: "CELO",
    bids: "1559",
    tipMin: 1n,
    gasPriceMax: 20_000n * GWEI,
    gasPriceCalm: 100n * GWEI,
    nativeToken: "0x471ece3750da237f93b8e339c536989b8978a438",
    echoes: [],
    feeTokens: [
      "0x765de816845861e75a25fca122bb6898b8b1282a",
      "0xd8763cba276a3738e6de85b4b3bf5fded6d6ca73",
    ],
    feeDirectory: "0x15F344b9E6c3Cb6F0376A36A64928b13F62C6276",
  },
  BSC: {
    id: "BSC",
    bids: "legacy",
    // What its validators demand at least: of two nodes one that tells less holds up no payment.
    tipMin: GWEI / 20n,
    gasPriceMax: 500n * GWEI,
    gasPriceCalm: 3n * GWEI,
    nativeToken: null,
    echoes: [],
    feeTokens: [],
    feeDirectory: null,
  },
};

/** Tells whether a chain is of this family. */
export function isEvm(id: ChainId): id is EvmChainId {
  return id in EVM_TABLES;
}

/**
 * Networks whose coins have a price. A test network may be any other, public or local: its id is the
 * operator's choice.
 */
export const MAIN_CHAIN_IDS: ReadonlySet<number> = new Set([
  1, // Ethereum
  10, // Optimism
  56, // BSC
  100, // Gnosis
  130, // Unichain
  137, // Polygon
  250, // Fantom
  324, // zkSync Era
  1101, // Polygon zkEVM
  8453, // Base
  42161, // Arbitrum One
  42220, // Celo
  43114, // Avalanche
  59144, // Linea
  534352, // Scroll
]);
