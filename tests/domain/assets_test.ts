import { deepEqual, equal, ok } from "node:assert/strict";
import { parseContract } from "../../domain/chains/addresses.ts";
import {
  allAssets,
  type ChainId,
  chainInfo,
  CHAINS,
  explorerUrl,
  findAsset,
  nativeAsset,
  tokenByContract,
} from "../../domain/assets.ts";

// The supported-assets table of the specification: codes, class, blockchain, gas asset, testnet.
const TABLE: [string, string, string, string | null, boolean][] = [
  ["BTC", "Native", "Bitcoin", null, true],
  ["LTC", "Native", "Litecoin", null, true],
  ["BCH", "Native", "Bitcoin Cash", null, true],
  ["DOGE", "Native", "Dogecoin", null, true],
  ["ETH", "Native", "Ethereum", null, true],
  ["USDC USDT BUSD", "ERC20 stablecoin", "Ethereum", "ETH", false],
  [
    "MATIC_ETH GMC SAND REVV BAT LAT WBTC MKR LINK PAX PAXG USDG_ETH USDL_ETH PYUSD_ETH UNI LEO " +
    "FREE XCON",
    "ERC20",
    "Ethereum",
    "ETH",
    false,
  ],
  // Not in the table: the contract makes the coin that pays for these tokens an asset too.
  ["SOL", "Native", "Solana", null, true],
  ["USDG_SOL PYUSD_SOL", "SPL", "Solana", "SOL", false],
  ["MATIC", "Native", "Polygon", null, true],
  ["USDC_MATIC USDT_MATIC", "ERC20 stablecoin", "Polygon", "MATIC", false],
  ["GAMEE", "ERC20", "Polygon", "MATIC", false],
  ["CELO", "Native", "Celo", null, true],
  ["CUSD CEUR", "ERC20 stablecoin", "Celo", null, false],
  ["BSC", "Native", "BSC", null, true],
  ["USDC_BSC BUSD_BSC", "BEP20 stablecoin", "BSC", "BNB", false],
  ["GMC_BSC CAKE BBTC BETH WBNB BDOT BXRP BLTC BBCH RMD", "BEP20", "BSC", "BNB", false],
  ["TRON", "Native", "Tron", null, false],
  ["USDT_TRON", "TRC20 stablecoin", "Tron", "TRX", false],
  ["INRT_TRON", "TRC20", "Tron", "TRX", false],
];

Deno.test("the registry holds exactly the assets of the specification's table, and SOL", () => {
  const expected = TABLE.flatMap(([codes, ...rest]) =>
    codes.split(" ").map((code) => [code, ...rest])
  );
  const actual = allAssets().map((one) => [
    one.code,
    one.class,
    one.blockchain,
    one.gas,
    one.testnet,
  ]);
  deepEqual(actual.sort(), expected.sort());
});

Deno.test("every token has a well-formed contract of its own and its chain's coin as gas", async () => {
  const seen = new Set<string>();
  for (const asset of allAssets()) {
    if (asset.contract === null) continue;
    deepEqual(await parseContract(asset.chain, asset.contract), {
      ok: true,
      address: asset.contract,
    });
    equal(seen.has(`${asset.chain} ${asset.contract}`), false, asset.code);
    seen.add(`${asset.chain} ${asset.contract}`);
    if (asset.chain !== "CELO") equal(asset.gasAsset, chainInfo(asset.chain).native.code);
    ok(asset.symbols.length > 0, asset.code);
    equal(tokenByContract(asset.chain, asset.contract), asset);
  }
  equal(seen.size, 42);
});

Deno.test("a token is found by its chain and contract and by nothing else", () => {
  const usdc = findAsset("USDC")!;
  equal(tokenByContract("ETHEREUM", usdc.contract!.toLowerCase()), usdc);
  equal(tokenByContract("POLYGON", usdc.contract!), null);
  equal(tokenByContract("SOLANA", findAsset("PYUSD_SOL")!.contract!.toLowerCase()), null);
  equal(tokenByContract("ETHEREUM", "USDC"), null);
  equal(tokenByContract("ETHEREUM", findAsset("GMC_BSC")!.contract!), findAsset("GMC"));
});

Deno.test("decimals are per chain, not per name", () => {
  const expected = {
    BTC: 8,
    ETH: 18,
    TRON: 6,
    USDC: 6,
    USDC_BSC: 18,
    USDC_MATIC: 6,
    USDT_TRON: 6,
    WBTC: 8,
    BBTC: 18,
    INRT_TRON: 2,
    PYUSD_SOL: 6,
    BDOT: 18,
  };
  const actual = Object.fromEntries(Object.keys(expected).map((c) => [c, findAsset(c)!.decimals]));
  deepEqual(actual, expected);
});

Deno.test("assets that were not confirmed or have retired are held, with a reason", () => {
  const held = Object.fromEntries(
    allAssets().filter((one) => one.state !== "active").map((a) => [a.code, a.state]),
  );
  deepEqual(held, {
    GMC: "suspended",
    GMC_BSC: "suspended",
    RMD: "suspended",
    INRT_TRON: "suspended",
    XCON: "suspended",
    LAT: "suspended",
    USDG_SOL: "suspended",
    USDL_ETH: "suspended",
    BUSD: "withdraw-only",
    BUSD_BSC: "withdraw-only",
  });
  for (const asset of allAssets()) {
    equal(asset.reason === null, asset.state === "active", asset.code);
  }
});

Deno.test("findAsset() knows codes as written only", () => {
  for (const code of ["", "btc", "BTC ", "sol", "BNB", "toString", "__proto__"]) {
    equal(findAsset(code), null, code);
  }
});

Deno.test("every chain has a native coin, which is an asset", () => {
  for (const { id } of CHAINS) equal(findAsset(nativeAsset(id).code), nativeAsset(id));
  equal(nativeAsset("SOLANA").decimals, 9);
  equal(nativeAsset("BSC").symbols[0], "BNB");
  equal(nativeAsset("ETHEREUM"), findAsset("ETH"));
});

Deno.test("chains carry the depths and derivation paths of the contract", () => {
  const facts = CHAINS.map(({ id, confirmations, purpose, coinType }) => [
    id,
    `${confirmations.main}/${confirmations.testnet}`,
    `m/${purpose}'/${coinType}'`,
  ]);
  deepEqual(facts, [
    ["BITCOIN", "2/1", "m/84'/0'"],
    ["LITECOIN", "6/1", "m/84'/2'"],
    ["BITCOIN_CASH", "6/1", "m/44'/145'"],
    ["DOGECOIN", "20/1", "m/44'/3'"],
    ["ETHEREUM", "12/1", "m/44'/60'"],
    ["POLYGON", "64/1", "m/44'/60'"],
    ["CELO", "3/1", "m/44'/60'"],
    ["BSC", "15/1", "m/44'/60'"],
    ["SOLANA", "1/1", "m/44'/501'"],
    ["TRON", "20/1", "m/44'/195'"],
  ]);
});

Deno.test("explorerUrl() fills the hash in, or says null where no explorer is known", () => {
  const link = (chain: ChainId, network: string) => explorerUrl(chain, network, "ab12");
  equal(link("ETHEREUM", "main"), "https://etherscan.io/tx/ab12");
  equal(link("TRON", "main"), "https://tronscan.org/#/transaction/ab12");
  equal(link("SOLANA", "testnet"), "https://explorer.solana.com/tx/ab12?cluster=devnet");
  equal(link("DOGECOIN", "testnet"), null);
  equal(link("BITCOIN", "testnet"), "https://mempool.space/testnet4/tx/ab12");
  equal(link("BITCOIN", "signet"), null);
  equal(link("LITECOIN", "regtest"), null, "a private network");
  equal(explorerUrl("BITCOIN", "main", "a/b?$&"), "https://mempool.space/tx/a%2Fb%3F%24%26");
});
