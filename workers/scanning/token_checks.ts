/** Checks third parties' tokens before they are registered. @module */
import { selectAccount } from "../../db/accounts/accounts.ts";
import { selectToken } from "../../db/currencies/tokens.ts";
import { reading } from "../../db/transaction.ts";
import { type ChainId, findAsset } from "../../domain/assets.ts";
import { concludeCheck } from "../../domain/currencies/tokens.ts";
import { findOwnAddress } from "../../domain/sending/funds.ts";
import type { WorkerContext } from "../worker_context.ts";
import { refreshFees } from "../sending/fee_quotes.ts";

/** Reads a token's contract, and registers it or records why it is refused. */
export async function checkToken(
  context: WorkerContext,
  { token }: { token: string },
): Promise<void> {
  const row = await reading(context.pool, (db) => selectToken(db, token));
  if (row === null || row.status !== "pending" || row.contract === null) return;
  const place = { chain: row.chain as ChainId, testnet: row.network !== "main" };
  const chain = await context.chains.open(place);
  const told = await chain.token(row.contract);
  const address = await reading(context.pool, (db) => findOwnAddress(db, row.account));
  const holding = [{ address, contract: row.contract }];
  const { height } = await chain.head();
  const settled = Math.max(0, height - context.chains.depth(place) + 1);
  const isToken = told !== null && told.decimals !== null;
  const there = isToken ? (await chain.balances(holding, height)).amounts[0] : 0n;
  // A reorganisation may still take back what is above the settled height.
  const held = isToken ? least(there, (await chain.balances(holding, settled)).amounts[0]) : 0n;
  const ramp = await reading(context.pool, (db) => selectAccount(db, row.account));
  const own = findAsset(ramp!.asset)?.contract ?? null;
  // Some tokens have two contracts, and some coins have one: both move the same balance.
  const others = [null, own].map((contract) => ({ address, contract }));
  const { amounts } = await chain.balances(others, height);
  const found = { id: row.id, told, held, twin: there > 0n && amounts.includes(there), height };
  await context.step((tx) => concludeCheck(tx, context.actor, found), { lockLedger: true });
  await refreshFees(context, row);
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
