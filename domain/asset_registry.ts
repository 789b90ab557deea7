/**
 * The rows behind the asset registry: every token with its contract, decimals and state. Data only;
 * a node is asked for `decimals()` and `symbol()` before a token is first used.
 * @module
 */
import type { ChainId } from "./chain_registry.ts";

/** The directions in which a token's value may move between its chain and the ledger. */
export type AssetState = "active" | "deposit-only" | "withdraw-only" | "suspended";

/**
 * Holds one token: our code, decimals, contract (EIP-55, base58check or base58, as its chain writes
 * it), and the accepted answers of the contract's `symbol()`, older names first.
 */
export type TokenRow = readonly [
  code: string,
  decimals: number,
  contract: string,
  ...symbols: string[],
];

/** Holds the tokens of one chain that share a class and a gas coin. */
export interface TokenGroup {
  /** Chain that the contracts live on. */
  readonly chain: ChainId;
  /** Class as the specification's table says. */
  readonly class: string;
  /** Code of the asset that pays the fee and the symbol it is shown by; null: the token pays. */
  readonly gas: { readonly asset: string; readonly symbol: string } | null;
  /** One row per token. */
  readonly tokens: readonly TokenRow[];
}

const ETH = { asset: "ETH", symbol: "ETH" };
const SOL = { asset: "SOL", symbol: "SOL" };
const MATIC = { asset: "MATIC", symbol: "MATIC" };
const BNB = { asset: "BSC", symbol: "BNB" };
const TRX = { asset: "TRON", symbol: "TRX" };

/** Lists every token, grouped as the specification groups them. */
export const TOKENS: readonly TokenGroup[] = [
  {
    chain: "ETHEREUM",
    class: "ERC20 stablecoin",
    gas: ETH,
    tokens: [
      ["USDC", 6, "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48", "USDC"],
      ["USDT", 6, "0xdAC17F958D2ee523a2206206994597C13D831ec7", "USDT"],
      ["BUSD", 18, "0x4Fabb145d64652a948d72533023f6E7A623C7C53", "BUSD"],
    ],
  },
  {
    chain: "ETHEREUM",
    class: "ERC20",
    gas: ETH,
    tokens: [
      // Superseded by POL one to one, but still a token like any other.
      ["MATIC_ETH", 18, "0x7D1AfA7B718fb893dB30A3aBc0Cfc608AaCfeBB0", "MATIC"],
      ["GMC", 18, "0xa6272359bc37f61AF398071B65C8934ACA744d53", "GMC"],
      ["SAND", 18, "0x3845badAde8e6dFF049820680d1F14bD3903a5d0", "SAND"],
      ["REVV", 18, "0x557B933a7C2c45672B610F8954A3deB39a51A8Ca", "REVV"],
      ["BAT", 18, "0x0D8775F648430679A709E98d2b0Cb6250d2887EF", "BAT"],
      ["LAT", 18, "0xE50365f5D679CB98a1dd62D6F6e58e59321BcdDf", "LA"],
      ["WBTC", 8, "0x2260FAC5E5542a773Aa44fBCfeDf7C193bc2C599", "WBTC"],
      // Its symbol() answers bytes32, not a string.
      ["MKR", 18, "0x9f8F72aA9304c8B593d555F12eF6589cC3A579A2", "MKR"],
      ["LINK", 18, "0x514910771AF9Ca656af840dff83E8264EcF986CA", "LINK"],
      ["PAX", 18, "0x8E870D67F660D95d5be530380D0eC0bd388289E1", "PAX", "USDP"],
      // May take a fee on transfer: the amount that arrives counts.
      ["PAXG", 18, "0x45804880De22913dAFE09f4980848ECE6EcbAf78", "PAXG"],
      ["USDG_ETH", 6, "0xe343167631d89B6Ffc58B88d6b7fB0228795491D", "USDG"],
      ["USDL_ETH", 18, "0xbdC7c08592Ee4aa51D06C27Ee23D5087D65aDbcD", "USDL"],
      ["PYUSD_ETH", 6, "0x6c3ea9036406852006290770BEdFcAbA0e23A0e8", "PYUSD"],
      ["UNI", 18, "0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984", "UNI"],
      ["LEO", 18, "0x2AF5D2aD76741191D15Dfe7bF6aC92d4Bd912Ca3", "LEO"],
      ["FREE", 18, "0x2F141Ce366a2462f02cEA3D12CF93E4DCa49e4Fd", "FREE"],
      ["XCON", 18, "0x0F237D5eA7876E0e2906034D98FDB20D43666ad4", "XCON"],
    ],
  },
  {
    chain: "SOLANA",
    class: "SPL",
    gas: SOL,
    tokens: [
      // Both mints belong to Token-2022, not to the older token program.
      ["USDG_SOL", 6, "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH", "USDG"],
      ["PYUSD_SOL", 6, "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo", "PYUSD"],
    ],
  },
  {
    chain: "POLYGON",
    class: "ERC20 stablecoin",
    gas: MATIC,
    tokens: [
      // The bridged coin, now called USDC.e; the issuer's own Polygon coin is another contract.
      ["USDC_MATIC", 6, "0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174", "USDC", "USDC.e"],
      ["USDT_MATIC", 6, "0xc2132D05D31c914a87C6611C10748AEb04B58e8F", "USDT", "USDT0"],
    ],
  },
  {
    chain: "POLYGON",
    class: "ERC20",
    gas: MATIC,
    tokens: [["GAMEE", 18, "0xcf32822ff397Ef82425153a9dcb726E5fF61DCA7", "GMEE"]],
  },
  {
    chain: "CELO",
    class: "ERC20 stablecoin",
    gas: null,
    tokens: [
      ["CUSD", 18, "0x765DE816845861e75A25fCA122bb6898B8B1282a", "cUSD", "USDm"],
      ["CEUR", 18, "0xD8763CBa276a3738E6DE85b4b3bF5FDed6D6cA73", "cEUR", "EURm"],
    ],
  },
  {
    chain: "BSC",
    class: "BEP20 stablecoin",
    gas: BNB,
    tokens: [
      // 18 decimals here, unlike on every other chain.
      ["USDC_BSC", 18, "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d", "USDC"],
      ["BUSD_BSC", 18, "0xe9e7CEA3DedcA5984780Bafc599bD69ADd087D56", "BUSD"],
    ],
  },
  {
    chain: "BSC",
    class: "BEP20",
    gas: BNB,
    tokens: [
      ["GMC_BSC", 18, "0xa6272359bc37f61AF398071B65C8934ACA744d53", "GMC"],
      ["CAKE", 18, "0x0E09FaBB73Bd3Ade0a17ECC321fD13a19e81cE82", "Cake", "CAKE"],
      ["BBTC", 18, "0x7130d2A12B9BCbFAe4f2634d864A1Ee1Ce3Ead9c", "BTCB"],
      // Binance-Peg ETH. The token that calls itself BETH on this chain is another one.
      ["BETH", 18, "0x2170Ed0880ac9A755fd29B2688956BD959F933F8", "ETH"],
      ["WBNB", 18, "0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c", "WBNB"],
      ["BDOT", 18, "0x7083609fCE4d1d8Dc0C979AAb8c869Ea2C873402", "DOT"],
      ["BXRP", 18, "0x1D2F0da169ceB9fC7B3144628dB156f3F6c60dBE", "XRP"],
      ["BLTC", 18, "0x4338665CBB7B2485A8855A139b75D5e34AB0DB94", "LTC"],
      ["BBCH", 18, "0x8fF795a6F4D97E7887C79beA79aba5cc76444aDf", "BCH"],
      ["RMD", 18, "0x02888e65324a98219c26f292E7cD3e52ef39C5c2", "RMD"],
    ],
  },
  {
    chain: "TRON",
    class: "TRC20 stablecoin",
    gas: TRX,
    tokens: [["USDT_TRON", 6, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t", "USDT"]],
  },
  {
    chain: "TRON",
    class: "TRC20",
    gas: TRX,
    tokens: [["INRT_TRON", 2, "TX66VmiV1txm45vVLvcHYEqPXXLoREyAXm", "INRT"]],
  },
];

/** Lists the tokens that do not move freely, with the reason that operators and callers read. */
export const HELD: ReadonlyMap<string, { readonly state: AssetState; readonly reason: string }> =
  new Map([
    ["GMC", suspended("the contract address is known from one source only")],
    ["GMC_BSC", suspended("two sources name different contracts for this token")],
    ["RMD", suspended("the contract address is known from one source only")],
    ["INRT_TRON", suspended("contract and decimals are known from one source only")],
    ["XCON", suspended("the contract address is weakly confirmed")],
    ["LAT", suspended("the contract calls itself LA; that it is this token is inferred")],
    ["USDG_SOL", suspended("the decimals of the mint are not confirmed")],
    ["USDL_ETH", suspended("its balances rebase daily, which fixed ledger amounts cannot follow")],
    ["BUSD", { state: "withdraw-only", reason: "the issuer has retired the token" }],
    ["BUSD_BSC", { state: "withdraw-only", reason: "the issuer has retired the token" }],
  ]);

function suspended(reason: string): { state: AssetState; reason: string } {
  return { state: "suspended", reason };
}
