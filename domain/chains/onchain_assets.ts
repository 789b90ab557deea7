/**
 * Assets on their chains: an asset of the registry, or a token of the realm behind a virtual currency.
 * @module
 */
import type { Db } from "../../db/database.ts";
import { selectTokensOfCurrencies, type TokenRow } from "../../db/currencies/tokens.ts";
import { type ChainId, findAsset, nativeAsset, takesWithdrawals } from "../assets.ts";
import { DomainError } from "../errors.ts";

/** An asset on its chain. */
export interface ChainAsset {
  code: string;
  chain: ChainId;
  /** Null is the chain's own coin. */
  contract: string | null;
  decimals: number;
  /** The coin that pays its fees; the asset itself where it pays them. */
  gas: { code: string; decimals: number };
  /** For a token of the realm's own: its network, and its ramp. */
  token: { testnet: boolean; ramp: string } | null;
}

/**
 * Finds an asset on its chain.
 *
 * @throws {DomainError} asset.unknown for an asset that exists in the ledger alone
 */
export async function resolveChainAsset(db: Db, code: string): Promise<ChainAsset> {
  return onChain(await findChainAssets(db, [code]), code);
}

/**
 * Finds assets on their chains, by their codes.
 *
 * @throws {DomainError} asset.unknown for an asset that exists in the ledger alone
 */
export async function resolveChainAssets(
  db: Db,
  codes: Iterable<string>,
): Promise<ReadonlyMap<string, ChainAsset>> {
  const wanted = new Set(codes);
  const found = await findChainAssets(db, wanted);
  for (const code of wanted) onChain(found, code);
  return found;
}

/** Finds assets on their chains, by their codes; those that exist in the ledger alone are left out. */
export async function findChainAssets(
  db: Db,
  codes: Iterable<string>,
): Promise<ReadonlyMap<string, ChainAsset>> {
  const found = new Map<string, ChainAsset>();
  const others: string[] = [];
  for (const code of new Set(codes)) {
    const asset = findAsset(code);
    if (asset === null) others.push(code);
    else {
      const { chain, contract, decimals } = asset;
      found.set(code, { code, chain, contract, decimals, gas: gasOf(chain), token: null });
    }
  }
  if (others.length === 0) return found;
  for (const { code, ...token } of await selectTokensOfCurrencies(db, others)) {
    if (token.contract !== null) found.set(code, assetOf(code, token.contract, token));
  }
  return found;
}

function onChain(found: ReadonlyMap<string, ChainAsset>, code: string): ChainAsset {
  const asset = found.get(code);
  if (asset === undefined) throw new DomainError("asset.unknown", `${code} lives on no chain`);
  return asset;
}

function assetOf(
  code: string,
  contract: string,
  { chain: id, network, decimals, account }: TokenRow,
): ChainAsset {
  const chain = id as ChainId;
  const token = { testnet: network !== "main", ramp: account };
  return { code, chain, contract, decimals, gas: gasOf(chain), token };
}

/**
 * Gives the ramp whose address an asset is sent from: for a token of the realm's own the ramp that
 * holds it, for others the account's.
 */
export function sendingRamp<Ramp extends string | null>(
  asset: Pick<ChainAsset, "token">,
  ramp: Ramp,
): string | Ramp {
  return asset.token?.ramp ?? ramp;
}

/**
 * Refuses to send an asset that may not leave.
 *
 * @throws {DomainError} asset.suspended
 */
export function assertSendable(code: string): void {
  const asset = findAsset(code);
  if (asset === null || takesWithdrawals(asset)) return;
  throw new DomainError("asset.suspended", asset.reason ?? `${code} cannot be withdrawn now`);
}

function gasOf(chain: ChainId): { code: string; decimals: number } {
  const { code, decimals } = nativeAsset(chain);
  return { code, decimals };
}
