/**
 * Registry of the configured chains. A chain is opened on its first use; the code and libraries of its
 * family are loaded only then.
 * @module
 */
import type { ChainConfig, Config } from "../../config.ts";
import type { Network } from "../../domain/chains/addresses.ts";
import type { ChainNetwork } from "../../domain/chains/networks.ts";
import { type ChainId, chainInfo } from "../../domain/assets.ts";
import { type Chain, ChainError } from "./chain.ts";
import { isCoinChain } from "./bitcoin/networks.ts";
import { isEvm } from "./evm/networks.ts";
import type { KeptIdentity } from "./identity.ts";
import type { NodeOptions } from "./node_pool.ts";

/** A chain, with its main or its test network as configured. */
export interface ConfiguredNetwork {
  /** The chain. */
  readonly chain: ChainId;
  /** Its test network, or the main one. */
  readonly testnet: boolean;
}

/** The chains of an installation. */
export interface Chains {
  /** Chains that have a node. */
  readonly configured: readonly ConfiguredNetwork[];
  /**
   * Opens a chain, once.
   * @throws {ChainError} `unavailable` if it has no node
   */
  open(of: ConfiguredNetwork): Promise<Chain>;
  /** Gives the network, which decides the form of its addresses; it need not be configured. */
  network(of: ConfiguredNetwork): Network;
  /** Gives the depth at which a deposit counts; 1 is the block that holds it. */
  depth(of: ConfiguredNetwork): number;
  /** Ends all calls in flight; they fail as `unavailable`. */
  close(): void;
}

/**
 * Makes the registry; nothing is opened yet.
 *
 * @param identityOf where it is kept which network the nodes of a chain are of; without it, in this process alone
 */
export function openChains(
  config: Config["chains"],
  identityOf: (place: ChainNetwork) => KeptIdentity | null = () => null,
): Chains {
  const opened = new Map<string, Promise<Chain>>();
  const nodesAt = (of: ConfiguredNetwork) => nodesOf(config[of.chain], of.testnet);
  const network = ({ chain, testnet }: ConfiguredNetwork): Network =>
    testnet ? testNetwork(chain, config[chain]) : "main";
  return {
    configured: (Object.keys(config) as ChainId[])
      .flatMap((chain) => [{ chain, testnet: false }, { chain, testnet: true }])
      .filter((of) => nodesAt(of).rpcUrls.length > 0),
    network,
    depth: (of) => {
      const { confirmations } = chainInfo(of.chain);
      return nodesAt(of).confirmations ?? confirmations[of.testnet ? "testnet" : "main"];
    },
    open: (of) => {
      const key = `${of.chain} ${of.testnet}`;
      const known = opened.get(key);
      if (known) return known;
      const { timeoutMs, genesisHash } = config[of.chain];
      const { rpcUrls, quorum } = nodesAt(of);
      const limits = timeoutMs === null ? {} : { timeoutMs };
      const kept = identityOf({ chain: of.chain, network: network(of) });
      const how = { limits, quorum, genesisHash, kept };
      const chain = openChain(of.chain, network(of), rpcUrls, how);
      opened.set(key, chain);
      // A failed opening is not kept, so the next call tries again; the caller gets the error either way.
      chain.catch(() => opened.delete(key));
      return chain;
    },
    close: () => {
      for (const chain of opened.values()) chain.then((one) => one.close(), () => {});
    },
  };
}

/** Whether a network of a realm has a node: an operator may switch a chain off that realms have ramps on. */
export function hasNode(chains: Chains, place: { chain: string; network: string }): boolean {
  return chains.configured.some((one) =>
    one.chain === place.chain && chains.network(one) === place.network
  );
}

async function openChain(
  id: ChainId,
  network: Network,
  urls: readonly string[],
  how: NodeOptions,
): Promise<Chain> {
  if (urls.length === 0) throw new ChainError("unavailable", `${id} ${network} has no node`);
  if (isEvm(id)) {
    const { openEvm } = await import("./evm/chain.ts");
    return await openEvm(id, network, urls, how);
  }
  if (isCoinChain(id)) {
    const { openCoins } = await import("./bitcoin/chain.ts");
    return await openCoins(id, network, urls, how);
  }
  if (id === "SOLANA") {
    const { openSolana } = await import("./solana/chain.ts");
    return await openSolana(network, urls, how);
  }
  const { openTron } = await import("./tron/chain.ts");
  return await openTron(network, urls, how);
}

function nodesOf(config: ChainConfig, testnet: boolean) {
  return testnet ? config.testnet : config.main;
}

/** Only the Bitcoin family has several test networks. */
function testNetwork(chain: ChainId, config: ChainConfig): Network {
  return chainInfo(chain).family === "bitcoin" ? config.testnetNetwork : "testnet";
}
