/**
 * Verifies a token's contract against the registry before its first use: a contract with other
 * decimals or another symbol is another token. A verified contract is not asked again, because
 * issuers rename their tokens.
 * @module
 */
import { insertTokenProof, selectTokenProof } from "../../db/chains/cursors.ts";
import { reading, writing } from "../../db/transaction.ts";
import { type Asset, tokenByContract } from "../../domain/assets.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";

/** Verifies an asset's contract; gives the fault, or null if there is none or no contract. */
export async function verifyToken(
  context: WorkerContext,
  chain: Chain,
  { code, contract, decimals, symbols }: Asset,
): Promise<string | null> {
  if (contract === null) return null;
  const proof = { chain: chain.id, network: chain.network, contract, asset: code };
  if (await reading(context.pool, (db) => selectTokenProof(db, proof))) return null;
  const token = await chain.token(contract);
  if (token === null) return `there is no contract at ${contract}`;
  if (token.decimals !== decimals) {
    return `decimals() answers ${token.decimals}; ${decimals} is known of ${code}`;
  }
  if (symbols.length > 0 && !symbols.includes(token.symbol ?? "")) {
    return `symbol() answers ${JSON.stringify(token.symbol)}, which is not ${code}'s`;
  }
  const proven = { ...proof, created_at: context.actor.at };
  await writing(context.pool, (db) => insertTokenProof(db, proven));
  return null;
}

/**
 * Refuses to send a token whose contract differs from the registry.
 *
 * @param contract '' is the chain's own coin
 * @throws {ChainError} `refused`
 */
export async function assertToken(
  context: WorkerContext,
  chain: Chain,
  contract: string,
): Promise<void> {
  if (contract === "" || chain.network !== "main") return;
  const asset = tokenByContract(chain.id, contract);
  const fault = asset === null ? null : await verifyToken(context, chain, asset);
  if (fault !== null) throw new ChainError("refused", fault);
}
