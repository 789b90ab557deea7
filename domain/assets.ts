/**
 * The assets the service knows: the registry's, as the operator has set them at start. A token is
 * its chain and contract, never its symbol. The configuration of chains and the state of nodes are
 * not known here.
 * @module
 */
import { type AssetState, HELD, TOKENS } from "./asset_registry.ts";
import { type ChainId, type ChainInfo, CHAINS } from "./chain_registry.ts";

export { type AssetState } from "./asset_registry.ts";
export { type ChainId, CHAINS } from "./chain_registry.ts";

/** Describes an asset. */
export interface Asset {
  /** Its code in API calls. */
  readonly code: string;
  /** "Native", "ERC20 stablecoin" and so on, as the specification's table says. */
  readonly class: string;
  /** The chain it lives on. */
  readonly chain: ChainId;
  /** Name of the chain as people write it. */
  readonly blockchain: string;
  /** Symbol of the coin that pays the fee; null when the asset pays its own. */
  readonly gas: string | null;
  /** Code of the native asset that pays the fee; null when the asset pays its own. */
  readonly gasAsset: string | null;
  /** Fractional digits of a whole unit. */
  readonly decimals: number;
  /** Contract or mint; null for a native coin. */
  readonly contract: string | null;
  /** The accepted answers of the contract's `symbol()`; for a native coin, its symbol. */
  readonly symbols: readonly string[];
  /** Whether accounts of it may be on a test network. */
  readonly testnet: boolean;
  /**
   * The permitted directions between chain and ledger; transfers within the ledger are always
   * permitted.
   */
  readonly state: AssetState;
  /** Why the state is not active. */
  readonly reason: string | null;
}

const FACTS: ReadonlyMap<ChainId, ChainInfo> = new Map(CHAINS.map((chain) => [chain.id, chain]));

const NATIVES: ReadonlyMap<ChainId, Asset> = new Map(
  CHAINS.map((chain) => [chain.id, native(chain)]),
);

/** Assets by their codes, and tokens by chain and contract. */
interface AssetBook {
  readonly byCode: ReadonlyMap<string, Asset>;
  readonly byContract: ReadonlyMap<string, Asset>;
}

/** The registry as it ships. */
const SHIPPED = [...NATIVES.values(), ...tokens()];

let book = bookOf(SHIPPED);

/**
 * Puts assets as the operator has set them in the place of the registry's. Every part of a process
 * must see the same, so this is done once, before anything is opened, and never again.
 */
export function installAssets(changed: readonly Asset[]): void {
  if (changed.length === 0) return;
  if (allAssets().some((asset, at) => asset !== SHIPPED[at])) {
    throw new TypeError("assets are set once, at start");
  }
  const byCode = new Map(changed.map((asset) => [asset.code, asset]));
  book = bookOf(SHIPPED.map((asset) => byCode.get(asset.code) ?? asset));
}

/** Lists every asset. */
export function allAssets(): readonly Asset[] {
  return [...book.byCode.values()];
}

/** Finds an asset by its code, or null. */
export function findAsset(code: string): Asset | null {
  return book.byCode.get(code) ?? null;
}

/** Finds the token that a contract or mint is, or null. Hexadecimal may be in any letter case. */
export function tokenByContract(chain: ChainId, contract: string): Asset | null {
  return book.byContract.get(contractKey(chain, contract)) ?? null;
}

/** Whether a contract moves the chain's own coin in the form of a token. */
export function isCoinContract(chain: ChainId, contract: string): boolean {
  return chainInfo(chain).coinContracts?.includes(contract.toLowerCase()) === true;
}

/** Whether deposits of the asset may be booked. */
export function takesDeposits({ state }: Pick<Asset, "state">): boolean {
  return state === "active" || state === "deposit-only";
}

/** Whether value of the asset may be sent on the chain. */
export function takesWithdrawals({ state }: Pick<Asset, "state">): boolean {
  return state === "active" || state === "withdraw-only";
}

/** Describes a chain's native coin, the one that pays its fees. */
export function nativeAsset(chain: ChainId): Asset {
  return NATIVES.get(chain)!;
}

/** Describes a chain. */
export function chainInfo(chain: ChainId): ChainInfo {
  return FACTS.get(chain)!;
}

/** Whether transactions of a chain expire, so that none is replaced or canceled before its expiry. */
export function transactionsExpire(chain: ChainId): boolean {
  const { family } = chainInfo(chain);
  return family === "solana" || family === "tron";
}

/**
 * Writes the explorer page of a transaction, or null where no explorer is known: of the public main and test networks
 * alone, because no page knows what is on a private one.
 */
export function explorerUrl(chain: ChainId, network: string, hash: string): string | null {
  const { explorer } = chainInfo(chain);
  const pages = network === "main" || network === "testnet" ? explorer[network] : null;
  return pages?.tx.replace("{hash}", encodeURIComponent(hash)) ?? null;
}

function tokens(): Asset[] {
  return TOKENS.flatMap((group) =>
    group.tokens.map(([code, decimals, contract, ...symbols]): Asset => ({
      code,
      class: group.class,
      chain: group.chain,
      blockchain: chainInfo(group.chain).name,
      gas: group.gas?.symbol ?? null,
      gasAsset: group.gas?.asset ?? null,
      decimals,
      contract,
      symbols,
      testnet: false,
      state: HELD.get(code)?.state ?? "active",
      reason: HELD.get(code)?.reason ?? null,
    }))
  );
}

function native(chain: ChainInfo): Asset {
  return {
    code: chain.native.code,
    class: "Native",
    chain: chain.id,
    blockchain: chain.name,
    gas: null,
    gasAsset: null,
    decimals: chain.native.decimals,
    contract: null,
    symbols: [chain.native.symbol],
    testnet: chain.id !== "TRON",
    state: "active",
    reason: null,
  };
}

function bookOf(assets: readonly Asset[]): AssetBook {
  return {
    byCode: new Map(assets.map((asset) => [asset.code, asset])),
    byContract: new Map(
      assets.filter((asset) => asset.contract !== null)
        .map((token) => [contractKey(token.chain, token.contract!), token]),
    ),
  };
}

/** Gives the identifying form of a contract. */
export function contractKey(chain: ChainId, contract: string): string {
  return `${chain} ${chainInfo(chain).family === "evm" ? contract.toLowerCase() : contract}`;
}
