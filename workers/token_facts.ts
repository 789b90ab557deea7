/**
 * Compares the words of a token's contract with the registry before its first use: a contract that
 * has other decimals or another symbol is another token, whoever named it. What has proven to be
 * the token is not asked again, for issuers rename what they have issued.
 * @module
 */
import { insertTokenProof, selectTokenProof } from "../db/chains.ts";
import { reading, writing } from "../db/transaction.ts";
import type { Asset } from "../domain/assets.ts";
import type { Bench } from "./bench.ts";
import type { Chain } from "./chains/chain.ts";

/** Tells what is wrong with an asset's contract; null if nothing is, or it has none. */
export async function tokenFault(
  bench: Bench,
  chain: Chain,
  { code, contract, decimals, symbols }: Asset,
): Promise<string | null> {
  if (contract === null) return null;
  const proof = { chain: chain.id, network: chain.network, contract, asset: code };
  if (await reading(bench.pool, (db) => selectTokenProof(db, proof))) return null;
  const token = await chain.token(contract);
  if (token === null) return `there is no contract at ${contract}`;
  if (token.decimals !== decimals) {
    return `decimals() answers ${token.decimals}; ${decimals} is known of ${code}`;
  }
  if (symbols.length > 0 && !symbols.includes(token.symbol ?? "")) {
    return `symbol() answers ${JSON.stringify(token.symbol)}, which is not ${code}'s`;
  }
  const proven = { ...proof, created_at: bench.actor.at };
  await writing(bench.pool, (db) => insertTokenProof(db, proven));
  return null;
}
