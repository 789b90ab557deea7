/** Checks third parties' tokens before they are registered. @module */
import { selectAccount } from "../../db/accounts/accounts.ts";
import { selectContracts, selectToken, type TokenRow } from "../../db/currencies/tokens.ts";
import { type LedgerTx, reading } from "../../db/transaction.ts";
import { type ChainId, findAsset } from "../../domain/assets.ts";
import type { TokenFindings } from "../../domain/currencies/token_findings.ts";
import { concludeCheck } from "../../domain/currencies/tokens.ts";
import { findOwnAddress } from "../../domain/sending/funds.ts";
import { type Chain, SilentTokenError } from "../chains/chain.ts";
import type { Holding } from "../chains/observations.ts";
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
  const found = { id: row.id, told, held: 0n, twin: false, silent: null, compared, height };
  if (told === null || told.decimals === null) return found;
  const holding = { address, contract: row.contract };
  const newest = await balanceOf(chain, holding, height);
  // A reorganisation may still take back transfers above the settled height.
  const before = await balanceOf(chain, holding, settled);
  if (newest === null || before === null) return { ...found, silent: row.contract };
  const at = { address, newest, height, supply: told.supply };
  const twin = newest > 0n ? await findTwin(context, chain, row, at, compared) : {};
  return { ...found, held: least(newest, before), ...twin };
}

/** Reads a balance as the quorum reports it; null where the contract's code refuses to tell it, to whichever node. */
async function balanceOf(chain: Chain, holding: Holding, height: number): Promise<bigint | null> {
  try {
    return await chain.balance(holding, height);
  } catch (error) {
    if (error instanceof SilentTokenError && error.fault === "refused") return null;
    throw error;
  }
}

/**
 * Tells whether a contract moves the value of another asset: some tokens have two contracts, and some
 * coins have one. Such a pair has one balance at each address, and two tokens also have one supply.
 * Both are read at one block, as the quorum of the chain's nodes reports them: a supply changes while
 * it is read twice. Tokens of other ramps are not compared: none of their value lies at this address,
 * and a contract of a stranger could refuse to answer. One of this ramp that refuses may be the same.
 */
async function findTwin(
  context: WorkerContext,
  chain: Chain,
  token: TokenRow,
  at: { address: string; newest: bigint; height: number; supply: bigint | null },
  contracts: string[],
): Promise<Partial<Pick<TokenFindings, "twin" | "silent">>> {
  const ramp = await reading(context.pool, (db) => selectAccount(db, token.account));
  const own = findAsset(ramp!.asset)?.contract ?? null;
  for (const contract of [...own === null ? [null] : [null, own], ...contracts]) {
    const there = await balanceOf(chain, { address: at.address, contract }, at.height);
    if (there === null) return { silent: contract };
    if (there !== at.newest) continue;
    // Round balances are often equal; a balance and a supply together seldom are by chance.
    const isAnothers = contract !== null && contract !== own;
    if (!isAnothers || (await chain.token(contract, at.height))?.supply === at.supply) {
      return { twin: true };
    }
  }
  return {};
}

function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
