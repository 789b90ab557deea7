/** Questions to a TRC-20 token. Addresses are `41` and 40 hexadecimal digits. @module */
import { SilentTokenError } from "../chain.ts";
import { balanceCall, DETAIL_CALLS, readNumber } from "../evm/erc20.ts";
import type { Peer } from "../node_pool.ts";
import { toContractForm } from "./address_forms.ts";
import { assertInTime, tryCall } from "./calls.ts";

/** First bytes of `isBlackListed(address)`, as USDT has it. */
const IS_BLACKLISTED = "e47d6060";

/**
 * Reads the balance of a token.
 *
 * @throws {SilentTokenError} where its code tells none, and `held` where a node may not have read so far
 * @throws {ChainError} `held` where it takes too long
 */
export async function tokenBalance(peer: Peer, contract: string, owner: string): Promise<bigint> {
  const data = balanceCall(toContractForm(owner)).slice(2);
  const tried = await tryCall(peer, { from: owner, contract, data });
  assertInTime(tried);
  const told = tried.fault === null ? readNumber(tried.returned) : null;
  if (told !== null) return told;
  throw new SilentTokenError(contract, tried.fault === null || tried.isOfCode ? "refused" : "held");
}

/**
 * Tells whether a token has blocked an address. Most tokens do not know the question.
 *
 * @throws {ChainError} `held` where its answer takes too long
 */
export async function isBlocked(peer: Peer, contract: string, address: string): Promise<boolean> {
  const data = IS_BLACKLISTED + address.slice(2).padStart(64, "0");
  const tried = await tryCall(peer, { from: address, contract, data });
  assertInTime(tried);
  return tried.fault === null && readNumber(tried.returned) === 1n;
}

/** Tells whether a contract answers as a token does. */
export async function isToken(peer: Peer, contract: string, from: string): Promise<boolean> {
  for (const data of [DETAIL_CALLS.decimals, DETAIL_CALLS.totalSupply]) {
    const { fault, returned } = await tryCall(peer, { from, contract, data: data.slice(2) });
    if (fault !== null || readNumber(returned) === null) return false;
  }
  return true;
}
