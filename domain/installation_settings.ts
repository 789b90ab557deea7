/**
 * Settings of the installation that affect requests. The operator sets them; a caller cannot.
 * @module
 */
import type { ChainId } from "./assets.ts";

/** The settings of a chain's network. */
export interface NetworkSettings {
  readonly rpcUrls: readonly string[];
  readonly confirmations: number | null;
  readonly quorum: number;
}

/** The settings of all chains, as the configuration has them. */
export type ChainSettings = Readonly<
  Record<ChainId, {
    readonly main: NetworkSettings;
    readonly testnet: NetworkSettings;
    readonly testnetNetwork: "testnet" | "signet" | "regtest";
  }>
>;

/** Settings of the installation that affect requests. */
export interface InstallationSettings {
  readonly chains: ChainSettings;
  /** A withdrawal costs its ramp at most the fee charged to its user times this factor. */
  readonly hotFeeMaxFactor: number;
  /** Whether webhooks are sent, and whether to private addresses too. */
  readonly webhooks: { readonly enabled: boolean; readonly allowPrivate: boolean };
}
