/** Checks third parties' tokens before they are registered. @module */
import { selectAccount } from "../../db/accounts/accounts.ts";
import { selectContracts, selectToken, type TokenRow } from "../../db/currencies/tokens.ts";
import { type LedgerTx, reading } from "../../db/transaction.ts";
import { type ChainId, findAsset } from "../../domain/assets.ts";
import { concludeCheck, type TokenFindings } from "../../domain/currencies/tokens.ts";
import { findOwnAddress } from "../../domain/sending/funds.ts";
import type { Chain } from "../chains/chain.ts";
import type { WorkerContext } from "../worker_context.ts";
import { refreshFees } from "../sending/fee_quotes.ts";

/** Reads a token's contract, and registers it or records why it is refused. */
export async function checkToken(
  context: WorkerContext,
  { token }: { token: string },
): Promise<void> {
  const row = await reading(context.pool, (db) => selectToken(db, token));
  if (row === null || row.status !== "pending" || row.contract === null) return;
  for (let concluded = false; !concluded;) {
    const found = await examine(context, row);
    const conclude = (tx: LedgerTx) => concludeCheck(tx, context.actor, found);
    concluded = await context.step(conclude, { lockLedger: true });
  }
  await refreshFees(context, row);
}

async function examine(context: WorkerContext, row: TokenRow): Promise<TokenFindings> {
  const place = { chain: row.chain as ChainId, testnet: row.network !== "main" };
  const chain = await context.chains.open(place);
  const address = await reading(context.pool, (db) => findOwnAddress(db, row.account));
  const { height } = await chain.head();
  const told = await chain.token(row.contract!, height);
  const settled = Math.max(0, height - context.chains.depth(place) + 1);
  const compared = await reading(context.pool, (db) => selectContracts(db, row.account));
  const found = { id: row.id, told, held: 0n, twin: false, compared, height };
  if (told === null || told.decimals === null) return found;
  const holding = { address, contract: row.contract };
  const newest = await chain.balance(holding, height);
  // A reorganisation may still take back transfers above the settled height.
  const held = least(newest, await chain.balance(holding, settled));
  const at = { address, newest, height, supply: told.supply };
  const twin = newest > 0n && await isTwin(context, chain, row, at, compared);
  return { ...found, held, twin };
}

/**
 * Tells whether a contract moves the value of another asset: some tokens have two contracts, and some
 * coins have one. Such a pair has one balance at each address, and two tokens also have one supply.
 * Both are read at one block, as the quorum of the chain's nodes reports them: a supply changes while
 * it is read twice. Tokens of other ramps are not compared: none of their value lies at this address,
 * and a contract of a stranger could refuse to answer.
 */
async function isTwin(
  context: WorkerContext,
  chain: Chain,
  token: TokenRow,
  at: { address: string; newest: bigint; height: number; supply: bigint | null },
  contracts: string[],
): Promise<boolean> {
  async function isAlike(contract: string | null): Promise<boolean> {
    return await chain.balance({ address: at.address, contract }, at.height) === at.newest;
  }
  const ramp = await reading(context.pool, (db) => selectAccount(db, token.account));
  const own = findAsset(ramp!.asset)?.contract ?? null;
  for (const contract of own === null ? [null] : [null, own]) {
    if (await isAlike(contract)) return true;
  }
  for (const contract of contracts) {
    if (!await isAlike(contract)) continue;
    // Round balances are often equal; a balance and a supply together seldom are by chance.
    if ((await chain.token(contract, at.height))?.supply === at.supply) return true;
  }
  return false;
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
