/**
 * Assets on their chains: an asset of the registry, or a token of the realm behind a virtual currency.
 * @module
 */
import type { Db } from "../../db/database.ts";
import { selectTokenOfCurrency } from "../../db/currencies/tokens.ts";
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
  const asset = findAsset(code);
  if (asset !== null) {
    const { chain, contract, decimals } = asset;
    return { code, chain, contract, decimals, gas: gasOf(chain), token: null };
  }
  const token = await selectTokenOfCurrency(db, code);
  if (token === null || token.contract === null) {
    throw new DomainError("asset.unknown", `${code} lives on no chain`);
  }
  const chain = token.chain as ChainId;
  return {
    code,
    chain,
    contract: token.contract,
    decimals: token.decimals,
    gas: gasOf(chain),
    token: { testnet: token.network !== "main", ramp: token.account },
  };
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
