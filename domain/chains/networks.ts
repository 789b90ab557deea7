/**
 * Networks of chains that this installation has nodes of. They are plain data, so the serving half decides
 * on new entities without asking a node.
 * @module
 */
import type { Network } from "./addresses.ts";
import { type ChainId, chainInfo } from "../assets.ts";
import { DomainError } from "../errors.ts";
import type { ChainSettings } from "../installation_settings.ts";

/** One chain on one network. */
export interface ChainNetwork {
  /** Which chain. */
  readonly chain: ChainId;
  /** Which network. */
  readonly network: Network;
}

/** Tells which network of a chain accounts are on. Only the Bitcoin family has several for tests. */
export function networkOf(settings: ChainSettings, chain: ChainId, testnet: boolean): Network {
  if (!testnet) return "main";
  return chainInfo(chain).family === "bitcoin" ? settings[chain].testnetNetwork : "testnet";
}

/** Tells whether a chain's network has a node. */
export function isConfigured(settings: ChainSettings, chain: ChainId, testnet: boolean): boolean {
  return settings[chain][testnet ? "testnet" : "main"].rpcUrls.length > 0;
}

/** Tells the depth at which a deposit counts; 1 is the block it is in. */
export function depthOf(settings: ChainSettings, chain: ChainId, testnet: boolean): number {
  const { confirmations } = chainInfo(chain);
  const net = testnet ? "testnet" : "main";
  return settings[chain][net].confirmations ?? confirmations[net];
}

/** Tells how many nodes a chain's network has, and how many of them must agree. */
export function witnessesOf(
  settings: ChainSettings,
  chain: ChainId,
  testnet: boolean,
): { nodes: number; quorum: number } {
  const { rpcUrls, quorum } = settings[chain][testnet ? "testnet" : "main"];
  return { nodes: rpcUrls.length, quorum };
}

/**
 * Gives the network of a chain's accounts.
 *
 * @throws {DomainError} chain.not_configured if it has no node
 */
export function chainNetworkFor(
  settings: ChainSettings,
  chain: ChainId,
  testnet: boolean,
): ChainNetwork {
  if (!isConfigured(settings, chain, testnet)) {
    const name = chainInfo(chain).name;
    throw new DomainError(
      "chain.not_configured",
      `no node is configured for ${name}${testnet ? "'s test network" : ""}`,
    );
  }
  return { chain, network: networkOf(settings, chain, testnet) };
}
