/**
 * Constants of Bitcoin, Litecoin, Bitcoin Cash and Dogecoin. Rates
 * are base units (satoshi) per 1000 virtual bytes, the unit of the nodes.
 * @module
 */
import type { Network } from "../../../domain/chains/addresses.ts";
import type { ChainId } from "../../../domain/assets.ts";
import type { Speed } from "../../../domain/speeds.ts";

/** Names the chains of this family. */
export type CoinChainId = Extract<
  ChainId,
  "BITCOIN" | "LITECOIN" | "BITCOIN_CASH" | "DOGECOIN"
>;

/** Constants of one chain, which its node does not tell. */
export interface CoinTable {
  /** The chain. */
  readonly id: CoinChainId;
  /** Whether our own coins are locked by P2WPKH; else by P2PKH. */
  readonly witness: boolean;
  /** Whether signatures are those of Bitcoin Cash. */
  readonly forkId: boolean;
  /** Whether nodes take a replacement (BIP-125), so that every transaction offers it. */
  readonly replaceable: boolean;
  /** Version of transactions. */
  readonly version: 1 | 2;
  /** Least rate of any transaction, whatever a node answers. */
  readonly rateMin: bigint;
  /** Most rate of any signed transaction: a broken node must not spend our coins. */
  readonly rateMax: bigint;
  /** Most rate at which a consolidation of small coins pays. */
  readonly rateLow: bigint;
  /** Rates where a node has no estimate. */
  readonly fallback: Readonly<Record<Speed, bigint>>;
  /** Most fee of any signed transaction, however large it is. */
  readonly feeMax: bigint;
  /** Up to this amount a fee may exceed the payment; a larger fee that does is taken for a mistake. */
  readonly feeFree: bigint;
  /** Rate by which nodes measure dust, and the smallest output whatever its size. */
  readonly dust: { readonly rate: bigint; readonly least: bigint };
  /** Blocks before newly made coins may be spent. */
  readonly maturity: number;
  /** Blocks before coins may be spent that left an extension block; null where blocks have none. */
  readonly pegoutMaturity: number | null;
  /** Whether blocks may have merged mining: work done for a block of another chain. */
  readonly mergeMined: boolean;
  /** Most bytes of an answer: twice those of a block. */
  readonly blockBytesMax: number;
}

const MEBIBYTE = 2 ** 20;

/** Lists the chains. */
export const COIN_TABLES: Readonly<Record<CoinChainId, CoinTable>> = {
  BITCOIN: {
    id: "BITCOIN",
    witness: true,
    forkId: false,
    replaceable: true,
    version: 2,
    rateMin: 1_000n,
    rateMax: 1_000_000n,
    rateLow: 5_000n,
    fallback: { slow: 2_000n, medium: 5_000n, fast: 10_000n },
    feeMax: 10_000_000n,
    feeFree: 100_000n,
    dust: { rate: 3_000n, least: 0n },
    maturity: 100,
    pegoutMaturity: null,
    mergeMined: false,
    blockBytesMax: 64 * MEBIBYTE,
  },
  LITECOIN: {
    id: "LITECOIN",
    witness: true,
    forkId: false,
    replaceable: true,
    version: 2,
    rateMin: 1_000n,
    rateMax: 1_000_000n,
    rateLow: 5_000n,
    fallback: { slow: 1_000n, medium: 5_000n, fast: 10_000n },
    feeMax: 100_000_000n,
    feeFree: 1_000_000n,
    dust: { rate: 30_000n, least: 0n },
    maturity: 100,
    // Six with the block itself.
    pegoutMaturity: 5,
    mergeMined: false,
    blockBytesMax: 64 * MEBIBYTE,
  },
  BITCOIN_CASH: {
    id: "BITCOIN_CASH",
    witness: false,
    forkId: true,
    replaceable: false,
    version: 2,
    rateMin: 1_000n,
    rateMax: 100_000n,
    rateLow: 2_000n,
    fallback: { slow: 1_000n, medium: 1_100n, fast: 2_000n },
    feeMax: 10_000_000n,
    feeFree: 100_000n,
    dust: { rate: 3_000n, least: 546n },
    maturity: 100,
    pegoutMaturity: null,
    mergeMined: false,
    // Blocks of 32 MB that may grow, and no string may reach 512 MiB.
    blockBytesMax: 400 * MEBIBYTE,
  },
  DOGECOIN: {
    id: "DOGECOIN",
    witness: false,
    forkId: false,
    replaceable: false,
    version: 1,
    // Nodes relay less, yet miners and wallets have agreed on 0.01 a kilobyte.
    rateMin: 1_000_000n,
    rateMax: 1_000_000_000n,
    rateLow: 2_000_000n,
    fallback: { slow: 1_000_000n, medium: 1_000_000n, fast: 2_000_000n },
    feeMax: 10_000_000_000n,
    feeFree: 500_000_000n,
    // Below the soft limit of 0.01 a miner wants a penalty for every output.
    dust: { rate: 0n, least: 1_000_000n },
    maturity: 240,
    pegoutMaturity: null,
    mergeMined: true,
    blockBytesMax: 64 * MEBIBYTE,
  },
};

/** Names of a network in `getblockchaininfo`. */
export const NETWORK_NAMES: Readonly<Record<Network, readonly string[]>> = {
  main: ["main"],
  testnet: ["test", "testnet4", "chip"],
  signet: ["signet"],
  regtest: ["regtest"],
};

const BITCOIN_GENESIS = "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f";
const BITCOIN_TEST_GENESIS = "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943";

/** First blocks of the public networks. A local network may have any other. */
export const GENESIS: Readonly<Record<string, readonly string[]>> = {
  "BITCOIN main": [BITCOIN_GENESIS],
  "BITCOIN testnet": [
    BITCOIN_TEST_GENESIS,
    "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
  ],
  "BITCOIN signet": ["00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6"],
  "LITECOIN main": ["12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2"],
  "LITECOIN testnet": ["4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0"],
  "BITCOIN_CASH main": [BITCOIN_GENESIS],
  "BITCOIN_CASH testnet": [
    BITCOIN_TEST_GENESIS,
    "000000001dd410c49a788668ce26751718cc797474d3152a5fc073dd44fd9f7b",
  ],
  "DOGECOIN main": ["1a91e3dace36e2be3bf030a65679fe821aa1d6ef92e7c9902eb318182c355691"],
  "DOGECOIN testnet": ["bb0a78264637406b6360aad926284d544d7049f45189db5664f3c4d07350559e"],
};

/**
 * Block at which the two main chains with the same first block split: its height, and its hash on
 * Bitcoin Cash.
 */
export const CASH_FORK: { readonly height: number; readonly hash: string } = {
  height: 661_648,
  hash: "0000000000000000029e471c41818d24b8b74c911071c4ef0b4a0509f9b5a8ce",
};

/** Tells whether a chain is of this family. */
export function isCoinChain(id: ChainId): id is CoinChainId {
  return id in COIN_TABLES;
}
