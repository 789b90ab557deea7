/** Looks at tokens that others made, before the ledger knows them. @module */
import { selectToken } from "../db/fungible_tokens.ts";
import { reading } from "../db/transaction.ts";
import type { ChainId } from "../domain/assets.ts";
import { concludeCheck } from "../domain/fungible_tokens.ts";
import { findOwnAddress } from "../domain/withdrawal_checks.ts";
import type { Bench } from "./bench.ts";
import { refreshFees } from "./fees.ts";

/** Asks a token's contract what it is, and registers it or says why not. */
export async function checkToken(bench: Bench, { token }: { token: string }): Promise<void> {
  const row = await reading(bench.pool, (db) => selectToken(db, token));
  if (row === null || row.status !== "pending" || row.contract === null) return;
  const place = { chain: row.chain as ChainId, testnet: row.network !== "main" };
  const chain = await bench.chains.open(place);
  const told = await chain.token(row.contract);
  const address = await reading(bench.pool, (db) => findOwnAddress(db, row.account));
  const holding = [{ address, contract: row.contract }];
  const { height } = await chain.head();
  const settled = Math.max(0, height - bench.chains.depth(place) + 1);
  // What a reorganisation may take back is not there for good.
  const held = told === null || told.decimals === null ? 0n : least(
    (await chain.balances(holding, height)).amounts[0],
    (await chain.balances(holding, settled)).amounts[0],
  );
  const found = { id: row.id, told, held, height };
  await bench.step((tx) => concludeCheck(tx, bench.actor, found), { gate: true });
  await refreshFees(bench, row);
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
