/**
 * Sources of a payment of a token: the token accounts of its sender. Value that arrived at any of them is taken. An
 * account that a sweep empties is closed, and its rent goes to the payer of the fee.
 * @module
 */
import { fromUnits } from "../../../domain/money.ts";
import { ChainError } from "../chain.ts";
import type { Peer } from "../node_pool.ts";
import { type Mint, tokenAddress } from "./accounts.ts";
import type { Solana } from "./context.ts";
import type { PayOrder, Source } from "./payment.ts";
import { type OwnedAccount, tokenAccountsOf } from "./token_accounts.ts";

/**
 * Accounts that fit the 1232 bytes of one transaction: of a sweep, each with its transfer and its end, while the others
 * wait for the next; and of a payment, each with its transfer alone.
 */
const SOURCES_MAX = { sweep: 6, payment: 16 } as const;

/** Tells whether an order empties a deposit address: of a token, and somebody else pays the fee. */
export function isSweep({ from, contract, feePayer, payments }: PayOrder): boolean {
  return contract !== null && feePayer !== undefined && feePayer !== from && payments.length === 1;
}

/**
 * Chooses the token accounts that an order takes from, until its amount is covered.
 *
 * @throws {ChainError} `refused` where the issuer has frozen all that the address holds, and where a payment would need
 *   more accounts than one transaction takes from
 */
export async function sourcesOf(
  { web3 }: Solana,
  peer: Peer,
  order: PayOrder,
  { decimals }: Pick<Mint, "decimals">,
): Promise<Source[]> {
  const { from: owner, contract, payments: [{ amount }], closesNothing = false } = order;
  const mint = contract!;
  const mayClose = isSweep(order) && !closesNothing;
  const { accounts } = await tokenAccountsOf(web3, peer, { owner, mint });
  const filled = accounts.filter((one) => one.amount > 0n);
  const free = filled.filter(({ isFrozen }) => !isFrozen).toSorted(byRank(associated));
  if (filled.length > 0 && free.length === 0) {
    throw new ChainError("refused", `the issuer has frozen the token account of ${owner}`);
  }
  const most = isSweep(order) ? SOURCES_MAX.sweep : SOURCES_MAX.payment;
  const usable = free.slice(0, most);
  if (amount !== "all" && !isSweep(order)) assertFits(amount, { usable, free, decimals });
  const sources: Source[] = [];
  let left = amount === "all" ? null : amount;
  for (const one of usable) {
    if (left === 0n) break;
    const taken = left === null || left > one.amount ? one.amount : left;
    if (left !== null) left -= taken;
    const closes = mayClose && taken === one.amount && one.isClosable;
    sources.push({ account: one.address, amount: `${taken}`, closes });
  }
  return sources;
  function associated({ address, program }: OwnedAccount): boolean {
    return address === tokenAddress(web3, { wallet: owner, mint, program });
  }
}

/** Refuses a payment that would wait for ever: what is there suffices, and not what one transaction takes. */
function assertFits(
  amount: bigint,
  { usable, free, decimals }: {
    readonly usable: readonly OwnedAccount[];
    readonly free: readonly OwnedAccount[];
    readonly decimals: number;
  },
): void {
  const most = sumOf(usable);
  if (amount <= most || amount > sumOf(free)) return;
  const why = `the tokens lie in ${free.length} token accounts, and one transaction takes from ` +
    `${usable.length}: at most ${fromUnits(most, decimals)} can be paid at once`;
  throw new ChainError("refused", why);
}

function sumOf(accounts: readonly OwnedAccount[]): bigint {
  return accounts.reduce((sum, { amount }) => sum + amount, 0n);
}

/** The associated account first, then by amount, the largest first. */
function byRank(first: (account: OwnedAccount) => boolean) {
  return (one: OwnedAccount, other: OwnedAccount): number => {
    const rank = Number(first(other)) - Number(first(one));
    if (rank !== 0) return rank;
    if (one.amount !== other.amount) return one.amount > other.amount ? -1 : 1;
    return one.address < other.address ? -1 : 1;
  };
}
