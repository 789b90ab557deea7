import { deepEqual, equal, rejects } from "node:assert/strict";
import { applyAssets, type AssetSetting, checkAssets } from "../../domain/chains/asset_settings.ts";
import { allAssets, findAsset, tokenByContract } from "../../domain/assets.ts";

const OTHER = "0xd3E7C41b39Bb252d909Fb64D2433Abf225Eaf49E";
const USDT = "0xdAC17F958D2ee523a2206206994597C13D831ec7";
const USDC = "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48";

async function faultsOf(settings: Record<string, AssetSetting>): Promise<readonly string[]> {
  return (await checkAssets(settings)).faults;
}

Deno.test("checkAssets() sets contract, symbol and state, and keeps all else", async () => {
  const { changed, faults } = await checkAssets({
    GMC_BSC: { contract: OTHER.toLowerCase(), symbol: "GMC2", state: "active" },
    ETH: { state: "suspended" },
    BUSD: { reason: "the bank says no" },
  });
  deepEqual(faults, []);
  const [token, coin, retired] = changed;
  deepEqual(token, {
    ...findAsset("GMC_BSC"),
    contract: OTHER,
    symbols: ["GMC2"],
    state: "active",
    reason: null,
  });
  deepEqual(coin, { ...findAsset("ETH"), state: "suspended", reason: "set by the operator" });
  deepEqual([retired.state, retired.reason], ["withdraw-only", "the bank says no"]);
});

Deno.test("checkAssets() keeps the registry's reason while its state stays", async () => {
  const [same] = (await checkAssets({ GMC: { contract: OTHER } })).changed;
  deepEqual([same.state, same.reason], ["suspended", findAsset("GMC")!.reason]);
  const [stricter] = (await checkAssets({ BUSD: { state: "suspended" } })).changed;
  equal(stricter.reason, "set by the operator");
});

Deno.test("checkAssets() names every fault at once", async () => {
  deepEqual(
    await faultsOf({
      NOPE: { state: "active" },
      USDC: { contract: "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t" },
      USDT_TRON: { contract: USDC },
      BAT: { contract: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB49" },
      ETH: { contract: OTHER, symbol: "ETH" },
      SAND: { state: "active", reason: "why not" },
      UNI: {},
    }),
    [
      "NOPE is not the code of an asset",
      "USDC.contract is no address on Ethereum: it is not 0x and 40 hexadecimal digits",
      "USDT_TRON.contract is no address on Tron: it is an address of Ethereum's form",
      "BAT.contract is no address on Ethereum: the checksum (EIP-55) is wrong",
      "ETH is a chain's own coin: it has no contract",
      "ETH is a chain's own coin: its symbol is fixed",
      "SAND.reason is for a state that is not active",
      "UNI is named and nothing is set of it",
    ],
  );
});

Deno.test("checkAssets() refuses a contract that two assets would share, and lets two swap", async () => {
  deepEqual(await faultsOf({ USDC: { contract: USDT } }), ["USDC and USDT would share a contract"]);
  deepEqual(await faultsOf({ USDC: { contract: USDT }, USDT: { contract: USDC } }), []);
  deepEqual(await faultsOf({ GMC: { contract: OTHER }, GMC_BSC: { contract: OTHER } }), []);
});

Deno.test("applyAssets() runs once, and every part of the process sees its settings", async () => {
  deepEqual(await applyAssets({}), []);
  equal((await applyAssets({ NOPE: {}, GMC: { state: "active" } })).length, 1);
  equal(findAsset("GMC")!.state, "suspended", "with a fault, nothing is in force");
  const before = allAssets().map((asset) => asset.code);
  deepEqual(await applyAssets({ GMC: { contract: OTHER, state: "deposit-only" } }), []);
  equal(findAsset("GMC")!.state, "deposit-only");
  equal(tokenByContract("ETHEREUM", OTHER.toLowerCase())!.code, "GMC");
  equal(tokenByContract("ETHEREUM", "0xa6272359bc37f61AF398071B65C8934ACA744d53"), null);
  deepEqual(allAssets().map((asset) => asset.code), before);
  deepEqual(await applyAssets({}), []);
  await rejects(applyAssets({ GMC: { state: "active" } }), TypeError);
});
