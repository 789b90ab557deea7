/**
 * Compares the words of a token's contract with the registry before its first use: a contract that
 * has other decimals or another symbol is another token, whoever named it. What has proven to be
 * the token is not asked again, for issuers rename what they have issued.
 * @module
 */
import { insertTokenProof, selectTokenProof } from "../../db/chains/cursors.ts";
import { reading, writing } from "../../db/transaction.ts";
import { type Asset, tokenByContract } from "../../domain/assets.ts";
import type { WorkerContext } from "../worker_context.ts";
import { type Chain, ChainError } from "../chains/chain.ts";

/** Tells what is wrong with an asset's contract; null if nothing is, or it has none. */
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
 * Refuses to send a token of the registry whose contract is not what the registry says.
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
