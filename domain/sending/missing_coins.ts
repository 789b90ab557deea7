/**
 * Coins that the database stores as unspent and the chain no longer has: they are removed from the
 * balances and from the coins of payments, and an event reports the correction. A coin that an unknown
 * transaction spent puts its ramp into quarantine, as the scanner would have.
 * @module
 */
import type { NetworkKey } from "../../db/chains/cursors.ts";
import { markSpentBy, recountOnchainBalances, reviveCoins } from "../../db/sending/utxos.ts";
import type { Tx } from "../../db/database.ts";
import type { Actor } from "../actor.ts";
import { emitAll } from "../events.ts";
import { checkConsumed } from "./quarantine.ts";

/** In place of a transaction id, where no block shows the spender of a coin. */
export const UNKNOWN_SPENDER = "unknown";

/** A coin that is gone, with its spender and that block. */
export interface SpentCoin {
  readonly input: string;
  readonly by: string;
  readonly height: number;
}

/** Marks coins as spent that are stored as unspent, or whose spender was unknown; gives those changed. */
export async function correctCoins(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  spent: readonly SpentCoin[],
): Promise<string[]> {
  if (spent.length === 0) return [];
  const corrected = await markSpentBy(tx, place, spent);
  if (corrected.length === 0) return [];
  await recountOnchainBalances(tx, place, [...new Set(corrected.map(({ address }) => address))]);
  const { chain, network } = place;
  const told = corrected.map(({ ramp, ...coin }) => ({
    ...{ id: ramp, owner: null, view: { chain, network, ramp, ...coin } },
  }));
  await emitAll(tx, actor, "coin.corrected", told);
  const named = corrected.filter(({ by }) => by !== UNKNOWN_SPENDER);
  await checkConsumed(tx, actor, place, named.map(({ input, by }) => ({ input, hash: by })));
  return corrected.map(({ input }) => input);
}

/** Marks coins of unknown spenders as unspent again, because the nodes still have them. */
export async function restoreCoins(
  tx: Tx,
  actor: Actor,
  place: NetworkKey,
  inputs: readonly string[],
): Promise<void> {
  if (inputs.length === 0) return;
  const restored = await reviveCoins(tx, place, inputs);
  await recountOnchainBalances(tx, place, [...new Set(restored.map(({ address }) => address))]);
  const { chain, network } = place;
  const told = restored.map(({ ramp, ...coin }) => ({
    ...{ id: ramp, owner: null, view: { chain, network, ramp, ...coin, by: null } },
  }));
  await emitAll(tx, actor, "coin.corrected", told);
}
