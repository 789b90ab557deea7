/**
 * Derives the addresses of a ramp: from its xpub, or on Solana, which has none, from the seed.
 * @module
 */
import type { Network } from "../../domain/chains/addresses.ts";
import { deriveAddresses } from "../../domain/chains/derivation.ts";
import type { ChainId } from "../../domain/assets.ts";
import type { KeyStore, Signer } from "./signer.ts";

/** A ramp whose addresses are derived. */
export interface DerivedFrom {
  readonly chain: string;
  readonly network: string;
  /** The account step of the derivation path. */
  readonly number: number;
  /** Null on Solana. */
  readonly xpub: string | null;
}

/** Derives addresses of consecutive numbers below a ramp. */
export async function ownAddresses(
  signer: Signer,
  store: KeyStore,
  ramp: DerivedFrom,
  of: { from: number; count: number },
): Promise<string[]> {
  const [chain, network] = [ramp.chain as ChainId, ramp.network as Network];
  if (ramp.xpub !== null) return await deriveAddresses(chain, network, ramp.xpub, of);
  return await signer.addresses(store, { chain, network, number: ramp.number }, of);
}
