/**
 * Faults of a payment that a node knows before it is signed: a recipient that cannot take it, addresses that the
 * token has blocked, a transfer that the token would not carry out. Each names the address at fault.
 * @module
 */
import { ChainError } from "../chain.ts";
import { readNumber } from "../evm/erc20.ts";
import type { Peer } from "../node_pool.ts";
import { showTransfer, type TriedCall } from "./calls.ts";
import { ANSWERS_FALSE } from "./networks.ts";
import { askRecord, balanceIn } from "./node_answers.ts";
import { isBlocked, isToken } from "./token_calls.ts";

/** An address in both its forms. */
export interface Party {
  /** Base58check. */
  readonly address: string;
  /** `41` and 40 hexadecimal digits. */
  readonly hex: string;
}

/** The addresses of a payment. */
export interface Parties {
  readonly from: Party;
  readonly to: Party;
  /** The token; null for TRX. */
  readonly contract: Party | null;
}

/** An account as a node tells it. */
export interface TronAccount {
  /** Whether it was ever activated. */
  readonly exists: boolean;
  /** Whether a contract lives there. */
  readonly isContract: boolean;
  /** Sun. */
  readonly balance: bigint;
}

/** Reads an account; one that was never activated holds nothing. */
export async function accountOf(peer: Peer, address: string): Promise<TronAccount> {
  const told = await askRecord(peer, "wallet/getaccount", { address });
  return {
    exists: Object.keys(told).length > 0,
    isContract: told.type === "Contract",
    balance: balanceIn(told.balance),
  };
}

/**
 * Refuses a recipient that cannot take the payment, and gives its account.
 *
 * @throws {ChainError} `refused`
 */
export async function assertPayable(peer: Peer, parties: Parties): Promise<TronAccount> {
  const { from, to, contract } = parties;
  if (from.hex === to.hex) throw refused(`${to.address} would pay itself`);
  const recipient = await accountOf(peer, to.hex);
  if (contract === null) {
    if (!recipient.isContract) return recipient;
    throw refused(`${to.address} is a contract: Tron pays no TRX to contracts`);
  }
  if (to.hex === contract.hex || recipient.isContract && await isToken(peer, to.hex, from.hex)) {
    throw refused(`${to.address} is the contract of a token, which would keep what it is sent`);
  }
  for (const { address, hex } of [from, to]) {
    if (!await isBlocked(peer, contract.hex, hex)) continue;
    throw refused(`${address} is blocked by the token ${contract.address}`);
  }
  return recipient;
}

/**
 * Refuses a transfer that the token would not carry out. USDT answers false to a transfer that it carries out, so
 * an answer of false counts only where the node shows no log of the transfer.
 *
 * @throws {ChainError} `refused`
 */
export function assertTransfers({ from, to, contract }: Parties, tried: TriedCall): void {
  if (tried.fault !== null) throw refused(`the token refuses the transfer: ${tried.fault}`);
  if (tried.returned === "0x" || readNumber(tried.returned) === 1n) return;
  const of = { contract: contract!.hex, from: from.hex, to: to.hex };
  if (tried.logs !== null && showTransfer(tried.logs, of)) return;
  if (tried.logs === null && ANSWERS_FALSE.has(contract!.address)) return;
  throw refused("the token refuses the transfer: it answers false, and shows no transfer");
}

function refused(why: string): ChainError {
  return new ChainError("refused", why);
}
