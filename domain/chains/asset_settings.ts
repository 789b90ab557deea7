/**
 * Asset settings of the operator, checked against the registry: contract, symbol and state may be set. A
 * worker verifies at the nodes that a contract is the token, before its first use.
 * @module
 */
import { parseContract } from "./addresses.ts";
import { allAssets, type Asset, contractKey, findAsset, installAssets } from "../assets.ts";
import { type AssetSetting, registryFaults } from "./setting_faults.ts";

export type { AssetSetting };

/** Assets with an operator's settings, and every fault of these settings. */
export interface CheckedAssets {
  readonly changed: readonly Asset[];
  readonly faults: readonly string[];
}

/**
 * Applies an operator's settings, once, before anything is opened.
 *
 * @returns the faults of the settings; if there is one, none is applied
 */
export async function applyAssets(
  settings: Readonly<Record<string, AssetSetting>>,
): Promise<readonly string[]> {
  const { changed, faults } = await checkAssets(settings);
  if (faults.length === 0) installAssets(changed);
  return faults;
}

/** Applies settings, by the codes of the assets, to the registry; nothing is installed yet. */
export async function checkAssets(
  settings: Readonly<Record<string, AssetSetting>>,
): Promise<CheckedAssets> {
  const changed: Asset[] = [];
  const faults: string[] = [];
  for (const [code, setting] of Object.entries(settings)) {
    const asset = findAsset(code);
    const contract = asset === null ? null : await contractOf(asset, setting);
    faults.push(...contract?.faults ?? [], ...registryFaults({ [code]: setting }));
    if (asset !== null) changed.push(applied(asset, setting, contract!.canonical));
  }
  return { changed, faults: [...faults, ...sharedContracts(changed)] };
}

async function contractOf(
  asset: Asset,
  { contract }: AssetSetting,
): Promise<{ canonical: string | null; faults: string[] }> {
  if (contract === undefined || asset.contract === null) {
    return { canonical: asset.contract, faults: [] };
  }
  const parsed = await parseContract(asset.chain, contract);
  if (parsed.ok) return { canonical: parsed.address, faults: [] };
  const fault = `${asset.code}.contract is no address on ${asset.blockchain}: ${parsed.reason}`;
  return { canonical: asset.contract, faults: [fault] };
}

function applied(asset: Asset, setting: AssetSetting, contract: string | null): Asset {
  const state = setting.state ?? asset.state;
  const kept = setting.state === undefined || setting.state === asset.state ? asset.reason : null;
  const reason = setting.reason ?? kept ?? "set by the operator";
  return {
    ...asset,
    contract,
    symbols: setting.symbol === undefined ? asset.symbols : [setting.symbol],
    state,
    reason: state === "active" ? null : reason,
  };
}

/** Finds assets with one contract: both would count every deposit. */
function sharedContracts(changed: readonly Asset[]): string[] {
  const set = new Map(changed.map((asset) => [asset.code, asset]));
  const owners = new Map<string, string>();
  const faults: string[] = [];
  for (const asset of allAssets().map((one) => set.get(one.code) ?? one)) {
    if (asset.contract === null) continue;
    const key = contractKey(asset.chain, asset.contract);
    const other = owners.get(key);
    if (other !== undefined) faults.push(`${other} and ${asset.code} would share a contract`);
    owners.set(key, asset.code);
  }
  return faults;
}
