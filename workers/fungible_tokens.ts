/** Looks at tokens that others made, before the ledger knows them. @module */
import { selectToken } from "../db/fungible_tokens.ts";
import { reading } from "../db/transaction.ts";
import type { ChainId } from "../domain/assets.ts";
import { concludeCheck } from "../domain/fungible_tokens.ts";
import type { Bench } from "./bench.ts";
import { refreshFees } from "./fees.ts";

/** Asks a token's contract what it is, and registers it or says why not. */
export async function checkToken(bench: Bench, { token }: { token: string }): Promise<void> {
  const row = await reading(bench.pool, (db) => selectToken(db, token));
  if (row === null || row.status !== "pending" || row.contract === null) return;
  const place = { chain: row.chain as ChainId, testnet: row.network !== "main" };
  const chain = await bench.chains.open(place);
  const told = await chain.token(row.contract);
  const { height } = await chain.head();
  const found = { id: row.id, told, height };
  await bench.step((tx) => concludeCheck(tx, bench.actor, found), { gate: true });
  await refreshFees(bench, row);
}
