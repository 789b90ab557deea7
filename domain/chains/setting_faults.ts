/**
 * Faults of an operator's settings that are found without a package: the launcher tells them with all others, before it
 * starts anything.
 * @module
 */
import { type Asset, type AssetState, findAsset } from "../assets.ts";
import { parseNetwork } from "../ip_addresses.ts";

/** An operator's settings of one asset. */
export interface AssetSetting {
  /** Another contract or mint than the registry's, on the asset's main network. */
  readonly contract?: string;
  /** Answer of that contract's `symbol()`, where it differs from the registry. */
  readonly symbol?: string;
  /** Which way its value may move. */
  readonly state?: AssetState;
  /** Why the state is not active; shown to callers. */
  readonly reason?: string;
}

/** Settings that are checked against what the service knows. */
export interface CheckedSettings {
  /** By the code of the asset. */
  readonly assets: Readonly<Record<string, AssetSetting>>;
  readonly trustedProxies: readonly string[];
  readonly metricsNetworks: readonly string[];
}

/** Every fault of these settings but those of a contract's address. */
export function faultsOfSettings(settings: CheckedSettings): string[] {
  return [...registryFaults(settings.assets).map(ofAssets), ...faultsOfNetworks(settings)];
}

/** Every fault of the settings of networks. */
export function faultsOfNetworks(
  { trustedProxies, metricsNetworks }: Omit<CheckedSettings, "assets">,
): string[] {
  return [
    ...networkFaults("TRUSTED_PROXIES", trustedProxies),
    ...networkFaults("METRICS_NETWORKS", metricsNetworks),
  ];
}

/** A fault of the settings of assets, as it is told. */
export function ofAssets(fault: string): string {
  return `ASSETS: ${fault}`;
}

/** Faults of settings of assets, by their codes, that the registry shows. */
export function registryFaults(settings: Readonly<Record<string, AssetSetting>>): string[] {
  return Object.entries(settings).flatMap(([code, setting]) => {
    const asset = findAsset(code);
    return asset === null ? [`${code} is not the code of an asset`] : faultsOf(asset, setting);
  });
}

function faultsOf(asset: Asset, setting: AssetSetting): string[] {
  const { code } = asset;
  const native = asset.contract === null;
  const state = setting.state ?? asset.state;
  const faults = [
    native && setting.contract !== undefined && `${code} is a chain's own coin: it has no contract`,
    native && setting.symbol !== undefined &&
    `${code} is a chain's own coin: its symbol is fixed`,
    state === "active" && setting.reason !== undefined &&
    `${code}.reason is for a state that is not active`,
    Object.keys(setting).length === 0 && `${code} is named and nothing is set of it`,
  ];
  return faults.filter((fault) => fault !== false);
}

function networkFaults(name: string, texts: readonly string[]): string[] {
  return texts.filter((text) => parseNetwork(text) === null)
    .map((text) => `${name}: ${JSON.stringify(text)} is not a network such as 10.0.0.0/8`);
}
