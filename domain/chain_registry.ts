/**
 * The chains as constants: names, derivation, depth, explorers. Data only; nodes and settings are
 * not known here.
 * @module
 */

/** Names a chain; also the prefix of the chain's settings. */
export type ChainId =
  | "BITCOIN"
  | "LITECOIN"
  | "BITCOIN_CASH"
  | "DOGECOIN"
  | "ETHEREUM"
  | "POLYGON"
  | "CELO"
  | "BSC"
  | "SOLANA"
  | "TRON";

/** A family of chains, which one adapter serves. */
export type Family = "bitcoin" | "evm" | "solana" | "tron";

/** Holds the page templates of a block explorer, with `{hash}` and `{address}` to fill in. */
export interface Explorer {
  /** Page of a transaction. */
  readonly tx: string;
  /** Page of an address. */
  readonly address: string;
}

/** Describes a chain. */
export interface ChainInfo {
  /** Identifier, unique among chains. */
  readonly id: ChainId;
  /** Name as people write it. */
  readonly name: string;
  /** The family whose adapter serves it. */
  readonly family: Family;
  /** The coin that pays fees: our code of it, the symbol it is shown by, its fractional digits. */
  readonly native: { readonly code: string; readonly symbol: string; readonly decimals: number };
  /** Contracts that move the coin itself, or say that they do, as if it were a token; in lower case. */
  readonly coinContracts?: readonly string[];
  /** First step of the derivation path: 84 where addresses are P2WPKH. */
  readonly purpose: 44 | 84;
  /** SLIP-44 coin type of the main network; every test network uses 1. */
  readonly coinType: number;
  /** EIP-155 ids of the main and the public test network. */
  readonly evmChainId?: { readonly main: number; readonly testnet: number };
  /**
   * Blocks, the payment's own included, at which a deposit counts. Solana is read at commitment
   * `finalized`, so there the first observation is enough.
   */
  readonly confirmations: { readonly main: number; readonly testnet: number };
  /** Usual seconds from one block to the next, on the main network. */
  readonly blockSeconds: number;
  /** Base units of the coin that an address must keep, unless it keeps nothing at all. */
  readonly addressMinimum?: bigint;
  /** Somebody other than the sender may pay the fee of a transaction. */
  readonly feePayers?: true;
  /** Most coins that one transaction spends: as many as fit into it, and as a plan is offered; account chains have none. */
  readonly coinsMax?: number;
  /** Public explorers; null where no lasting one is known. */
  readonly explorer: { readonly main: Explorer; readonly testnet: Explorer | null };
}

/** Lists the chains. */
export const CHAINS: readonly ChainInfo[] = [
  {
    id: "BITCOIN",
    name: "Bitcoin",
    family: "bitcoin",
    native: { code: "BTC", symbol: "BTC", decimals: 8 },
    purpose: 84,
    coinType: 0,
    confirmations: { main: 2, testnet: 1 },
    blockSeconds: 600,
    coinsMax: 1000,
    explorer: {
      main: explorer("https://mempool.space"),
      testnet: explorer("https://mempool.space/testnet4"),
    },
  },
  {
    id: "LITECOIN",
    name: "Litecoin",
    family: "bitcoin",
    native: { code: "LTC", symbol: "LTC", decimals: 8 },
    purpose: 84,
    coinType: 2,
    confirmations: { main: 6, testnet: 1 },
    blockSeconds: 150,
    coinsMax: 1000,
    explorer: {
      main: explorer("https://litecoinspace.org"),
      testnet: explorer("https://litecoinspace.org/testnet"),
    },
  },
  {
    id: "BITCOIN_CASH",
    name: "Bitcoin Cash",
    family: "bitcoin",
    native: { code: "BCH", symbol: "BCH", decimals: 8 },
    purpose: 44,
    coinType: 145,
    confirmations: { main: 6, testnet: 1 },
    blockSeconds: 600,
    coinsMax: 641,
    explorer: {
      main: explorer("https://blockchair.com/bitcoin-cash", "transaction"),
      testnet: null,
    },
  },
  {
    id: "DOGECOIN",
    name: "Dogecoin",
    family: "bitcoin",
    native: { code: "DOGE", symbol: "DOGE", decimals: 8 },
    purpose: 44,
    coinType: 3,
    confirmations: { main: 20, testnet: 1 },
    blockSeconds: 60,
    coinsMax: 641,
    explorer: { main: explorer("https://blockchair.com/dogecoin", "transaction"), testnet: null },
  },
  {
    id: "ETHEREUM",
    name: "Ethereum",
    family: "evm",
    native: { code: "ETH", symbol: "ETH", decimals: 18 },
    purpose: 44,
    coinType: 60,
    evmChainId: { main: 1, testnet: 11155111 },
    confirmations: { main: 12, testnet: 1 },
    blockSeconds: 12,
    explorer: {
      main: explorer("https://etherscan.io"),
      testnet: explorer("https://sepolia.etherscan.io"),
    },
  },
  {
    id: "POLYGON",
    name: "Polygon",
    family: "evm",
    native: { code: "MATIC", symbol: "MATIC", decimals: 18 },
    coinContracts: ["0x0000000000000000000000000000000000001010"],
    purpose: 44,
    coinType: 60,
    evmChainId: { main: 137, testnet: 80002 },
    confirmations: { main: 64, testnet: 1 },
    blockSeconds: 2,
    explorer: {
      main: explorer("https://polygonscan.com"),
      testnet: explorer("https://amoy.polygonscan.com"),
    },
  },
  {
    id: "CELO",
    name: "Celo",
    family: "evm",
    native: { code: "CELO", symbol: "CELO", decimals: 18 },
    coinContracts: ["0x471ece3750da237f93b8e339c536989b8978a438"],
    purpose: 44,
    coinType: 60,
    evmChainId: { main: 42220, testnet: 11142220 },
    confirmations: { main: 3, testnet: 1 },
    blockSeconds: 1,
    explorer: {
      main: explorer("https://celoscan.io"),
      testnet: explorer("https://celo-sepolia.blockscout.com"),
    },
  },
  {
    id: "BSC",
    name: "BSC",
    family: "evm",
    native: { code: "BSC", symbol: "BNB", decimals: 18 },
    purpose: 44,
    coinType: 60,
    evmChainId: { main: 56, testnet: 97 },
    confirmations: { main: 15, testnet: 1 },
    blockSeconds: 0.75,
    explorer: {
      main: explorer("https://bscscan.com"),
      testnet: explorer("https://testnet.bscscan.com"),
    },
  },
  {
    id: "SOLANA",
    name: "Solana",
    family: "solana",
    native: { code: "SOL", symbol: "SOL", decimals: 9 },
    purpose: 44,
    coinType: 501,
    confirmations: { main: 1, testnet: 1 },
    blockSeconds: 0.4,
    // Rent of an account without data; the chain takes no payment that leaves less.
    addressMinimum: 890_880n,
    feePayers: true,
    explorer: {
      main: explorer("https://explorer.solana.com"),
      testnet: explorer("https://explorer.solana.com", "tx", "address", "?cluster=devnet"),
    },
  },
  {
    id: "TRON",
    name: "Tron",
    family: "tron",
    native: { code: "TRON", symbol: "TRX", decimals: 6 },
    purpose: 44,
    coinType: 195,
    confirmations: { main: 20, testnet: 1 },
    blockSeconds: 3,
    explorer: {
      main: explorer("https://tronscan.org/#", "transaction"),
      testnet: explorer("https://nile.tronscan.org/#", "transaction"),
    },
  },
];

function explorer(base: string, tx = "tx", address = "address", query = ""): Explorer {
  return { tx: `${base}/${tx}/{hash}${query}`, address: `${base}/${address}/{address}${query}` };
}
