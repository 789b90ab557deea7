/** Looks at tokens that others made, before the ledger knows them. @module */
import { selectAccount } from "../../db/accounts/accounts.ts";
import { selectToken } from "../../db/currencies/tokens.ts";
import { reading } from "../../db/transaction.ts";
import { type ChainId, findAsset } from "../../domain/assets.ts";
import { concludeCheck } from "../../domain/currencies/tokens.ts";
import { findOwnAddress } from "../../domain/sending/funds.ts";
import type { Bench } from "../worker_context.ts";
import { refreshFees } from "../sending/fee_quotes.ts";

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
  const isToken = told !== null && told.decimals !== null;
  const there = isToken ? (await chain.balances(holding, height)).amounts[0] : 0n;
  // What a reorganisation may take back is not there for good.
  const held = isToken ? least(there, (await chain.balances(holding, settled)).amounts[0]) : 0n;
  const ramp = await reading(bench.pool, (db) => selectAccount(db, row.account));
  const own = findAsset(ramp!.asset)?.contract ?? null;
  // Some tokens have two contracts, and some coins have one: what lies there is moved by either.
  const others = [null, own].map((contract) => ({ address, contract }));
  const { amounts } = await chain.balances(others, height);
  const found = { id: row.id, told, held, twin: there > 0n && amounts.includes(there), height };
  await bench.step((tx) => concludeCheck(tx, bench.actor, found), { lockLedger: true });
  await refreshFees(bench, row);
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
